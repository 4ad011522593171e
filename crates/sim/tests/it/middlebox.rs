//! Middleboxes: one that changes nothing changes nothing, and one sees every packet once each time it enters its node.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its network should fail there")]

use std::collections::BTreeSet;

use shallop_core::{
    BitsPerSec, BufferSize, Bytes, Class, DropCause, Ecn, Envelope, Node, Packet, Probe, QueueId,
    Seed, Share, Span, Time,
};
use shallop_proto::expresspass::rule::{CodeConfig, CodeRule, Rule};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender};
use shallop_proto::{Endpoint, Middlebox, PassThrough};
use shallop_sim::{Flow, Network, World};
use shallop_switch::{Limit, Meter, PortBuffer, PortConfig, QueueConfig};
use shallop_topology::topo::{LinkSpec, parking_lot};
use shallop_topology::{NicMode, NodeKind, Paths};

const LINK: BitsPerSec = BitsPerSec::gbps(1);

/// Everything a probe is told, in order.
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

/// Three switches in a row with a host each, metered credits, a small buffer.
fn network() -> (Network, Vec<Node>) {
    let trunk =
        LinkSpec { rate: LINK, access: LINK, delay: Span::from_us(50), mtu: Bytes::new(1500) };
    let lot = parking_lot(&trunk, 2, 1, Span::from_us(10));
    let share = Share::of(Bytes::new(84), Bytes::new(1538)).unwrap();
    let meter = Meter::new(LINK.share(share), Bytes::new(168));
    let metered = QueueConfig { meter: Some(meter), ..QueueConfig::default() };
    let queues = vec![metered, QueueConfig { priority: 1, ..QueueConfig::default() }];
    let port = |number| PortConfig {
        rate: LINK,
        delay: lot.graph.link_of(number).delay,
        queues: queues.clone(),
        queue_of: [1, 1, 1, 1, 0, 1, 1, 1],
        impairment: None,
        changes: vec![],
    };
    let ports: Vec<_> = (0..lot.graph.ports() as u32).map(port).collect();
    let buffer: BufferSize = "20KB".parse().unwrap();
    let own = vec![Some(Limit { packets: 8, ..Limit::NONE }), None];
    let buffers =
        ports.iter().map(|_| PortBuffer::new(Limit::of(buffer, LINK), own.clone())).collect();
    let routes = Paths::of(&lot.graph).routes(true, 0);
    let hosts = lot.hosts.into_iter().flatten().collect();
    (Network { graph: lot.graph, ports, buffers, pools: vec![], routes, nic: NicMode::Fair }, hosts)
}

/// A world with a middlebox at every node of some kind, after three flows over one and two links of the chain.
fn run<M: Middlebox<Head = Head>>(
    at: Option<NodeKind>,
    middlebox: impl Fn() -> M,
) -> World<'static, Peer<Rule>, Trace, M> {
    let (network, hosts) = network();
    let nodes = network.graph.nodes.clone();
    let flow = |(number, (from, to)): (u64, (usize, usize))| {
        let rule = Rule::Code(CodeRule::new(CodeConfig::default()));
        let chance = Seed::new(3).stream("credits", number);
        let config = Config::new(LINK);
        Flow {
            facts: shallop_core::Facts::between(hosts[from], hosts[to]),
            start: Time::after_start(Span::from_us(20 * number)),
            from: hosts[from],
            to: hosts[to],
            sender: Peer::sender(Sender::new(&config, Some(300_000))),
            receiver: Peer::receiver(Receiver::new(&config, rule, chance)),
            connections: None,
        }
    };
    let flows: Vec<_> = (0..).zip([(0, 2), (1, 2), (2, 0)]).map(flow).collect();
    let mut world = World::new(network, Box::new(flows.into_iter()), Trace::default());
    for (node, kind) in (0..).zip(nodes) {
        if Some(kind) == at {
            world.install(Node(node), middlebox());
        }
    }
    world.run_until(Time::after_start(Span::from_secs(2)));
    assert!(world.is_idle() && world.ends().all(Endpoint::is_complete));
    world
}

/// Counts what passes, and may write the ECN bits.
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
fn a_middlebox_that_changes_nothing_leaves_every_packet_as_it_was() {
    let bare = run::<PassThrough<Head>>(None, PassThrough::default);
    assert!(bare.probe.count("deliver") > 1_000 && bare.probe.count("drop") > 0);
    for at in [NodeKind::Switch, NodeKind::Host] {
        let boxed = run(Some(at), PassThrough::default);
        assert_eq!(boxed.middleboxes().count(), 3);
        assert!(bare.probe.0 == boxed.probe.0, "the traces differ");
        let reports = |world: &World<Peer<Rule>, Trace>| -> Vec<_> {
            world.ends().map(Endpoint::counters).collect()
        };
        assert_eq!(reports(&bare), reports(&boxed));
    }
}

#[test]
fn a_middlebox_sees_each_packet_once_each_time_it_enters_its_node() {
    let switches = run(Some(NodeKind::Switch), Counting::default);
    let seen: usize = switches.middleboxes().map(|each| each.passed.len()).sum();
    // Whatever enters a switch has been sent by a port, and no wire loses anything: all but what enters a host.
    let trace = &switches.probe;
    assert_eq!(seen, trace.count("send") - trace.count("deliver"));
    for middlebox in switches.middleboxes() {
        assert!(middlebox.passed.is_sorted_by_key(|(now, _)| *now));
        assert!(middlebox.passed.iter().any(|(_, envelope)| envelope.class == Class::Data));
    }
    // Whatever has left one, a port of its own had sent.
    let left = || switches.middleboxes().flat_map(|each| &each.left);
    for (_, port, _) in left() {
        let sent = trace.0.iter().filter(|event| (event.1, event.2) == ("send", *port)).count();
        assert_eq!(left().filter(|(_, by, _)| by == port).count(), sent, "port {port}");
    }
    let ports: BTreeSet<u32> = left().map(|(_, port, _)| *port).collect();
    assert_eq!(ports.len(), 7, "two switches in the chain's ends have two ports, the other three");
    let hosts = run(Some(NodeKind::Host), Counting::default);
    let seen: usize = hosts.middleboxes().map(|each| each.passed.len()).sum();
    assert_eq!(seen, hosts.probe.count("deliver"));
    assert!(hosts.probe.0 == trace.0, "counting changes nothing");
}

#[test]
fn what_a_middlebox_writes_on_a_packet_stays_on_it() {
    let write = || Counting { write: Some(Ecn::Ce), ..Counting::default() };
    let world = run(Some(NodeKind::Switch), write);
    let delivered = world.probe.0.iter().filter(|event| event.1 == "deliver");
    assert!(delivered.clone().all(|event| event.3.ecn == Ecn::Ce));
    // What leaves a host has not passed a middlebox yet.
    let fresh = world.middleboxes().flat_map(|each| &each.passed);
    let fresh = fresh.filter(|(_, envelope)| envelope.ecn != Ecn::Ce).count();
    let crossings = delivered.count();
    assert!(fresh >= crossings, "{fresh} of {crossings} entered their first switch unmarked");
}
