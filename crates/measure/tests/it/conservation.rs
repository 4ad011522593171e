//! Nothing comes from nowhere and nothing disappears: in networks of any shape, with any trouble on their wires, what
//! ends sent was delivered, dropped, lost on a wire or is still there, and every flow that has an end comes to it.

use crate::support::{group, plan};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, DropCause, End, Envelope, Node, Probe, QueueId, Span, Time};
use shallop_measure::ends::{self, EndpointFactory};
use shallop_plan::plan::{Ecmp, GraphLink, GraphNode, Group, LinkWay, Plan, QueueMarking, Shared, Topology, Transport};
use shallop_plan::{ResolvedRun, SetupError};
use shallop_proto::Endpoint;
use shallop_sim::{Network, Simulator};
use shallop_switch::{Aqm, MarkAt, Outage, Signals, Spacing};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use shallop_switch::{discipline::fq_codel::FqCoDelConfig, discipline::pie::PieConfig};
use shallop_topology::{Dumbbell, Largest, NodeKind, ParkingLot, Paths, SenderDelay};
use std::collections::BTreeMap;

type Count = [u64; Class::COUNT];

/// What a probe is told, by class.
#[derive(Default)]
pub(crate) struct Tally {
    sent: u64,
    dropped: Count,
    lost: Count,
    delivered: Count,
    complete: Vec<End>,
    /// Whether each port is a host's.
    of_host: Vec<bool>,
    /// Packets of each flow that hosts sent, and that were delivered, lost, or dropped by switches.
    flows: BTreeMap<u32, [u64; 2]>,
}

impl Tally {
    fn count(&mut self, end: End, gone: usize) {
        self.flows.entry(end.flow()).or_default()[gone] += 1;
    }
}

impl Probe for Tally {
    fn on_send(&mut self, _: Time, port: u32, packet: &Envelope) {
        self.sent += 1;
        if self.of_host[port as usize] {
            self.count(packet.end, 0);
        }
    }
    fn on_drop(&mut self, _: Time, at: QueueId, packet: &Envelope, cause: DropCause) {
        let lost = cause == DropCause::WireLoss;
        if lost || !self.of_host[at.port as usize] {
            self.count(packet.end, 1);
        }
        let count = if lost { &mut self.lost } else { &mut self.dropped };
        count[packet.class.index()] += 1;
    }
    fn on_deliver(&mut self, _: Time, packet: &Envelope) {
        self.delivered[packet.class.index()] += 1;
        self.count(packet.end, 1);
    }
    fn on_complete(&mut self, _: Time, end: End) {
        self.complete.push(end);
    }
}

fn plus(a: Count, b: Count) -> Count {
    std::array::from_fn(|class| a[class] + b[class])
}

fn total(count: Count) -> u64 {
    count.iter().sum()
}

pub(crate) fn sim<'a, E: EndpointFactory>(setup: &'a ResolvedRun<'_>, ends: &'a E) -> Simulator<'a, E::End, Tally> {
    let of_host = setup.layout.ports.iter().zip(0..).map(|(_, port)| !setup.network.is_switch_port(port)).collect();
    sim_with(setup, ends, Tally { of_host, ..Tally::default() })
}

pub(crate) fn sim_with<'a, E: EndpointFactory, P: Probe>(
    setup: &'a ResolvedRun<'_>, ends: &'a E, probe: P,
) -> Simulator<'a, E::End, P> {
    let salt = setup.root().stream("ecmp", 0).draw();
    let graph = setup.network.graph.clone();
    let network = Network {
        routes: Paths::new(&graph).routes(setup.plan.ecmp == Ecmp::Symmetric, salt),
        graph,
        ports: setup.layout.ports.clone(),
        buffers: setup.layout.memory.buffers.clone(),
        pools: setup.layout.memory.pools.clone(),
        nic: setup.plan.nic,
    };
    let flows: Vec<_> = shallop_plan::flows::FlowGenerator::new(setup).map(|flow| ends.flow(&flow)).collect();
    Simulator::new(network, Box::new(flows.into_iter()), probe)
}

