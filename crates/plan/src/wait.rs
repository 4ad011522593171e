//! The waiting time of `FlashPass` from an emulation packet to its data packet. It must exceed every round trip, so
//! that credits return in time (docs/flashpass.md, "the waiting time").

use crate::error::SetupError;
use crate::memory::{self, RETURNED_QUEUE};
use crate::plan::{FlashPass, Plan, Transport};
use crate::resolved::{ResolvedNetwork, ResolvedRun};
use crate::study::Study;
use shallop_core::{Bytes, Node, Pace, Span};
use shallop_proto::wire;
use shallop_results::Job;
use shallop_switch::Limit;

/// The waiting time of a run: as configured or, by default, the longest base round trip of all flows plus a margin.
///
/// # Errors
/// If the configured time is below the largest base round trip and `force_wait` is not set.
pub fn wait(run: &ResolvedRun<'_>, config: &FlashPass) -> Result<Span, SetupError> {
    let Some(longest) = run.traffic_paths.longest else {
        return Ok(config.options.wait.unwrap_or_default());
    };
    let largest = longest.base_rtt;
    let Some(wait) = config.options.wait else {
        return Ok(largest + WaitMargin::for_run(run, config).total());
    };
    if wait < largest && !config.options.force_wait {
        let name = |node: Node| run.network.names[node.0 as usize].clone();
        return Err(SetupError::ShortWait {
            scheme: run.plan.schemes[run.scheme].name.clone(),
            wait,
            largest,
            from: name(longest.from),
            to: name(longest.to),
        });
    }
    Ok(wait)
}

/// By group: the waiting time of its flows; zero for transports other than `FlashPass`.
///
/// # Errors
/// As [`wait`].
pub fn waits(run: &ResolvedRun<'_>) -> Result<Vec<Span>, SetupError> {
    let of_group = |group| match &run.plan.transport(run.scheme, group).transport {
        Transport::FlashPass(config) => wait(run, config),
        _ => Ok(Span::ZERO),
    };
    (0..run.plan.groups.len()).map(of_group).collect()
}

/// Checks that a run can be started.
///
/// # Errors
/// If it cannot.
pub fn check(plan: &Plan, scheme: usize, seed: u64) -> Result<(), SetupError> {
    waits(&ResolvedRun::new(plan, scheme, seed)?).map(drop)
}

/// Checks that the given runs of a study can be started. Runs of one point and seed share a [`ResolvedNetwork`].
///
/// # Errors
/// The first failure by point, then seed, then scheme.
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

/// Margin of the waiting time above the largest base round trip. Each hop of the longest path adds the time of a full
/// emulation queue and of a data frame. Each hop of the reverse path adds the time of a frame and, if returned credits
/// are metered, of a full queue of credits. Times hold for the slowest link with a meter.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitMargin {
    /// Emulation packets in one full queue of the path.
    pub queued: u64,
    /// Gap between two metered packets at their full rate.
    pub gap: Span,
    /// Transmission time of a full data frame.
    pub frame: Span,
    /// Returned credits in one full queue of the path, counted as emulation packets that they answer.
    pub returned: u64,
    /// The most links on a path. The reverse path has as many.
    pub hops: u32,
}

impl WaitMargin {
    pub fn for_run(run: &ResolvedRun<'_>, config: &FlashPass) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let ports = 0..run.network.graph.ports() as u32;
        let mut margin = Self { hops: run.traffic_paths.hops, ..Self::default() };
        let mut slowest = (Span::ZERO, Span::ZERO);
        for port in ports {
            let (rate, _) = run.network.worst(port);
            let frame = run.network.full_frame(port);
            let shares = run.layout.shares[port as usize];
            let metered = shares.metered.map_or(rate, |share| rate.share(share));
            slowest = slowest.max((Pace::new(metered).quote(smallest), Pace::new(rate).quote(frame)));
            margin.queued = margin.queued.max(queued(run, port));
            if shares.returned.is_some() {
                margin.returned = u64::from(RETURNED_QUEUE + 1) * u64::from(config.options.batch.max(1));
            }
        }
        (margin.gap, margin.frame) = slowest;
        margin
    }

    /// The sum of all terms: the time that a packet may wait and travel beyond the base round trip. It is served after
    /// a full queue.
    pub fn total(&self) -> Span {
        (self.gap * (self.queued + 1 + self.returned) + self.frame * 2) * u64::from(self.hops)
    }
}

/// The most emulation packets that are assumed to wait in one queue. Longer queues are not expected to fill.
const MAX_QUEUED: u64 = 1000;

/// The number of emulation packets that fit the queue of a port.
fn queued(run: &ResolvedRun<'_>, port: u32) -> u64 {
    let network = &run.network;
    let depth = memory::credit_queue(run.plan, run.scheme, network, run.requirements, port);
    let limit = Limit::for_buffer(depth, network.graph.link_of(port).rate);
    let packets = u64::from(limit.packets).min(limit.bytes.get() / u64::from(wire::MIN_FRAME));
    packets.min(MAX_QUEUED)
}
