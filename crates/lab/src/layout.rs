//! What the transports in use ask of every port: which queues there are, what joins them, what they may hold.
//!
//! | transports | queues, served in this order |
//! |---|---|
//! | TCP | data with everything else |
//! | `ExpressPass` | credits, metered; data with everything else |
//! | `FlashPass` | emulation packets, metered; returned credits and acknowledgements, metered beside data; data |
//! | TCP beside one of these | as these; TCP with data, or in a queue of its own that shares with data by weight |
//!
//! A queue shared by weight leaves data that wait for credits a part of the link, and credits are metered to what that
//! part can carry: for weights d and l, `F` bytes of a frame and `c` of a returned credit, if any comes, emulation
//! packets get `84 d / ((d + l) F + d (84 + c))` of the link wherever TCP crosses it (docs/flashpass.md, "beside TCP").
//! The buffer is divided alike: what TCP fills is no room that data could count on.
//!
//! Data sent without a credit (Aeolus) is in the data queue, and is dropped there above a threshold of its own, in
//! switches; packets of TCP that are not ECN-capable share its fate where they share the queue.
//!
//! Hosts' links have the same meters as switches, as both papers ask. What queues may hold is in `memory.rs`.

use shallop_core::{Bytes, Class, Node, Seed, Share, Stream};
use shallop_proto::{flashpass, wire};
use shallop_sim::GraphLink;
use shallop_switch::{Limit, Meter, PortConfig, QueueConfig, Select};

use crate::memory::Memory;
use crate::mix::{Demand, Kind};
use crate::network::Network;
use crate::plan::{Accounting, Plan, Switch};

/// The queues of a port: their names, in the order of their numbers.
pub const TCP_QUEUES: &[&str] = &["data"];
/// Likewise.
pub const EXPRESSPASS_QUEUES: &[&str] = &["credit", "data"];
/// Likewise.
pub const FLASHPASS_QUEUES: &[&str] = &["emulation", "credit", "data"];
/// Likewise, with TCP apart.
pub const EXPRESSPASS_APART: &[&str] = &["credit", "data", "legacy"];
/// Likewise.
pub const FLASHPASS_APART: &[&str] = &["emulation", "credit", "data", "legacy"];

/// Everything about the ports of a network under one scheme.
#[derive(Clone, Debug)]
pub struct Layout {
    /// For each port its machine's configuration.
    pub ports: Vec<PortConfig>,
    /// The memory that ports draw on.
    pub memory: Memory,
    /// Names of the queues of each port.
    pub queues: &'static [&'static str],
    /// For each port the parts of its link that are set aside.
    pub shares: Vec<Shares>,
    /// The data queue's index.
    pub data: usize,
    /// What is metered.
    pub metered: Option<Class>,
    /// Whether some data is sent without a credit.
    pub unscheduled: bool,
}

/// Which data and which credits cross a port: what accounting for credits needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// Data of some flow does.
    pub data: bool,
    /// What the receiver of some flow returns does.
    pub returns: bool,
    /// Anything of a transport without credits does, where there are others with them.
    pub legacy: bool,
}

impl Layout {
    /// The ports of this network under a scheme, by its index, given what its transports ask for and what crosses each.
    #[must_use]
    pub fn of(
        (plan, scheme): (&Plan, usize),
        network: &Network,
        demand: &Demand,
        crossings: &[Crossing],
        seed: Seed,
    ) -> Self {
        let (queues, data, metered) = match (demand.proactive, demand.apart) {
            (Some(Kind::ExpressPass), false) => (EXPRESSPASS_QUEUES, 1, Some(Class::Credit)),
            (Some(Kind::ExpressPass), true) => (EXPRESSPASS_APART, 1, Some(Class::Credit)),
            (Some(Kind::FlashPass), false) => (FLASHPASS_QUEUES, 2, Some(Class::Emulation)),
            (Some(Kind::FlashPass), true) => (FLASHPASS_APART, 2, Some(Class::Emulation)),
            (None | Some(Kind::Tcp | Kind::Udp), _) => (TCP_QUEUES, 0, None),
        };
        let unscheduled = demand.unscheduled;
        let memory = Memory::of(plan.switches(scheme), network, seed);
        let (ports, shares) = (vec![], vec![]);
        let mut layout = Self { ports, memory, queues, shares, data, metered, unscheduled };
        for port in 0..network.graph.ports() as u32 {
            let of = |node: Node| &plan.switches(scheme)[network.switch_of[node.0 as usize]];
            let switch = of(network.graph.near(port));
            let ends = (switch, of(network.graph.far(port)));
            let around = (crossings[port as usize], crossings[port as usize ^ 1]);
            let shares = Shares::of(network, port, demand, ends, around);
            let (mut queues, queue_of) = port_queues(network, port, *demand, switch, &shares);
            let link = network.graph.link_of(port);
            if network.is_switch_port(port) {
                mark(&mut queues[data..], switch, link, |queue| {
                    seed.stream("red", u64::from(port) << 8 | queue)
                });
            }
            layout.memory.add((plan, scheme), network, (port, demand), &queues);
            layout.ports.push(PortConfig {
                rate: link.rate,
                delay: link.delay,
                queues,
                queue_of,
                impairment: network.impairment(port, seed),
                changes: network.changes(port),
            });
            layout.shares.push(shares);
        }
        layout
    }
}

