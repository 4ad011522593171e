//! What a transport asks of every port: which queues there are, what joins them, what they may hold.
//!
//! | transport | queues, served in this order |
//! |---|---|
//! | TCP | data with everything else |
//! | `ExpressPass` | credits, metered; data with everything else |
//! | `FlashPass` | emulation packets, metered; returned credits and acknowledgements, metered beside data; data |
//!
//! Data sent without a credit (Aeolus) is in the data queue, and is dropped there above a threshold of its own, in
//! switches. Only for `expresspass-ideal` it has a queue below all others, with room without end.
//!
//! Hosts' links have the same meters as switches, as both papers ask, and room without end for what is not metered, or
//! the queue that the scenario gives them.

use shallop_core::{BufferSize, Bytes, Class, Seed, Share};
use shallop_proto::{flashpass, wire};
use shallop_sim::NicMode;
use shallop_switch::{Limit, Mark, Meter, PortConfig, QueueConfig, Room, Select};

use crate::network::Network;
use crate::plan::{Accounting, Plan, Switch, Transport};

/// The queues of a port: their names, in the order of their numbers.
pub const TCP_QUEUES: &[&str] = &["data"];
/// Likewise.
pub const EXPRESSPASS_QUEUES: &[&str] = &["credit", "data"];
/// Likewise, where data without a credit takes exactly what the others leave.
pub const IDEAL_QUEUES: &[&str] = &["credit", "spare", "data"];
/// Likewise.
pub const FLASHPASS_QUEUES: &[&str] = &["emulation", "credit", "data"];

/// Everything about the ports of a network under one scheme.
#[derive(Clone, Debug)]
pub struct Layout {
    /// For each port its machine's configuration.
    pub ports: Vec<PortConfig>,
    /// For each port the memory it draws on.
    pub rooms: Vec<Room>,
    /// Names of the queues of each port.
    pub queues: &'static [&'static str],
    /// For each port the parts of its link that are set aside.
    pub shares: Vec<Shares>,
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
}

