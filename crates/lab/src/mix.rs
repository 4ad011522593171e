//! Several transports in one network: what those in use ask of ports together, and which ports each sort crosses.

use std::collections::BTreeSet;

use shallop_core::Seed;
use shallop_sim::Paths;

use crate::flows::NoPath;
use crate::layout::Crossing;
use crate::load;
use crate::network::Network;
use crate::plan::{Plan, Transport};
use crate::reach::Reach;
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
    /// Asks nobody, ever.
    Udp,
}

impl Kind {
    /// The kind of this transport.
    #[must_use]
    pub const fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Tcp { .. } => Self::Tcp,
            Transport::ExpressPass(_) => Self::ExpressPass,
            Transport::FlashPass(_) => Self::FlashPass,
            Transport::Udp(_) => Self::Udp,
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::ExpressPass => "ExpressPass",
            Self::FlashPass => "FlashPass",
            Self::Udp => "UDP",
        }
    }

    /// Whether it waits for credits.
    #[must_use]
    pub const fn is_proactive(self) -> bool {
        !matches!(self, Self::Tcp | Self::Udp)
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
    /// Whether some data is sent without a credit (Aeolus), and to be dropped in the data queue above a threshold.
    pub unscheduled: bool,
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
        let mixed = first.is_some() && kinds.iter().any(|kind| !kind.is_proactive());
        Ok(Self {
            proactive: first,
            batch: (0..plan.groups.len()).filter_map(batch).min().unwrap_or(1),
            mixed,
            apart: mixed && plan.switches(scheme).iter().any(|switch| switch.weights.is_some()),
            unscheduled: (0..plan.groups.len())
                .any(|group| plan.transport(scheme, group).transport.aeolus().is_some()),
        })
    }
}

/// Which ports data that wait for credits may cross, what their receivers return, and anything else.
///
/// # Errors
/// The first pair that no path joins.
pub(crate) fn crossings(
    plan: &Plan,
    scheme: usize,
    network: &Network,
    paths: &Paths,
    seed: Seed,
) -> Result<Vec<Crossing>, NoPath> {
    let proactive = |group| Kind::of(&plan.transport(scheme, group).transport).is_proactive();
    let own = load::talk(plan, network, seed, proactive);
    let others = load::talk(plan, network, seed, |group| !proactive(group));
    let (own, others) = (Reach::of(network, paths, &own)?, Reach::of(network, paths, &others)?);
    let both = own.crossings.into_iter().zip(others.crossings);
    Ok(both.map(|(own, other)| Crossing { legacy: other.data || other.returns, ..own }).collect())
}
