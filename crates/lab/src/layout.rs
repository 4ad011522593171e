//! What a transport asks of every port: which queues there are, what joins them, what they may hold.
//!
//! | transport | queues, served in this order |
//! |---|---|
//! | TCP | data with everything else |
//! | `ExpressPass` | credits, metered; data with everything else |
//! | `FlashPass` | emulation packets, metered; returned credits, acknowledgements; data |
//!
//! Hosts' links have the same meters as switches, as both papers ask, and room without end for what is not metered, or
//! the queue that the scenario gives them.

use shallop_core::{Bytes, Class, Seed, Share};
use shallop_proto::{flashpass, wire};
use shallop_sim::NicMode;
use shallop_switch::{Limit, Mark, Meter, PortConfig, QueueConfig, Room, Select};

use crate::network::Network;
use crate::plan::{Accounting, Plan, Switch, Transport};

/// The queues of a port: their names, in the order of their numbers.
pub const TCP_QUEUES: &[&str] = &["data"];
/// Likewise.
pub const EXPRESSPASS_QUEUES: &[&str] = &["credit", "data"];
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
    /// For each port the share of its link that metered packets may use, if any are metered.
    pub shares: Vec<Option<Share>>,
    /// What is metered.
    pub metered: Option<Class>,
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
        let (queues, metered) = match transport {
            Transport::Tcp { .. } => (TCP_QUEUES, None),
            Transport::ExpressPass(_) => (EXPRESSPASS_QUEUES, Some(Class::Credit)),
            Transport::FlashPass(_) => (FLASHPASS_QUEUES, Some(Class::Emulation)),
        };
        let (ports, rooms, shares) = (vec![], vec![], vec![]);
        let mut layout = Self { ports, rooms, queues, shares, metered };
        for port in 0..network.graph.ports() as u32 {
            let switch = &plan.switches[network.switch_of[network.graph.near(port).0 as usize]];
            let share = share(network, port, transport, switch, crossings[port as usize]);
            let (queues, queue_of) = port_queues(network, port, transport, switch, share);
            let link = network.graph.link_of(port);
            layout.ports.push(PortConfig {
                rate: link.rate,
                delay: link.delay,
                queues,
                queue_of,
                impairment: network.impairment(port, seed),
                changes: network.changes(port),
            });
            layout.rooms.push(room(plan, network, port, switch, layout.queues.len()));
            layout.shares.push(share);
        }
        layout
    }
}

/// The part of a port's link for metered packets: as much as leaves room for the frames they release and, where the
/// accounting says so, for the credits that come back over the same link.
#[must_use]
pub fn share(
    network: &Network,
    port: u32,
    transport: &Transport,
    switch: &Switch,
    crossing: Crossing,
) -> Option<Share> {
    let link = network.graph.link_of(port);
    let frame = u64::from(wire::frame(link.mtu.get()));
    let metered = u64::from(wire::MIN_FRAME);
    let returned = match transport {
        Transport::Tcp { .. } => return None,
        Transport::ExpressPass(_) => return Share::new(metered, metered + frame),
        Transport::FlashPass(config) => {
            let batch = u64::from(config.batch.max(1));
            (u64::from(flashpass::head::credit_size(batch)), batch)
        }
    };
    let counts = match switch.accounting {
        Accounting::OneWay => false,
        Accounting::TwoWay => true,
        Accounting::PerLink => crossing.data && crossing.returns,
    };
    let (credit, batch) = if counts { returned } else { (0, 1) };
    Share::new(metered * batch, (metered + frame) * batch + credit)
}

/// The queues of a port, and for each class the one it joins.
fn port_queues(
    network: &Network,
    port: u32,
    transport: &Transport,
    switch: &Switch,
    share: Option<Share>,
) -> (Vec<QueueConfig>, [u8; Class::COUNT]) {
    let link = network.graph.link_of(port);
    let meter = share.map(|share| {
        let depth = Bytes::new(u64::from(wire::MIN_FRAME)) * u64::from(switch.credit_burst.max(1));
        Meter::new(link.rate.share(share), depth)
    });
    let select = Some(Select { above: Limit::of(switch.select, link.rate) });
    let mark = switch
        .mark
        .filter(|_| network.is_switch_port(port))
        .map(|(above, at)| Mark { above: Limit::of(above, link.rate), at });
    let metered = QueueConfig { meter, ..QueueConfig::default() };
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let data = |priority| QueueConfig { mark, ..queue(priority) };
    match transport {
        Transport::Tcp { .. } => (vec![data(0)], [0; Class::COUNT]),
        Transport::ExpressPass(_) => (vec![metered, data(1)], [1, 1, 1, 1, 0]),
        Transport::FlashPass(_) => {
            (vec![QueueConfig { select, ..metered }, queue(1), data(2)], [2, 1, 1, 0, 1])
        }
    }
}

/// The metered queue has room of its own, the others share the port's buffer.
fn room(plan: &Plan, network: &Network, port: u32, switch: &Switch, queues: usize) -> Room {
    let rate = network.graph.link_of(port).rate;
    let common = match (network.is_switch_port(port), plan.nic) {
        (true, _) => Limit::of(switch.buffer, rate),
        (false, NicMode::Fair) => Limit::NONE,
        (false, NicMode::Fifo) => Limit::of(plan.nic_buffer, rate),
    };
    let mut own = vec![None; queues];
    if queues > 1 {
        own[0] = Some(Limit::of(switch.credit_queue, rate));
    }
    Room::new(common, own)
}