impl Layout {
    /// The ports of this network for this transport, given what crosses each.
    #[must_use]
    pub fn of(
        plan: &Plan,
        network: &Network,
        transport: &Transport,
        crossings: &[Crossing],
        seed: Seed,
    ) -> Self {
        let aeolus = transport.aeolus();
        let unscheduled = aeolus.is_some();
        let (queues, metered) = match transport {
            Transport::Tcp { .. } => (TCP_QUEUES, None),
            Transport::ExpressPass(_) if aeolus.is_some_and(|aeolus| aeolus.ideal) => {
                (IDEAL_QUEUES, Some(Class::Credit))
            }
            Transport::ExpressPass(_) => (EXPRESSPASS_QUEUES, Some(Class::Credit)),
            Transport::FlashPass(_) => (FLASHPASS_QUEUES, Some(Class::Emulation)),
        };
        let (ports, rooms, shares) = (vec![], vec![], vec![]);
        let mut layout = Self { ports, rooms, queues, shares, metered, unscheduled };
        for port in 0..network.graph.ports() as u32 {
            let switch = &plan.switches[network.switch_of[network.graph.near(port).0 as usize]];
            let shares = Shares::of(network, port, transport, switch, crossings[port as usize]);
            let (queues, queue_of) = port_queues(network, port, transport, switch, &shares);
            let link = network.graph.link_of(port);
            layout.rooms.push(room(plan, network, port, switch, &queues));
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
}

impl Shares {
    /// The shares of a port, given what crosses it.
    #[must_use]
    pub fn of(
        network: &Network,
        port: u32,
        transport: &Transport,
        switch: &Switch,
        crossing: Crossing,
    ) -> Self {
        let frame = u64::from(wire::frame(network.graph.link_of(port).mtu.get()));
        let metered = u64::from(wire::MIN_FRAME);
        let config = match transport {
            Transport::Tcp { .. } => return Self::default(),
            Transport::ExpressPass(_) => {
                return Self { metered: Share::new(metered, metered + frame), ..Self::default() };
            }
            Transport::FlashPass(config) => config,
        };
        let batch = u64::from(config.batch.max(1));
        let credit = u64::from(flashpass::head::credit_size(batch));
        let counts = match switch.accounting {
            Accounting::OneWay => false,
            Accounting::TwoWay => true,
            Accounting::PerLink => crossing.data && crossing.returns,
        };
        let all = (metered + frame) * batch + if counts { credit } else { 0 };
        let returned = if counts { Share::new(credit, all) } else { None };
        Self { metered: Share::new(metered * batch, all), returned, credit }
    }
}

/// The queues of a port, and for each class the one it joins.
fn port_queues(
    network: &Network,
    port: u32,
    transport: &Transport,
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
    let aeolus = transport.aeolus();
    let ideal = aeolus.is_some_and(|aeolus| aeolus.ideal);
    let drops = aeolus.is_some() && !ideal && network.is_switch_port(port);
    let unscheduled = drops.then(|| above(switch.unscheduled_above));
    let mark = switch
        .mark
        .filter(|_| network.is_switch_port(port))
        .map(|(above, at)| Mark { above: Limit::of(above, link.rate), at });
    let metered = QueueConfig {
        meter: meter(shares.metered, u64::from(wire::MIN_FRAME)),
        ..QueueConfig::default()
    };
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let data = |priority| QueueConfig { mark, select: unscheduled, ..queue(priority) };
    match transport {
        Transport::Tcp { .. } => (vec![data(0)], [0; Class::COUNT]),
        Transport::ExpressPass(_) if ideal => {
            (vec![metered, queue(SPARE), data(1)], [2, 2, 2, 2, 0, 1])
        }
        Transport::ExpressPass(_) => (vec![metered, data(1)], [1, 1, 1, 1, 0, 1]),
        Transport::FlashPass(_) => {
            let returned = QueueConfig { meter: meter(shares.returned, shares.credit), ..queue(1) };
            // Aeolus's probe keeps its place behind the data it probes.
            (vec![QueueConfig { select, ..metered }, returned, data(2)], [2, 1, 2, 0, 1, 2])
        }
    }
}

/// The priority of the queue of data that takes only what others leave; no other queue has it.
const SPARE: u8 = 9;

/// Packets that wait where returned credits are metered, at most: so many that little is lost to their uneven spacing.
pub const RETURNED_QUEUE: u32 = 32;

/// The depth of a port's queue of credits or emulation packets.
pub(crate) fn credit_queue(plan: &Plan, network: &Network, port: u32) -> BufferSize {
    let switch = &plan.switches[network.switch_of[network.graph.near(port).0 as usize]];
    match plan.nic_credit_queue {
        Some(depth) if !network.is_switch_port(port) => depth,
        _ => switch.credit_queue,
    }
}

/// Metered queues have room of their own, what takes only what others leave has it without end, the others share the
/// port's buffer.
fn room(
    plan: &Plan,
    network: &Network,
    port: u32,
    switch: &Switch,
    queues: &[QueueConfig],
) -> Room {
    let rate = network.graph.link_of(port).rate;
    let common = match (network.is_switch_port(port), plan.nic) {
        (true, _) => Limit::of(switch.buffer, rate),
        (false, NicMode::Fair) => Limit::NONE,
        (false, NicMode::Fifo) => Limit::of(plan.nic_buffer, rate),
    };
    let own = queues.iter().enumerate().map(|(index, queue)| match (index, &queue.meter) {
        _ if queue.priority == SPARE => Some(Limit::NONE),
        (_, None) => None,
        (0, _) => Some(Limit::of(credit_queue(plan, network, port), rate)),
        _ => Some(Limit { packets: RETURNED_QUEUE, ..Limit::NONE }),
    });
    Room::new(common, own.collect())
}