/// The packets that carry payload.
fn of_data(count: Count) -> u64 {
    Class::ALL.iter().filter(|class| class.is_payload()).map(|class| count[class.index()]).sum()
}

/// What the ports of hosts, or those of switches, sent, dropped and hold.
fn sums<E: Endpoint>(setup: &ResolvedRun<'_>, sim: &Simulator<'_, E, Tally>, host: bool) -> (Count, Count, u64) {
    let (mut sent, mut dropped, mut queued) = (Count::default(), Count::default(), 0);
    for (number, port) in (0..).zip(sim.ports()) {
        if setup.network.is_switch_port(number) != host {
            sent = plus(sent, port.counters().sent);
            dropped = plus(dropped, port.counters().dropped);
            queued += u64::from(port.queued());
        }
    }
    (sent, dropped, queued)
}

/// The conservation of packets and of payload at this instant: `Err` says what is not conserved.
pub(crate) fn audit<E: Endpoint>(setup: &ResolvedRun<'_>, sim: &Simulator<'_, E, Tally>) -> Result<(), String> {
    let at = sim.now();
    let wrong = |what: &str, left: u64, right: u64| Err(format!("{at}: {what}: {left}, {right}"));
    let (sent, host_dropped, host_queued) = sums(setup, sim, true);
    let (passed, switch_dropped, _) = sums(setup, sim, false);
    let Tally { dropped, lost, delivered, .. } = sim.probe;
    let gone = plus(plus(delivered, switch_dropped), lost);
    let mut flying = 0;
    let copies = sim.ports().map(|port| port.counters().duplicated);
    let began = copies.fold(sent, plus);
    for class in Class::ALL.map(Class::index) {
        let Some(rest) = began[class].checked_sub(gone[class]) else {
            return wrong(&format!("more of class {class} ended than was sent"), gone[class], began[class]);
        };
        flying += rest;
    }
    if flying + host_queued != sim.in_network() as u64 {
        return wrong("sent and not ended, in flight", flying + host_queued, sim.in_network() as u64);
    }
    if plus(host_dropped, switch_dropped) != dropped {
        return wrong("drops of ports and of the probe", total(host_dropped), total(dropped));
    }
    if total(sent) + total(passed) != sim.probe.sent {
        return wrong("packets sent by ports, seen by the probe", total(sent), sim.probe.sent);
    }
    let counters = sim.ends().map(Endpoint::counters);
    let data: u64 = counters.map(|end| end.sent).sum();
    let left = of_data(sent) + of_data(host_dropped);
    // Hosts with an interrupt gap hold segments before the queue of their link.
    let of_scheme = &setup.plan.schemes[setup.scheme].transport;
    let holds = matches!(of_scheme, Transport::Tcp(tcp) if tcp.config.interrupt_gap > Span::ZERO);
    let most = if holds { u64::MAX } else { left + host_queued };
    if !(left..=most).contains(&data) {
        return wrong("data sent by ends, data that left hosts", data, left);
    }
    let has_copies = sim.ports().any(|port| total(port.counters().duplicated) > 0);
    for (flow, [sent, gone]) in &sim.probe.flows {
        if gone > sent && !has_copies {
            return wrong(&format!("packets of flow {flow} that ended, and that were sent"), *gone, *sent);
        }
    }
    links(setup, sim)?;
    payload(setup, sim)
}

/// At each switch, the packets that its links have brought are sent, dropped or queued there. No link carries more than
/// its capacity and a frame.
fn links<E: Endpoint>(setup: &ResolvedRun<'_>, sim: &Simulator<'_, E, Tally>) -> Result<(), String> {
    let (network, now) = (&setup.network, sim.now().since_start());
    let mut nodes = vec![[0u64; 2]; network.graph.nodes.len()];
    for (number, port) in (0..).zip(sim.ports()) {
        let counts = port.counters();
        let brought = total(counts.sent) + total(counts.duplicated) - total(counts.lost) - port.on_wire() as u64;
        nodes[network.graph.far(number).0 as usize][0] += brought;
        let taken = total(counts.sent) + total(counts.dropped) + u64::from(port.queued());
        nodes[network.graph.near(number).0 as usize][1] += taken;
        let frames = network.full_frame(number).get() * (1 + network.changes(number).len() as u64);
        let most = network.capacity(number, now).get() + frames;
        if counts.bytes > most {
            return Err(format!("{now}: {}: {} of {most} bytes", network.port_name(number), counts.bytes));
        }
    }
    let switches = (0u32..).zip(&nodes).filter(|(node, _)| network.graph.kind(Node(*node)) == NodeKind::Switch);
    for (node, [brought, taken]) in switches {
        if brought != taken {
            return Err(format!("{now}: {}: {brought} packets came, {taken} went", network.names[node as usize]));
        }
    }
    Ok(())
}

