//! The queues of every port, as the transports in use require them, and which packets join each. Each row is a set of
//! transports.
//!
//! | transports | queues, served in this order |
//! |---|---|
//! | TCP | data with everything else |
//! | `ExpressPass` | credits, metered; data with everything else |
//! | `FlashPass` | emulation packets, metered; returned credits and acknowledgements, metered beside data; data |
//! | TCP beside one of these | as these; TCP with data, or in a separate queue that shares with data by weight |
//!
//! With a queue for TCP, data sent on credits has a part of the link by weight, and credits are metered to the rate of
//! that part: for weights d and l, `F` bytes of a frame and `c` of a returned credit, if there is one, emulation
//! packets get `84 d / ((d + l) F + d (84 + c))` of each link that TCP crosses (docs/flashpass.md, "beside TCP"). The
//! buffer is divided in the same way, so that TCP does not fill memory that data on credits needs.
//!
//! Unscheduled data (Aeolus) is in the data queue, which drops it in switches above a separate threshold, or in a queue
//! of the lowest priority (`unscheduled_drop = "low-priority"`). Packets of TCP that are not ECN-capable are dropped
//! above that threshold as well if they share the queue with unscheduled data.
//!
//! Hosts' links have the same meters as switches, as both papers require. Limits of queues are in `memory.rs`.

use crate::plan::{Accounting, Plan, Switch, UnscheduledDrop};
use crate::{memory::Memory, network::Network};
use crate::{requirements::Requirements, traffic_paths::PortTraffic};
use shallop_core::{BitsPerSec, Bytes, Class, Seed, Share, Stream};
use shallop_proto::{flashpass, wire};
use shallop_switch::{AqmPort, Discipline, FifoConfig, Limit, Meter, PortConfig, QueueConfig, SelectiveDrop};

/// The only queue of a port if no transport has credits.
const DATA: &[&str] = &["data"];

/// The ports of a network under one scheme: their queues, their memory, and the shares of links for metered packets.
#[derive(Clone, Debug)]
pub struct PortLayout {
    pub ports: Vec<PortConfig>,
    pub memory: Memory,
    /// Names of a port's queues, in the order of their indices.
    pub queues: &'static [&'static str],
    /// By port: the shares of its link for metered packets and for TCP.
    pub shares: Vec<LinkShares>,
    /// Index of the data queue in `queues`.
    pub data: usize,
    /// The class of packets that switches meter: credits or emulation packets.
    pub metered: Option<Class>,
    /// Whether any transport sends unscheduled data (Aeolus).
    pub unscheduled: bool,
}

