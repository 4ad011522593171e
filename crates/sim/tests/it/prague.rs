//! Prague beside CUBIC through `DualPI2` (RFC 9332): one flow of each, how they share, and how long packets wait.

use crate::support::{dumbbell, flow_between};
use shallop_control::any::{AnyWindow, Config as Window};
use shallop_control::{HostStack, prague};
use shallop_core::{BitsPerSec, Bytes, DropCause, Envelope, Node, Probe, QueueId, Seed, Span, Time};
use shallop_proto::tcp::{Config, EcnConfig, Receiver, Sender, Stack, Tcp};
use shallop_sim::{Flow, Network, Simulator};
use shallop_switch::{Aqm, AqmPort, Discipline, Limit, PortBuffer, PortConfig, QueueConfig};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use shallop_topology::{Dumbbell, NicMode, Paths, SenderDelay};
use std::iter;

const MTU: Bytes = Bytes::new(1538);

/// Data that the bottleneck delivers of each flow, in packets, and what it marks of the first.
#[derive(Default)]
struct Watch {
    port: u32,
    from: Time,
    sent: [u64; 2],
    marks: u64,
    drops: [u64; 2],
}

impl Probe for Watch {
    fn on_send(&mut self, now: Time, port: u32, envelope: &Envelope) {
        if port == self.port && now >= self.from {
            self.sent[envelope.end.flow() as usize] += 1;
        }
    }
    fn on_drop(&mut self, now: Time, at: QueueId, envelope: &Envelope, _: DropCause) {
        if at.port == self.port && now >= self.from {
            self.drops[envelope.end.flow() as usize] += 1;
        }
    }
    fn on_mark(&mut self, now: Time, at: QueueId, envelope: &Envelope) {
        self.marks += u64::from(at.port == self.port && now >= self.from && envelope.end.flow() == 0);
    }
}

/// A network of two senders with this round trip, and this discipline at the bottleneck.
fn network(rate: BitsPerSec, rtt: Span, aqm: Aqm) -> (Network, [Vec<Node>; 2]) {
    let net =
        dumbbell([rate, BitsPerSec::at_least_one(rate.get() * 10)], rtt / 2, (2, 2), SenderDelay::One(Span::ZERO));
    let port = |number: u32| {
        let port = AqmPort { mtu: MTU, stream: Seed::new(1).stream("aqm", 0) };
        let tested = number == Dumbbell::BOTTLENECK;
        let discipline = if tested { Discipline::Aqm(aqm, port) } else { Discipline::default() };
        let link = net.graph.link_of(number);
        PortConfig::new(link.rate, link.delay, vec![QueueConfig { discipline, ..QueueConfig::default() }])
    };
    let ports: Vec<_> = (0..net.graph.ports() as u32).map(port).collect();
    // A tenth of a second.
    let buffer = Limit { bytes: Bytes::new(rate.get() / 80), ..Limit::NONE };
    let limit = |number| if number == Dumbbell::BOTTLENECK { buffer } else { Limit::NONE };
    let buffers = (0..ports.len() as u32).map(|number| PortBuffer::new(limit(number), vec![None])).collect();
    let routes = Paths::new(&net.graph).routes(true, 0);
    let sites = [net.sites[0].clone(), net.sites[1].clone()];
    (Network { graph: net.graph, ports, buffers, pools: vec![], routes, nic: NicMode::Fair }, sites)
}