/// No receiver has more than there is, and one is complete when it has it all.
fn payload<E: Endpoint>(setup: &ResolvedRun<'_>, sim: &Simulator<'_, E, Tally>) -> Result<(), String> {
    let receivers = sim.ends().skip(1).step_by(2).zip(shallop_plan::flows::FlowGenerator::new(setup));
    for (number, (receiver, flow)) in receivers.enumerate() {
        let (size, received) = (flow.size.unwrap_or(u64::MAX), receiver.counters().received);
        if received > size || receiver.is_complete() != (received == size) {
            return Err(format!("{}: flow {number}: {received} of {size} bytes", sim.now()));
        }
    }
    Ok(())
}

/// Runs until nothing is left to happen, looking at it on the way. What it came to: by class sent and dropped by all
/// ports, and the reports of all ends.
struct Run<'a> {
    setup: &'a ResolvedRun<'a>,
    /// When to look; then every ten seconds.
    looks: &'a [Span],
}

impl ends::EndpointVisitor for Run<'_> {
    type Result = Result<String, String>;

    fn visit<E: EndpointFactory>(self, ends: E) -> Self::Result {
        let Self { setup, looks } = self;
        let mut sim = sim(setup, &ends);
        for look in looks {
            sim.run_until(Time::after_start(*look));
            audit(setup, &sim)?;
        }
        let horizon = Time::after_start(Span::from_secs(HORIZON));
        while !sim.is_idle() && sim.now() < horizon {
            let next = sim.now() + Span::from_secs(10);
            sim.run_until(next);
            audit(setup, &sim)?;
        }
        let ends: Vec<_> = sim.ends().collect();
        if let Some(end) = ends.iter().position(|end| !end.is_complete()) {
            let (sender, receiver) = (ends[end & !1].counters(), ends[end | 1].counters());
            return Err(format!("end {end} is not complete: {sender:?} and {receiver:?}"));
        }
        if !sim.is_idle() || sim.in_network() > 0 {
            return Err(format!("something goes on after {}", sim.now()));
        }
        let mut complete = sim.probe.complete.clone();
        complete.sort_unstable();
        complete.dedup();
        if complete.len() != ends.len() || sim.probe.complete.len() != ends.len() {
            return Err(format!("{} of {} ends seen complete", complete.len(), ends.len()));
        }
        let counts: Vec<_> = sim.ports().map(shallop_switch::Port::counters).collect();
        let counters: Vec<_> = sim.ends().map(Endpoint::counters).collect();
        Ok(format!("{counts:?} {counters:?}"))
    }
}

/// No flow of these tests may take longer, in seconds. A burst of losses is counted in packets: if its mean is 6, the
/// next packet is lost with probability 5/6. The last packet of a flow may meet it alone, once in each timeout of at
/// most 120 s. There is room for 160 timeouts, and that many losses in a burst have the probability (5/6)^160 =
/// 2e-13. (2,000 s had room for 25 losses, which have a probability of 1 %; a burst of 30 was drawn.)
const HORIZON: u64 = 20_000;

fn rate() -> impl Strategy<Value = BitsPerSec> {
    prop::sample::select(vec![10u64, 40, 100, 1_000, 10_000])
        .prop_map(|mbps| BitsPerSec::at_least_one(mbps * 1_000_000))
}

