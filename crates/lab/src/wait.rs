//! How long `FlashPass` waits from an emulation packet to its data packet: longer than any round trip, or
//! credits would come too late (docs/flashpass.md, "the waiting time").

use shallop_core::{Bytes, Node, Pace, Span};
use shallop_proto::wire;
use shallop_switch::Limit;

use crate::memory::{self, RETURNED_QUEUE};
use crate::plan::FlashPass;
use crate::run::{RunError, Setup};

/// The waiting time: as configured, or the largest base round trip of all flows with a margin.
///
/// # Errors
/// If it is below the largest base round trip, and not meant to be.
pub(crate) fn wait(setup: &Setup<'_>, config: &FlashPass) -> Result<Span, RunError> {
    let Some(longest) = setup.reach.longest else {
        return Ok(config.wait.unwrap_or_default());
    };
    let largest = longest.base_rtt;
    let Some(wait) = config.wait else {
        return Ok(largest + Margin::of(setup, config).total());
    };
    if wait < largest && !config.force_wait {
        let name = |node: Node| setup.network.names[node.0 as usize].clone();
        return Err(RunError::ShortWait {
            scheme: setup.plan.schemes[setup.scheme].name.clone(),
            wait,
            largest,
            from: name(longest.from),
            to: name(longest.to),
        });
    }
    Ok(wait)
}

/// What the waiting time has to spare: for every hop of the longest way there the time a full emulation queue and a
/// data frame take, for every hop back a frame and, where returned credits are metered, a full queue of them; of the
/// slowest link that meters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Margin {
    /// Emulation packets that may wait at a hop.
    pub queued: u64,
    /// Between two metered packets at full rate.
    pub gap: Span,
    /// That a data frame takes.
    pub frame: Span,
    /// Returned credits that may wait where they are metered, each as long as the metered packets it answers.
    pub returned: u64,
    /// Most hops there, or back: both have as many.
    pub hops: u32,
}

impl Margin {
    pub(crate) fn of(setup: &Setup<'_>, config: &FlashPass) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let ports = 0..setup.network.graph.ports() as u32;
        let mut margin = Self { hops: setup.reach.hops, ..Self::default() };
        let mut slowest = (Span::ZERO, Span::ZERO);
        for port in ports {
            let (rate, _) = setup.network.worst(port);
            let link = setup.network.graph.link_of(port);
            let frame = Bytes::new(u64::from(wire::frame(link.mtu.get())));
            let shares = setup.layout.shares[port as usize];
            let metered = shares.metered.map_or(rate, |share| rate.share(share));
            slowest =
                slowest.max((Pace::new(metered).quote(smallest), Pace::new(rate).quote(frame)));
            margin.queued = margin.queued.max(queued(setup, port));
            if shares.returned.is_some() {
                margin.returned = u64::from(RETURNED_QUEUE + 1) * u64::from(config.batch.max(1));
            }
        }
        (margin.gap, margin.frame) = slowest;
        margin
    }

    /// All of it. The packet itself has its turn after those that are queued.
    pub(crate) fn total(&self) -> Span {
        (self.gap * (self.queued + 1 + self.returned) + self.frame * 2) * u64::from(self.hops)
    }
}

/// A queue with room for more than this is not waited for: it was not meant to be full.
const MOST_QUEUED: u64 = 1000;

/// Emulation packets that fit into their queue at this port.
fn queued(setup: &Setup<'_>, port: u32) -> u64 {
    let network = &setup.network;
    let depth = memory::credit_queue((setup.plan, setup.scheme), network, setup.demand, port);
    let limit = Limit::of(depth, network.graph.link_of(port).rate);
    let packets = u64::from(limit.packets).min(limit.bytes.get() / u64::from(wire::MIN_FRAME));
    packets.min(MOST_QUEUED)
}