/// One flow of the first controller and one of CUBIC, both without end; counted from a quarter of the time on.
fn beside_cubic(first: &Window, cubic: EcnConfig, aqm: Aqm, (rate, rtt, seconds): (u64, u64, u64)) -> Watch {
    let rate = BitsPerSec::at_least_one(rate * 1_000_000);
    let (network, [senders, receivers]) = network(rate, Span::from_ms(rtt), aqm);
    let l4s = EcnConfig { l4s: true, ..EcnConfig::EXACT };
    let classic = Window::for_stack("cubic", HostStack::LinuxIdeal).expect("there is CUBIC");
    let flows: Vec<Flow<Tcp<AnyWindow>>> = iter::zip([(first, l4s), (&classic, cubic)], 0_u64..)
        .map(|((control, ecn), number)| {
            let config = Config { ecn, ..Stack::LINUX_IDEAL.tcp };
            let hosts = [senders[number as usize], receivers[number as usize]];
            let sender = Sender::new(&config, control.build(&config.start(rate, number)), None);
            let ends = [Tcp::sender(sender), Tcp::receiver(Receiver::new(&config, None))];
            flow_between(hosts, Time::after_start(Span::from_ms(37 * number)), ends)
        })
        .collect();
    let from = Time::after_start(Span::from_secs(seconds) / 4);
    let watch = Watch { port: Dumbbell::BOTTLENECK, from, ..Watch::default() };
    let mut sim: Simulator<'_, Tcp<AnyWindow>, Watch> = Simulator::new(network, Box::new(flows.into_iter()), watch);
    sim.run_until(Time::after_start(Span::from_secs(seconds)));
    sim.probe
}

const PRAGUE: Window = Window::Prague(prague::Config::LINUX_IDEAL);

fn share(watch: &Watch) -> f64 {
    watch.sent[0] as f64 / watch.sent[1] as f64
}

fn dualpi2() -> Aqm {
    Aqm::DualPi2(DualPi2Config::defaults(()))
}

#[test]
fn prague_and_cubic_share_evenly_at_dualpi2_and_dctcp_in_integers_does_not() {
    let setting = (100, 20, 30);
    let prague = beside_cubic(&PRAGUE, EcnConfig::OFF, dualpi2(), setting);
    assert!((0.5..2.0).contains(&share(&prague)), "{} to 1", share(&prague));
    assert!(prague.marks > 1_000 && prague.drops[0] == 0, "{} marks, {:?} drops", prague.marks, prague.drops);
    // Over 22.5 s: 7,100 packets a second of the link's 8,127.
    assert!(prague.sent.iter().sum::<u64>() > 160_000, "{:?} packets", prague.sent);
    let dctcp = Window::for_stack("dctcp", HostStack::LinuxIdeal).expect("there is DCTCP");
    let dctcp = beside_cubic(&dctcp, EcnConfig::OFF, dualpi2(), setting);
    assert!(share(&dctcp) > 2.5, "{} to 1", share(&dctcp));
}

#[test]
fn the_classic_response_keeps_prague_from_starving_cubic_at_a_single_queue_that_marks() {
    let shares = [false, true].map(|classic_fallback| {
        let prague = Window::Prague(prague::Config { classic_fallback, ..prague::Config::LINUX_IDEAL });
        let codel = Aqm::CoDel(CoDelConfig::defaults(()));
        share(&beside_cubic(&prague, EcnConfig::CLASSIC, codel, (100, 20, 40)))
    });
    assert!(shares[1] < shares[0] / 2.0, "{shares:?} to 1");
}

#[test]
#[ignore = "takes minutes; prints the table of docs/prague.md"]
#[expect(clippy::print_stdout, clippy::disallowed_macros, reason = "the table is the result")]
fn table_of_shares_at_dualpi2() {
    for rate in [100, 1_000] {
        for rtt in [10, 20, 40, 80] {
            let watch = beside_cubic(&PRAGUE, EcnConfig::OFF, dualpi2(), (rate, rtt, 60));
            let mbps = watch.sent.map(|sent| sent as f64 * 1538.0 * 8.0 / 45.0 / 1e6);
            let marked = 100.0 * watch.marks as f64 / watch.sent[0] as f64;
            println!(
                "| {rate} Mb/s, {rtt} ms | {:.1} | {:.1} | {:.2} | {marked:.2} |",
                mbps[0],
                mbps[1],
                share(&watch)
            );
        }
    }
}