fn way() -> impl Strategy<Value = LinkWay> {
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..0.01];
    let jitter = prop_oneof![2 => Just(0), 1 => 0u64..20];
    let change = prop_oneof![
        3 => Just(vec![]),
        1 => (1u64..200, rate(), 0u64..5_000)
            .prop_map(|(ms, rate, us)| vec![(Span::from_ms(ms), Some(rate), Some(Span::from_us(us)))]),
    ];
    let bursts = prop::option::weighted(0.3, 1.0..6.0);
    (rate(), 0u64..5_000, (loss, bursts, jitter), change, disorder(), down()).prop_map(
        |(rate, delay, (loss, loss_burst, jitter), changes, (reordering, duplicates), down)| LinkWay {
            rate,
            delay: Span::from_us(delay),
            mtu: Bytes::new(1500),
            loss,
            loss_burst,
            jitter: Span::from_us(jitter),
            reordering,
            duplicates,
            down,
            changes,
            pauses: Vec::new(),
        },
    )
}

/// A link whose two directions are alike, or differ.
fn link(between: (usize, usize)) -> impl Strategy<Value = GraphLink> {
    (way(), prop::option::of(way())).prop_map(move |(forth, back)| {
        let back = back.unwrap_or_else(|| forth.clone());
        GraphLink { between, ways: [forth, back] }
    })
}

/// Packets that are late, and copies.
fn disorder() -> impl Strategy<Value = ((f64, Span), f64)> {
    let reordering = (prop_oneof![2 => Just(0.0), 1 => 0.0..0.02], (0u64..3_000));
    let duplicates = prop_oneof![2 => Just(0.0), 1 => 0.0..0.02];
    (reordering, duplicates).prop_map(|((part, late), duplicates)| ((part, Span::from_us(late)), duplicates))
}

/// Times at which a link is down. No period divides a second: such a one would meet each retransmission of a SYN, whose
/// timeouts are whole seconds.
fn down() -> impl Strategy<Value = Vec<Outage>> {
    let ms = Span::from_ms;
    let outage = (0u64..300, 1u64..40, prop::option::of(400u64..900)).prop_map(move |(at, lasts, every)| Outage {
        from: Time::after_start(ms(at)),
        lasts: ms(lasts),
        every: every.map(|every| ms(every) + Span::from_us(617)),
    });
    prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(outage, 1..3)]
}

/// Switches in a random tree with a few links more, and hosts at any of them. Gives the numbers of the hosts.
fn graph() -> impl Strategy<Value = (Topology, Vec<u32>)> {
    let parts = (
        prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..3),
        prop::collection::vec(any::<prop::sample::Index>(), 2..6),
    );
    parts.prop_flat_map(|(parents, more, hosts)| {
        let switches = parents.len() + 1;
        let mut pairs: Vec<_> = parents.iter().enumerate().map(|(n, parent)| (parent.index(n + 1), n + 1)).collect();
        let more = more.iter().map(|(a, b)| (a.index(switches), b.index(switches)));
        pairs.extend(more.filter(|(a, b)| a != b));
        pairs.extend(hosts.iter().enumerate().map(|(n, at)| (switches + n, at.index(switches))));
        let node = |number, kind| GraphNode { name: format!("n{number}"), kind, switch: 0 };
        let kind = move |n| if n < switches { NodeKind::Switch } else { NodeKind::Host };
        let nodes: Vec<_> = (0..switches + hosts.len()).map(|n| node(n, kind(n))).collect();
        let numbers: Vec<u32> = (switches as u32..nodes.len() as u32).collect();
        let links: Vec<_> = pairs.into_iter().map(link).collect();
        links.prop_map(move |links| (Topology::Graph { nodes: nodes.clone(), links }, numbers.clone()))
    })
}