impl PortLayout {
    /// Configures every port of the network for one scheme.
    pub fn new(
        plan: &Plan, scheme: usize, network: &Network, requirements: &Requirements, traffic: &[PortTraffic], seed: Seed,
    ) -> Self {
        let queues = requirements.credits.map_or(DATA, |credits| {
            match (requirements.legacy_queue, requirements.unscheduled_queue) {
                (true, _) => credits.queues_with_legacy,
                (false, true) => credits.queues_with_unscheduled,
                (false, false) => credits.queues,
            }
        });
        let data = requirements.credits.map_or(0, |credits| credits.queues.len() - 1);
        let metered = requirements.credits.map(|credits| credits.metered);
        let unscheduled = requirements.unscheduled.is_some();
        let memory = Memory::new(plan.switches(scheme), network, seed);
        let (ports, shares) = (vec![], vec![]);
        let mut layout = Self { ports, memory, queues, shares, data, metered, unscheduled };
        for port in 0..network.graph.ports() as u32 {
            let [switch, far] = [port, port ^ 1].map(|port| network.switch(plan.switches(scheme), port));
            let (own, reverse) = (traffic[port as usize], traffic[port as usize ^ 1]);
            let shares = LinkShares::for_port(network, port, requirements, switch, far, own, reverse);
            let (mut queues, queue_of) = port_queues(network, port, *requirements, switch, &shares);
            let link = network.graph.link_of(port);
            if network.is_switch_port(port) {
                let frame = network.full_frame(port);
                manage(&mut queues[data..], switch, link.rate, frame, |name, queue| {
                    seed.stream(name, u64::from(port) << 8 | queue)
                });
            }
            layout.memory.add_port(plan, scheme, network, port, requirements, &queues);
            for queue in queues[data..].iter_mut().filter(|_| network.is_switch_port(port)) {
                let bucket = |(rate, burst)| Meter::fixed(rate, burst);
                (queue.meter, queue.policer) = (switch.shaper.map(bucket), switch.policer.map(bucket));
            }
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

/// The shares of one port's link, as fractions of its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkShares {
    /// The share for credits of `ExpressPass` or emulation packets of `FlashPass`. It leaves room for the frames that
    /// they release and, depending on [`Accounting`], for the credits that return over the link.
    pub metered: Option<Share>,
    /// The share for credits that return to senders of `FlashPass`, if the accounting leaves room for them. They are
    /// metered because round-trip times differ, so that evenly spaced emulation packets do not give evenly spaced
    /// credits.
    pub returned: Option<Share>,
    /// Size on the wire of a full `FlashPass` credit, in bytes.
    pub credit: u64,
    /// Weights of the data queue and of TCP's queue, if TCP has a separate queue and crosses this port.
    pub weights: Option<(u32, u32)>,
}

impl LinkShares {
    /// Computes the shares of one port's link. `switch` and `far` are the switches at its near and far end; `traffic`
    /// and `reverse` are what crosses it in the two directions.
    pub fn for_port(
        network: &Network, port: u32, requirements: &Requirements, switch: &Switch, far: &Switch, traffic: PortTraffic,
        reverse: PortTraffic,
    ) -> Self {
        let frame = network.full_frame(port).get();
        let metered = u64::from(wire::MIN_FRAME);
        let Some(credits) = requirements.credits else { return Self::default() };
        // Released data shares the queues of the port at which it enters the link.
        let (meets, weights) =
            if credits.releases_reverse { (reverse.legacy, far.weights) } else { (traffic.legacy, switch.weights) };
        let weights = weights.filter(|_| meets);
        let (own, all) = weights.map_or((1, 1), |(data, legacy)| (u64::from(data), u64::from(data + legacy)));
        let batch = u64::from(requirements.batch);
        let credit = if credits.returns { u64::from(flashpass::head::credit_size(batch)) } else { 0 };
        let counts = credits.returns
            && match switch.accounting.unwrap_or(credits.accounting) {
                Accounting::OneWay => false,
                Accounting::TwoWay => true,
                Accounting::PerLink => traffic.data && traffic.returns,
            };
        let returns = credit + requirements.acknowledgements * batch;
        let returned = own * if counts { returns } else { 0 };
        let whole = (own * metered + all * frame) * batch + returned;
        let metered = Share::new(own * metered * batch, whole);
        let returned = if counts { Share::new(returned, whole) } else { None };
        Self { metered, returned, credit, weights }
    }
}

/// Gives each of these data queues the queue discipline of the switch or, without one, its ECN marking and WRED.
fn manage(
    queues: &mut [QueueConfig], switch: &Switch, rate: BitsPerSec, frame: Bytes, stream: impl Fn(&str, u64) -> Stream,
) {
    for (number, queue) in (0..).zip(queues) {
        if let Some(aqm) = switch.aqm {
            let port = AqmPort { mtu: frame, stream: stream("aqm", number) };
            queue.discipline = Discipline::Aqm(aqm, port);
        } else {
            let marking = switch.marking(rate);
            let mark = marking.and_then(|marking| marking.as_step(rate));
            let marking = marking.filter(|_| mark.is_none()).map(|marking| (marking, "red"));
            let rules = marking.into_iter().chain(switch.drop.map(|drop| (drop, "wred")));
            let red = rules.map(|(rule, name)| rule.red(rate, frame, stream(name, number))).collect();
            queue.discipline = Discipline::Fifo(FifoConfig { mark, red });
        }
    }
}

/// Configures the queues of a port, and maps each class of packets to its queue.
fn port_queues(
    network: &Network, port: u32, requirements: Requirements, switch: &Switch, shares: &LinkShares,
) -> (Vec<QueueConfig>, [u8; Class::COUNT]) {
    let link = network.graph.link_of(port);
    let meter = |share: Option<Share>, packet: u64| {
        let depth = Bytes::new(packet) * u64::from(switch.credit_burst.max(1));
        share.map(|share| Meter::new(link.rate.share(share), depth))
    };
    let above = |above| SelectiveDrop { above: Limit::for_buffer(above, link.rate) };
    let select = switch.select.map(above);
    let drops = requirements.unscheduled.filter(|_| network.is_switch_port(port));
    let low = drops.is_some() && switch.unscheduled_drop == Some(UnscheduledDrop::LowPriority);
    let unscheduled = drops.filter(|_| !low).map(|_| above(switch.unscheduled_above));
    let rule = switch.unscheduled_drop.or(drops);
    let select_reached = rule == Some(UnscheduledDrop::Reached);
    let metered = QueueConfig { meter: meter(shares.metered, u64::from(wire::MIN_FRAME)), ..QueueConfig::default() };
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let (own, other) = switch.weights.unwrap_or((1, 1));
    let aggregate = network.aggregate(port);
    let data =
        |priority| QueueConfig { weight: own, select: unscheduled, select_reached, aggregate, ..queue(priority) };
    let Some(credits) = requirements.credits else { return (vec![data(0)], [0; Class::COUNT]) };
    let mut queues = vec![QueueConfig { select: select.filter(|_| credits.selective), ..metered }];
    if credits.returns {
        queues.push(QueueConfig { meter: meter(shares.returned, shares.credit), ..queue(1) });
    }
    queues.push(data(queues.len() as u8));
    let mut queue_of = credits.queue_of;
    let last = queues.len() - 1;
    if !switch.emulation && network.is_switch_port(port) {
        queue_of = [last as u8; Class::COUNT];
    }
    if requirements.legacy_queue {
        queues.push(QueueConfig { weight: other, select: None, ..queues[last].clone() });
        if switch.weights.is_some() {
            queue_of[Class::Legacy.index()] = last as u8 + 1;
            queue_of[Class::LegacyAck.index()] = last as u8 + 1;
        }
    }
    if requirements.unscheduled_queue {
        queues.push(QueueConfig { select: None, ..data(last as u8 + 1) });
        queue_of[Class::Unscheduled.index()] = if low { last as u8 + 1 } else { last as u8 };
    }
    (queues, queue_of)
}
