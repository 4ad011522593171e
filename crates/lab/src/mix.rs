//! Several transports in one network: what those in use ask of ports together, and which ports each sort crosses.

use std::collections::BTreeSet;

use shallop_core::End;
use shallop_sim::Paths;
use shallop_switch::Routes;

use crate::flows::Flow;
use crate::layout::Crossing;
use crate::network::Network;
use crate::plan::{Plan, Transport};
use crate::run::RunError;

/// The sorts of transport: those of one sort share a type of ends and the same queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Asks nobody before it sends.
    Tcp,
    /// Receivers' credits.
    ExpressPass,
    /// Senders' emulation packets.
    FlashPass,
}

impl Kind {
    /// The kind of this transport.
    #[must_use]
    pub const fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Tcp { .. } => Self::Tcp,
            Transport::ExpressPass(_) => Self::ExpressPass,
            Transport::FlashPass(_) => Self::FlashPass,
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::ExpressPass => "ExpressPass",
            Self::FlashPass => "FlashPass",
        }
    }

    /// Whether it waits for credits.
    #[must_use]
    pub const fn is_proactive(self) -> bool {
        !matches!(self, Self::Tcp)
    }
}

/// The kinds of transport that groups use under a scheme.
#[must_use]
pub fn kinds(plan: &Plan, scheme: usize) -> BTreeSet<Kind> {
    let groups = 0..plan.groups.len();
    groups.map(|group| Kind::of(&plan.transport(scheme, group).transport)).collect()
}

/// What the transports in use ask of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The transport with credits, if any.
    pub proactive: Option<Kind>,
    /// Timestamps in the smallest credit packet of `FlashPass`.
    pub batch: u8,
    /// Whether transports without credits are in use beside one with them.
    pub mixed: bool,
    /// Whether they have a queue of their own at any switch.
    pub apart: bool,
}

impl Demand {
    /// The demand of a scheme.
    ///
    /// # Errors
    /// If two transports would use one class of packets for different things.
    pub fn of(plan: &Plan, scheme: usize) -> Result<Self, RunError> {
        let kinds = kinds(plan, scheme);
        let mut proactive = kinds.iter().copied().filter(|kind| kind.is_proactive());
        let first = proactive.next();
        if proactive.next().is_some() {
            return Err(RunError::Mix { scheme: plan.schemes[scheme].name.clone() });
        }
        let batch = |group| match plan.transport(scheme, group).transport {
            Transport::FlashPass(config) => Some(config.batch.max(1)),
            _ => None,
        };
        let mixed = first.is_some() && kinds.contains(&Kind::Tcp);
        Ok(Self {
            proactive: first,
            batch: (0..plan.groups.len()).filter_map(batch).min().unwrap_or(1),
            mixed,
            apart: mixed && plan.switches.iter().any(|switch| switch.weights.is_some()),
        })
    }
}

/// Which ports are crossed by data that wait for credits, by what their receivers return, and by anything else.
pub(crate) fn crossings(
    plan: &Plan,
    scheme: usize,
    network: &Network,
    routes: &Routes,
    flows: &[Flow],
) -> Vec<Crossing> {
    let mut crossings = vec![Crossing::default(); network.graph.ports()];
    for (number, flow) in (0..).zip(flows) {
        let (there, back) = walks(network, routes, number, flow);
        let proactive = Kind::of(&plan.transport(scheme, flow.group).transport).is_proactive();
        for port in there {
            let crossing = &mut crossings[port as usize];
            crossing.data |= proactive;
            crossing.legacy |= !proactive;
        }
        for port in back {
            let crossing = &mut crossings[port as usize];
            crossing.returns |= proactive;
            crossing.legacy |= !proactive;
        }
    }
    crossings
}

/// The ports a flow crosses, there and back.
pub(crate) fn walks(
    network: &Network,
    routes: &Routes,
    number: u32,
    flow: &Flow,
) -> (Vec<u32>, Vec<u32>) {
    let walk = |from, to, end| Paths::walk(&network.graph, routes, from, to, end);
    let there = walk(flow.from, flow.to, End::receiver(number));
    (there, walk(flow.to, flow.from, End::sender(number)))
}