/// A dumbbell, or a parking lot.
fn shape() -> impl Strategy<Value = (Topology, Vec<u32>)> {
    let delays = prop::collection::vec((0u64..5_000).prop_map(Span::from_us), 2..5);
    let largest = Largest { mtu: Bytes::new(1500) };
    let dumbbell = (rate(), rate(), delays, 1usize..4).prop_map(move |(trunk, access, delays, right)| {
        let hosts = if right == 1 { 1 } else { 2 }..(2 + delays.len() + if right == 1 { 0 } else { right });
        let hosts = hosts.map(|host| host as u32).collect();
        let (senders, sender_delay) = (delays.len(), SenderDelay::Each(delays));
        let dumbbell = Dumbbell {
            rate: trunk,
            access_rate: access,
            delay: Span::from_ms(1),
            senders,
            sender_delay,
            receivers: right,
            largest,
        };
        (dumbbell.into(), hosts)
    });
    let lot = (rate(), rate(), 1usize..5).prop_map(move |(trunk, access, hops)| {
        let hosts = (hops as u32 + 1..(hops as u32 + 1) * 3).collect();
        let lot = ParkingLot {
            rate: trunk,
            access_rate: access,
            delay: Span::from_us(500),
            access_delay: Span::from_us(10),
            hops,
            hosts: 2,
            largest,
        };
        (lot.into(), hosts)
    });
    prop_oneof![dumbbell, lot]
}

pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let network = prop_oneof![3 => graph(), 1 => shape()];
    let flow = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..4, 1u64..60_000);
    let buffer = prop_oneof![
        (2u32..30).prop_map(BufferSize::Packets),
        (3_100u64..50_000).prop_map(|bytes| BufferSize::Bytes(Bytes::new(bytes))),
    ];
    let cell = prop::sample::select(vec![Bytes::new(1), Bytes::new(208)]);
    let rest = (prop::option::of(1u32..4), cell, marking());
    let shared =
        (3_100u64..80_000, 0.5..8.0, 0u64..3_000, rest).prop_map(|(size, alpha, private, (ports, cell, mark))| {
            // Alone a queue has at least a third of it, which is more than a frame.
            let (size, private) = (Bytes::new(size + 3_100), Bytes::new(private));
            Shared { alpha, private, ports, cell, mark, ..Shared::new(size) }
        });
    let shared = prop_oneof![2 => Just(None), 1 => shared.prop_map(Some)];
    let marks = (marking(), discipline());
    (network, buffer, shared, marks, prop::collection::vec(flow, 1..4)).prop_map(
        |((topology, hosts), buffer, shared, (mark, aqm), flows)| {
            let groups: Vec<Group> = (0..)
                .zip(flows)
                .map(|(number, (from, to, count, size))| {
                    let from = from.index(hosts.len());
                    let to = (from + 1 + to.index(hosts.len() - 1)) % hosts.len();
                    group(&format!("g{number}"), (hosts[from], hosts[to]), count, Some(size))
                })
                .collect();
            let mut plan = plan(topology, buffer, groups);
            plan.switches[0].shared = shared;
            plan.switches[0].mark = mark.filter(|_| aqm.is_none());
            plan.switches[0].aqm = aqm;
            plan
        },
    )
}

fn marking() -> impl Strategy<Value = Option<QueueMarking>> {
    let at = prop::sample::select(vec![MarkAt::Enqueue, MarkAt::Dequeue]);
    let all = (3_100u64..12_000, 0u64..9_000, 0.01..1.0, 0u32..3, (at, any::<bool>()));
    let mark = all.prop_map(|(min, more, max_probability, weight, (at, drops))| {
        let [min, max] = [min, min + more].map(|it| BufferSize::Bytes(Bytes::new(it)));
        let signals = if drops && at == MarkAt::Enqueue { Signals::MarkOrDrop } else { Signals::Mark };
        let spacing = [Spacing::Independent, Spacing::Count][weight as usize % 2];
        QueueMarking { min, max, max_probability, weight, at, signals, spacing }
    });
    prop_oneof![2 => Just(None), 1 => mark.prop_map(Some)]
}