/// The parts of a port's link that are set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// For credits of `ExpressPass` or emulation packets: as much as leaves room for the frames they release and, where
    /// the accounting says so, for the credits that come back over the same link.
    pub metered: Option<Share>,
    /// For the credits that come back to senders of `FlashPass`, where the accounting leaves room for them. They keep
    /// to it: round-trip times differ, so well spaced emulation packets do not make well spaced credits.
    pub returned: Option<Share>,
    /// Bytes of a full credit of `FlashPass` on the wire.
    pub credit: u64,
    /// Weights of data and of TCP where credits leave room for it by weight.
    pub weights: Option<(u32, u32)>,
}

impl Shares {
    /// The shares of a port, given the switches at both ends of its link and what crosses it there and back.
    #[must_use]
    pub fn of(
        network: &Network,
        port: u32,
        demand: &Demand,
        (switch, far): (&Switch, &Switch),
        (crossing, other_way): (Crossing, Crossing),
    ) -> Self {
        let frame = u64::from(wire::frame(network.graph.link_of(port).mtu.get()));
        let metered = u64::from(wire::MIN_FRAME);
        // Credits of ExpressPass release data that cross the link the other way, from the queues of its other end.
        let (meets, weights) = match demand.proactive {
            None | Some(Kind::Tcp | Kind::Udp) => return Self::default(),
            Some(Kind::ExpressPass) => (other_way.legacy, far.weights),
            Some(Kind::FlashPass) => (crossing.legacy, switch.weights),
        };
        let weights = weights.filter(|_| meets);
        let (own, all) =
            weights.map_or((1, 1), |(data, legacy)| (u64::from(data), u64::from(data + legacy)));
        if demand.proactive == Some(Kind::ExpressPass) {
            let share = Share::new(own * metered, own * metered + all * frame);
            return Self { metered: share, weights, ..Self::default() };
        }
        let batch = u64::from(demand.batch);
        let credit = u64::from(flashpass::head::credit_size(batch));
        let counts = match switch.accounting {
            Accounting::OneWay => false,
            Accounting::TwoWay => true,
            Accounting::PerLink => crossing.data && crossing.returns,
        };
        let returned = own * if counts { credit } else { 0 };
        let whole = (own * metered + all * frame) * batch + returned;
        let metered = Share::new(own * metered * batch, whole);
        let returned = if counts { Share::new(returned, whole) } else { None };
        Self { metered, returned, credit, weights }
    }
}

/// Makes queues of data mark as this switch does.
fn mark(
    queues: &mut [QueueConfig],
    switch: &Switch,
    link: &GraphLink,
    stream: impl Fn(u64) -> Stream,
) {
    let Some(marking) = switch.marking(link.rate) else { return };
    let frame = Bytes::new(u64::from(wire::frame(link.mtu.get())));
    let step = marking.as_step(link.rate);
    for (number, queue) in (0..).zip(queues) {
        queue.mark = step;
        queue.red = step.is_none().then(|| marking.red((link.rate, frame), stream(number)));
    }
}

/// The queues of a port, and for each class the one it joins.
fn port_queues(
    network: &Network,
    port: u32,
    demand: Demand,
    switch: &Switch,
    shares: &Shares,
) -> (Vec<QueueConfig>, [u8; Class::COUNT]) {
    let link = network.graph.link_of(port);
    let meter = |share: Option<Share>, packet: u64| {
        let depth = Bytes::new(packet) * u64::from(switch.credit_burst.max(1));
        share.map(|share| Meter::new(link.rate.share(share), depth))
    };
    let above = |above| Select { above: Limit::of(above, link.rate) };
    let select = switch.select.map(above);
    let drops = demand.unscheduled && network.is_switch_port(port);
    let unscheduled = drops.then(|| above(switch.unscheduled_above));
    let metered = QueueConfig {
        meter: meter(shares.metered, u64::from(wire::MIN_FRAME)),
        ..QueueConfig::default()
    };
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let (own, other) = switch.weights.unwrap_or((1, 1));
    let aggregate = network.aggregate(port);
    let data =
        |priority| QueueConfig { weight: own, select: unscheduled, aggregate, ..queue(priority) };
    let (mut queues, mut queue_of) = match demand.proactive {
        None | Some(Kind::Tcp | Kind::Udp) => return (vec![data(0)], [0; Class::COUNT]),
        Some(Kind::ExpressPass) => (vec![metered, data(1)], [1, 1, 1, 1, 0, 1, 1, 1]),
        Some(Kind::FlashPass) => {
            let returned = QueueConfig { meter: meter(shares.returned, shares.credit), ..queue(1) };
            let queues = vec![QueueConfig { select, ..metered }, returned, data(2)];
            // Aeolus's probe keeps its place behind the data it probes.
            (queues, [2, 1, 2, 0, 1, 2, 2, 2])
        }
    };
    let last = queues.len() - 1;
    if !switch.emulation && network.is_switch_port(port) {
        queue_of = [last as u8; Class::COUNT];
    }
    if demand.apart {
        queues.push(QueueConfig { weight: other, select: None, ..queues[last].clone() });
        if switch.weights.is_some() {
            queue_of[Class::Legacy.index()] = last as u8 + 1;
            queue_of[Class::LegacyAck.index()] = last as u8 + 1;
        }
    }
    (queues, queue_of)
}
