//! What the transports in use require of a network's ports, and which traffic crosses each port.

use crate::network::{Network, NoPath};
use crate::plan::{Driver, Plan, UnscheduledDrop};
use crate::traffic_paths::{PortTraffic, TrafficPaths};
use crate::transport::{CreditRequirements, Transport};
use crate::{error::SetupError, host_pairs::HostPairs};
use shallop_core::Seed;
use shallop_topology::Paths;

/// Bytes on the wire of QUIC acknowledgements for each data packet: at most 166 for ten data packets
/// (`ACKNOWLEDGED_TOGETHER` of the crate `quic`).
const ACKNOWLEDGEMENTS: u64 = 17;

/// What the transports of a scheme require of the network's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Requirements of the transport with credits (queues, meters), if the scheme has one.
    pub credits: Option<&'static CreditRequirements>,
    /// Timestamps in a full `FlashPass` credit packet: the minimum over all groups.
    pub batch: u8,
    /// Bytes on the wire of acknowledgements, for each data packet, in the queue of returned credits. They exist in
    /// rehearsals only, which use QUIC; simulated credits carry acknowledgements.
    pub acknowledgements: u64,
    /// Whether the scheme has both flows with credits and flows without.
    pub mixed: bool,
    /// Whether any switch has a separate queue for transports without credits.
    pub legacy_queue: bool,
    /// Whether any switch has a queue of low priority for unscheduled data. Not beside `legacy_queue`.
    pub unscheduled_queue: bool,
    /// Which unscheduled data (Aeolus) queues drop if the switch does not say; `None` if no transport sends any.
    pub unscheduled: Option<UnscheduledDrop>,
}

impl Requirements {
    /// Collects what the transports of all groups require under a scheme.
    ///
    /// # Errors
    /// If two transports with credits are in use.
    pub fn for_scheme(plan: &Plan, scheme: usize) -> Result<Self, SetupError> {
        let transports: Vec<&Transport> =
            (0..plan.groups.len()).map(|group| &plan.transport(scheme, group).transport).collect();
        let mut credits = transports.iter().filter_map(|transport| transport.credits());
        let first = credits.next();
        if credits.any(|other| Some(other) != first) {
            return Err(SetupError::Mix { scheme: plan.schemes[scheme].name.clone() });
        }
        let with_credits = transports.iter().filter(|transport| transport.credits().is_some());
        let mixed = first.is_some() && transports.iter().any(|transport| transport.credits().is_none());
        let is_quic = matches!(plan.driver, Driver::Rehearsal { .. });
        let switches = plan.switches(scheme);
        let legacy_queue = mixed && switches.iter().any(|switch| switch.weights.is_some());
        let unscheduled = transports.iter().filter_map(|it| unscheduled_drop(it)).max();
        let low = Some(UnscheduledDrop::LowPriority);
        let unscheduled_queue = unscheduled.is_some() && switches.iter().any(|it| it.unscheduled_drop == low);
        if legacy_queue && unscheduled_queue {
            return Err(SetupError::Queues { scheme: plan.schemes[scheme].name.clone() });
        }
        Ok(Self {
            acknowledgements: if is_quic { ACKNOWLEDGEMENTS } else { 0 },
            credits: first,
            batch: with_credits.map(|transport| transport.batch()).min().unwrap_or(1),
            mixed,
            legacy_queue,
            unscheduled_queue,
            unscheduled,
        })
    }
}

fn unscheduled_drop(transport: &Transport) -> Option<UnscheduledDrop> {
    let reached = matches!(transport, Transport::ExpressPass(it) if it.is_aeolus_paper);
    transport.aeolus().map(|_| if reached { UnscheduledDrop::Reached } else { UnscheduledDrop::Above })
}

/// Finds the traffic that may cross each port. Transports without credits are counted separately.
///
/// # Errors
/// The first pair of hosts without a path.
pub(crate) fn port_traffic(
    plan: &Plan, scheme: usize, network: &Network, paths: &Paths, seed: Seed,
) -> Result<Vec<PortTraffic>, NoPath> {
    let proactive = |group| plan.transport(scheme, group).transport.credits().is_some();
    let own = HostPairs::from_plan(plan, network, paths, seed, proactive);
    let others = HostPairs::from_plan(plan, network, paths, seed, |group| !proactive(group));
    let own = TrafficPaths::between(network, paths, &own)?;
    let others = TrafficPaths::between(network, paths, &others)?;
    let both = own.ports.into_iter().zip(others.ports);
    Ok(both.map(|(own, other)| PortTraffic { legacy: other.data || other.returns, ..own }).collect())
}
