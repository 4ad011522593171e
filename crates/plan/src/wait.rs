//! The waiting time of `FlashPass` from an emulation packet to its data packet. It must be longer than any round trip,
//! so that credits return in time (docs/flashpass.md, "the waiting time").

use shallop_core::{Bytes, Node, Pace, Span};
use shallop_proto::wire;
use shallop_results::Job;
use shallop_switch::Limit;

use crate::error::SetupError;
use crate::memory::{self, RETURNED_QUEUE};
use crate::plan::{FlashPass, Plan, Transport};
use crate::resolved::{ResolvedNetwork, ResolvedRun};
use crate::study::Study;

/// The waiting time: as configured, or the largest base round trip of all flows with a margin.
///
/// # Errors
/// If it is below the largest base round trip without `force_wait`.
pub fn wait(setup: &ResolvedRun<'_>, config: &FlashPass) -> Result<Span, SetupError> {
    let Some(longest) = setup.traffic_paths.longest else {
        return Ok(config.options.wait.unwrap_or_default());
    };
    let largest = longest.base_rtt;
    let Some(wait) = config.options.wait else {
        return Ok(largest + Margin::for_run(setup, config).total());
    };
    if wait < largest && !config.options.force_wait {
        let name = |node: Node| setup.network.names[node.0 as usize].clone();
        return Err(SetupError::ShortWait {
            scheme: setup.plan.schemes[setup.scheme].name.clone(),
            wait,
            largest,
            from: name(longest.from),
            to: name(longest.to),
        });
    }
    Ok(wait)
}

/// The waiting time of each group, zero where its transport has none.
///
/// # Errors
/// As [`wait`].
pub fn waits(setup: &ResolvedRun<'_>) -> Result<Vec<Span>, SetupError> {
    let of_group = |group| match &setup.plan.transport(setup.scheme, group).transport {
        Transport::FlashPass(config) => wait(setup, config),
        _ => Ok(Span::ZERO),
    };
    (0..setup.plan.groups.len()).map(of_group).collect()
}

/// Checks whether a run can be set up.
///
/// # Errors
/// If it cannot.
pub fn check(plan: &Plan, scheme: usize, seed: u64) -> Result<(), SetupError> {
    waits(&ResolvedRun::new(plan, scheme, seed)?).map(drop)
}

/// Checks whether all these runs of a study can be set up. What the schemes of a point have in common under a seed is
/// set up once.
///
/// # Errors
/// If one cannot: the first by point, then seed, then scheme.
pub fn check_all(study: &Study, mut jobs: Vec<Job>) -> Result<(), SetupError> {
    let place = |job: &Job| (job.point, job.seed);
    jobs.sort_by_key(|job| (place(job), job.scheme));
    for jobs in jobs.chunk_by(|a, b| place(a) == place(b)) {
        let common = ResolvedNetwork::new(&study.points[jobs[0].point].plan, jobs[0].seed)?;
        for job in jobs {
            waits(&common.scheme(job.scheme)?)?;
        }
    }
    Ok(())
}

/// The margin of the waiting time above the largest base round trip. For every hop of the longest path it has the time
/// of a full emulation queue and of a data frame; for every hop of the reverse path the time of a frame and, if
/// returned credits are metered, of a full queue of credits. Times are those of the slowest link with a meter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Margin {
    /// Emulation packets in a full queue of a hop.
    pub queued: u64,
    /// The gap between two metered packets at the full rate.
    pub gap: Span,
    /// The transmission time of a data frame.
    pub frame: Span,
    /// Returned credits in a full queue of a hop, as the metered packets that they answer.
    pub returned: u64,
    /// The most hops on a path; its reverse path has as many.
    pub hops: u32,
}

impl Margin {
    /// The margin of a run whose flows have these options.
    pub fn for_run(setup: &ResolvedRun<'_>, config: &FlashPass) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let ports = 0..setup.network.graph.ports() as u32;
        let mut margin = Self { hops: setup.traffic_paths.hops, ..Self::default() };
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
                margin.returned =
                    u64::from(RETURNED_QUEUE + 1) * u64::from(config.options.batch.max(1));
            }
        }
        (margin.gap, margin.frame) = slowest;
        margin
    }

    /// The total. The packet itself is served after the queued ones.
    pub fn total(&self) -> Span {
        (self.gap * (self.queued + 1 + self.returned) + self.frame * 2) * u64::from(self.hops)
    }
}

/// The largest emulation queue that counts; larger ones are not expected to be full.
const MAX_QUEUED: u64 = 1000;

/// The number of emulation packets that fit their queue at this port.
fn queued(setup: &ResolvedRun<'_>, port: u32) -> u64 {
    let network = &setup.network;
    let depth = memory::credit_queue(setup.plan, setup.scheme, network, setup.requirements, port);
    let limit = Limit::of(depth, network.graph.link_of(port).rate);
    let packets = u64::from(limit.packets).min(limit.bytes.get() / u64::from(wire::MIN_FRAME));
    packets.min(MAX_QUEUED)
}
