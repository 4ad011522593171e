//! Middleboxes: a packet passes one once each time it enters the node, and a middlebox without effect changes no
//! result.

use std::collections::BTreeSet;

use crate::support::{credit_network, flow};
use shallop_core::{
    BitsPerSec, Bytes, Class, DropCause, Ecn, Envelope, Node, Packet, Probe, QueueId, Seed, Span, Time,
};
use shallop_proto::expresspass::rule::{CodeConfig, Rule};
use shallop_proto::expresspass::{Config, Head, Peer};
use shallop_proto::{Endpoint, Middlebox, PassThrough};
use shallop_sim::{Network, Simulator};
use shallop_topology::{Fabric, Largest, NodeKind, ParkingLot, SwitchNames};

const LINK: BitsPerSec = BitsPerSec::gbps(1);

/// All packet events that the simulator reports to its probe, in order.
#[derive(Default)]
struct Trace(Vec<(Time, &'static str, u32, Envelope)>);

impl Probe for Trace {
    fn on_drop(&mut self, now: Time, at: QueueId, packet: &Envelope, _: DropCause) {
        self.0.push((now, "drop", at.port, *packet));
    }
    fn on_send(&mut self, now: Time, port: u32, packet: &Envelope) {
        self.0.push((now, "send", port, *packet));
    }
    fn on_deliver(&mut self, now: Time, packet: &Envelope) {
        self.0.push((now, "deliver", packet.end.0, *packet));
    }
}

impl Trace {
    fn count(&self, what: &str) -> usize {
        self.0.iter().filter(|event| event.1 == what).count()
    }
}

/// A chain of three switches with one host each and small buffers.
fn network() -> (Network, Vec<Node>) {
    let lot = ParkingLot {
        rate: LINK,
        access_rate: LINK,
        delay: Span::from_us(50),
        access_delay: Span::from_us(10),
        hops: 2,
        hosts: 1,
        largest: Largest { mtu: Bytes::new(1500) },
    }
    .build(Seed::new(0), &SwitchNames::default());
    let hosts = lot.sites.into_iter().flatten().collect();
    (credit_network(lot.graph, "20KB"), hosts)
}

/// Runs three flows over one and two links of the chain, with a middlebox at every node of one kind.
fn run<M: Middlebox<Head = Head>>(
    at: Option<NodeKind>, middlebox: impl Fn() -> M,
) -> Simulator<'static, Peer<Rule>, Trace, M> {
    let (network, hosts) = network();
    let nodes = network.graph.nodes.clone();
    let config = Config::new(LINK);
    let pairs = (0..).zip([(0, 2), (1, 2), (2, 0)]);
    let flows: Vec<_> = pairs
        .map(|(number, (from, to))| {
            let rule = Rule::code(CodeConfig::default());
            let start = Time::after_start(Span::from_us(20 * number));
            flow([hosts[from], hosts[to]], start, Some(300_000), &config, rule, (3, number))
        })
        .collect();
    let mut sim = Simulator::new(network, Box::new(flows.into_iter()), Trace::default());
    for (node, kind) in (0..).zip(nodes) {
        if Some(kind) == at {
            sim.install(Node(node), middlebox());
        }
    }
    sim.run_until(Time::after_start(Span::from_secs(2)));
    assert!(sim.is_idle() && sim.ends().all(Endpoint::is_complete));
    sim
}

/// Records the packets that enter and leave its node, and may overwrite their ECN bits.
#[derive(Default)]
struct Counting {
    passed: Vec<(Time, Envelope)>,
    left: Vec<(Time, u32, Envelope)>,
    write: Option<Ecn>,
}

impl Middlebox for Counting {
    type Head = Head;

    const HAS_EGRESS: bool = true;

    fn on_ingress(&mut self, now: Time, _port: u32, packet: &mut Packet<Head>) {
        self.passed.push((now, packet.envelope));
        if let Some(ecn) = self.write {
            packet.envelope.ecn = ecn;
        }
    }

    fn on_egress(&mut self, now: Time, port: u32, packet: &mut Packet<Head>) {
        self.left.push((now, port, packet.envelope));
    }
}

#[test]
fn a_pass_through_middlebox_changes_no_event_and_no_counter() {
    let bare = run::<PassThrough<Head>>(None, PassThrough::default);
    assert!(bare.probe.count("deliver") > 1_000 && bare.probe.count("drop") > 0);
    for at in [NodeKind::Switch, NodeKind::Host] {
        let boxed = run(Some(at), PassThrough::default);
        assert_eq!(boxed.middleboxes().count(), 3);
        assert!(bare.probe.0 == boxed.probe.0, "the traces differ");
        let reports = |sim: &Simulator<Peer<Rule>, Trace>| -> Vec<_> { sim.ends().map(Endpoint::counters).collect() };
        assert_eq!(reports(&bare), reports(&boxed));
    }
}

#[test]
fn a_middlebox_processes_each_packet_once_each_time_it_enters_its_node() {
    let switches = run(Some(NodeKind::Switch), Counting::default);
    let seen: usize = switches.middleboxes().map(|each| each.passed.len()).sum();
    // No wire loses packets, so every packet that a port sent enters a switch or is delivered.
    let trace = &switches.probe;
    assert_eq!(seen, trace.count("send") - trace.count("deliver"));
    for middlebox in switches.middleboxes() {
        assert!(middlebox.passed.is_sorted_by_key(|(now, _)| *now));
        assert!(middlebox.passed.iter().any(|(_, envelope)| envelope.class == Class::Data));
    }
    // Each packet that leaves a switch was sent by a port of that switch.
    let left = || switches.middleboxes().flat_map(|each| &each.left);
    for (_, port, _) in left() {
        let sent = trace.0.iter().filter(|event| (event.1, event.2) == ("send", *port)).count();
        assert_eq!(left().filter(|(_, by, _)| by == port).count(), sent, "port {port}");
    }
    let ports: BTreeSet<u32> = left().map(|(_, port, _)| *port).collect();
    assert_eq!(ports.len(), 7, "switches at the ends of the chain have two ports, the middle one three");
    let hosts = run(Some(NodeKind::Host), Counting::default);
    let seen: usize = hosts.middleboxes().map(|each| each.passed.len()).sum();
    assert_eq!(seen, hosts.probe.count("deliver"));
    assert!(hosts.probe.0 == trace.0, "counting changes nothing");
}

#[test]
fn ecn_bits_that_a_middlebox_writes_stay_on_the_packet() {
    let write = || Counting { write: Some(Ecn::Ce), ..Counting::default() };
    let sim = run(Some(NodeKind::Switch), write);
    let delivered = sim.probe.0.iter().filter(|event| event.1 == "deliver");
    assert!(delivered.clone().all(|event| event.3.ecn == Ecn::Ce));
    // A packet from a host is unmarked when it enters its first switch.
    let fresh = sim.middleboxes().flat_map(|each| &each.passed);
    let fresh = fresh.filter(|(_, envelope)| envelope.ecn != Ecn::Ce).count();
    let crossings = delivered.count();
    assert!(fresh >= crossings, "{fresh} of {crossings} entered their first switch unmarked");
}
