//! The requirements of the transports in use towards the ports of a network, and which ports their traffic crosses.

use shallop_core::Seed;
use shallop_topology::Paths;

use crate::error::SetupError;
use crate::host_pairs::HostPairs;
use crate::network::{Network, NoPath};
use crate::plan::{Driver, Plan};
use crate::traffic_paths::{PortTraffic, TrafficPaths};
use crate::transport::{Credits, Transport};

/// Bytes on the wire of an acknowledgement of QUIC, 166 at most, for each of the ten data packets that it acknowledges
/// (`ACKNOWLEDGED_TOGETHER` of the crate `quic`).
const ACKNOWLEDGEMENTS: u64 = 17;

/// What the transports in use require of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// What the transport with credits requires of switches, if there is one.
    pub credits: Option<&'static Credits>,
    /// The least number of timestamps in a full credit packet of `FlashPass`.
    pub batch: u8,
    /// Bytes of acknowledgements for each data packet, on the wire, which share the queue of returned credits: those of
    /// QUIC in a rehearsal. Simulated ones carry their acknowledgements in credits.
    pub acknowledgements: u64,
    /// Whether transports without credits are in use beside one with credits.
    pub mixed: bool,
    /// Whether transports without credits have a queue of their own at any switch.
    pub legacy_queue: bool,
    /// Whether unscheduled data is sent (Aeolus), which the data queue drops selectively.
    pub unscheduled: bool,
}

impl Requirements {
    /// The requirements of a scheme.
    ///
    /// # Errors
    /// If two transports would use one class of packets for different things.
    pub fn for_scheme(plan: &Plan, scheme: usize) -> Result<Self, SetupError> {
        let transports: Vec<&Transport> =
            (0..plan.groups.len()).map(|group| &plan.transport(scheme, group).transport).collect();
        let mut credits = transports.iter().filter_map(|transport| transport.credits());
        let first = credits.next();
        if credits.any(|other| Some(other) != first) {
            return Err(SetupError::Mix { scheme: plan.schemes[scheme].name.clone() });
        }
        let with_credits = transports.iter().filter(|transport| transport.credits().is_some());
        let mixed =
            first.is_some() && transports.iter().any(|transport| transport.credits().is_none());
        let is_quic = matches!(plan.driver, Driver::Rehearsal { .. });
        Ok(Self {
            acknowledgements: if is_quic { ACKNOWLEDGEMENTS } else { 0 },
            credits: first,
            batch: with_credits.map(|transport| transport.batch()).min().unwrap_or(1),
            mixed,
            legacy_queue: mixed
                && plan.switches(scheme).iter().any(|switch| switch.weights.is_some()),
            unscheduled: transports.iter().any(|transport| transport.aeolus().is_some()),
        })
    }
}

/// The traffic that may cross each port: data sent on credits, packets of its receivers, and packets of other
/// transports.
///
/// # Errors
/// The first pair without a path.
pub(crate) fn port_traffic(
    plan: &Plan,
    scheme: usize,
    network: &Network,
    paths: &Paths,
    seed: Seed,
) -> Result<Vec<PortTraffic>, NoPath> {
    let proactive = |group| plan.transport(scheme, group).transport.credits().is_some();
    let own = HostPairs::from_plan(plan, network, paths, seed, proactive);
    let others = HostPairs::from_plan(plan, network, paths, seed, |group| !proactive(group));
    let own = TrafficPaths::between(network, paths, &own)?;
    let others = TrafficPaths::between(network, paths, &others)?;
    let both = own.ports.into_iter().zip(others.ports);
    Ok(both
        .map(|(own, other)| PortTraffic { legacy: other.data || other.returns, ..own })
        .collect())
}