/// A discipline that acts on the short queues of these networks, or a FIFO.
fn discipline() -> impl Strategy<Value = Option<Aqm>> {
    let codel = (20u64..2_000, 1u64..20, any::<bool>()).prop_map(|(us, part, ecn)| {
        let (target, interval) = (Span::from_us(us), Span::from_us(us * part));
        CoDelConfig { target, interval, ecn, ..CoDelConfig::defaults(()) }
    });
    let fq = (codel.clone(), 1u32..40, 2u32..30).prop_map(|(codel, flows, limit)| {
        Aqm::FqCoDel(FqCoDelConfig { codel, flows, limit, ..FqCoDelConfig::defaults(()) })
    });
    let shift = prop::option::of((0u64..500).prop_map(Span::from_us));
    let dual = (20u64..2_000, shift, any::<bool>()).prop_map(|(us, time_shift, random)| {
        let (target, step_thresh) = (Span::from_us(us), Span::from_us(us / 4));
        let (tupdate, alpha, beta) = (target, 10.0, 200.0);
        let rest = DualPi2Config::defaults(());
        let laws = DualPi2Config { target, tupdate, alpha, beta, step_thresh, ..rest };
        Aqm::DualPi2(DualPi2Config { time_shift, random, ..laws })
    });
    let pie = (20u64..2_000, any::<bool>()).prop_map(|(us, ecn)| {
        let (target, max_burst) = (Span::from_us(us), Span::from_us(us * 2));
        let (tupdate, alpha, beta) = (target, 10.0, 200.0);
        Aqm::Pie(PieConfig { target, tupdate, max_burst, alpha, beta, ecn, ..PieConfig::defaults(()) })
    });
    let aqm = prop_oneof![codel.prop_map(Aqm::CoDel), fq, dual, pie];
    prop_oneof![2 => Just(None), 1 => aqm.prop_map(Some)]
}

/// Plans whose last group has another transport than the scheme, in one queue or in weighted ones.
fn mixes() -> impl Strategy<Value = Plan> {
    let all = crate::support::schemes().into_iter();
    let tcp = all.filter(|it| matches!(it.transport, Transport::Tcp(_)));
    let other = prop::sample::select(tcp.collect::<Vec<_>>());
    let weights = prop_oneof![Just(None), (1u32..4, 1u32..4).prop_map(Some)];
    (plans(), other, weights, any::<bool>()).prop_map(|(mut plan, other, weights, emulation)| {
        // Each part of the smallest buffer must hold a frame.
        plan.switches[0].buffer = BufferSize::Packets(20);
        plan.switches[0].weights = weights;
        plan.switches[0].emulation = emulation;
        plan.groups.push(plan.groups[0].clone());
        if let Some(last) = plan.groups.last_mut() {
            "other".clone_into(&mut last.name);
            last.transport = Some(other);
        }
        plan
    })
}

/// Runs every scheme of the plan, looking at it at these times. What each came to.
pub(crate) fn accounted(plan: &Plan, seed: u64, looks: &[Span]) -> Result<Vec<String>, TestCaseError> {
    let mut came = vec![];
    for (number, scheme) in plan.schemes.iter().enumerate() {
        let fail = |why: SetupError| TestCaseError::fail(why.to_string());
        let setup = ResolvedRun::new(plan, number, seed).map_err(fail)?;
        let looked = ends::with(&setup, Run { setup: &setup, looks }).map_err(fail)?;
        came.push(looked.map_err(|why| TestCaseError::fail(format!("{}: {why}", scheme.name)))?);
    }
    Ok(came)
}

fn looks() -> impl Strategy<Value = Vec<Span>> {
    prop::collection::vec(1u64..400_000, 0..6).prop_map(|mut looks| {
        looks.sort_unstable();
        looks.into_iter().map(Span::from_us).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_and_every_byte_is_accounted_for_and_every_flow_completes(
        plan in plans(),
        seed in any::<u64>(),
        looks in looks(),
    ) {
        let looked = accounted(&plan, seed, &looks)?;
        // What happens does not depend on when somebody looks.
        prop_assert_eq!(looked, accounted(&plan, seed, &[])?);
    }

    #[test]
    fn mixes_conserve_packets_and_bytes_and_every_flow_completes(
        plan in mixes(),
        seed in any::<u64>(),
        looks in looks(),
    ) {
        accounted(&plan, seed, &looks)?;
    }
}
