//! Benchmarks: processor time and memory of a run, and the speed of a plain binary heap on the same machine as a
//! reference.

use super::{clock::Clock, error::StudyError};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};
use shallop_core::Seed;
use shallop_measure::run::{RunError, run};
use shallop_plan::ResolvedRun;
use shallop_scenario::reference_run::Case;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The speed of one benchmark case. Times are user time of the process, but for `wall_s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub case: String,
    pub transport: String,
    pub simulated_s: f64,
    /// Packets of any class that left a port onto a wire, summed over ports.
    pub packet_hops: u64,
    /// Packets of any class that were dropped at ports.
    pub drops: u64,
    /// Data packets that arrived at their receiver.
    pub delivered_data_packets: u64,
    /// Wall-clock time of the run with the set-up of its network, in seconds.
    pub wall_s: f64,
    /// User time of the run without the set-up of its network, in seconds.
    pub user_s: f64,
    /// Time to read the scenario and to set up its network, in seconds.
    pub setup_s: f64,
    /// User time for each packet offered to a port: packet hops and drops.
    pub ns_per_packet: f64,
    /// Packet hops per second of user time.
    pub hops_per_s: f64,
    /// `ns_per_packet` in events of the heap that a loop of calibration measures before and after the run.
    pub events_per_packet: f64,
    pub calibration_events_per_s: f64,
    /// Peak resident memory of the process; `None` where its unit is not known to be KiB.
    pub peak_rss_bytes: Option<u64>,
    /// Time per packet of the other build, divided by this build's: least, median and largest of all pairs of runs;
    /// `None` without pairs.
    pub ratio: [Option<f64>; 3],
}

/// Runs a case; for a tenth of its simulated time if `quick`.
pub fn measure(case: &Case, quick: bool) -> Result<BenchResult, StudyError> {
    let before = calibrate();
    let start = user_seconds();
    let plan = case.plan(if quick { case.duration / 10 } else { case.duration })?;
    let scheme = plan.schemes.iter().position(|scheme| scheme.name == case.transport).unwrap_or_default();
    let read = user_seconds();
    drop(ResolvedRun::new(&plan, scheme, plan.seed).map_err(RunError::from)?);
    let resolved = user_seconds();
    let clock = Clock::start();
    let run = run(&plan, scheme, plan.seed, &mut |_| true)?.run;
    // A run sets up its network again.
    let (wall_s, user_s) = (clock.seconds(), (user_seconds() - resolved - (resolved - read)).max(1e-6));
    let (drops, usage) = (run.drops, getrusage(UsageWho::RUSAGE_SELF).ok());
    let drops = drops.data + drops.emulation + drops.credit + drops.ack + drops.control;
    let calibration = f64::midpoint(before, calibrate());
    let seconds_per_packet = user_s / (run.packet_hops + drops) as f64;
    Ok(BenchResult {
        case: case.name.to_owned(),
        transport: case.transport.to_owned(),
        simulated_s: plan.duration.as_secs_f64(),
        packet_hops: run.packet_hops,
        drops,
        delivered_data_packets: run.delivered_data_packets,
        wall_s,
        user_s,
        setup_s: resolved - start,
        ns_per_packet: seconds_per_packet * 1e9,
        hops_per_s: run.packet_hops as f64 / user_s,
        events_per_packet: seconds_per_packet * calibration,
        calibration_events_per_s: calibration,
        peak_rss_bytes: usage.filter(|_| cfg!(target_os = "linux")).map(|usage| usage.max_rss() as u64 * 1024),
        ratio: [None; 3],
    })
}

/// The user time of this process so far, in seconds.
fn user_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| usage.user_time().num_microseconds() as f64 / 1e6)
}

/// Measures how fast this machine is now: events per second of a plain binary heap in the hold model (Jones 1986). The
/// heap holds 2,000 deadlines; each event removes the first and inserts it again a random time later.
fn calibrate() -> f64 {
    const HELD: u64 = 2000;
    const EVENTS: u64 = 4_000_000;
    let mut stream = Seed::new(1).stream("calibration", 0);
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    for number in 0..HELD {
        heap.push(Reverse((stream.draw() % 1_000_000, number as u32)));
    }
    let start = user_seconds();
    for _ in 0..EVENTS {
        if let Some(Reverse((at, number))) = heap.pop() {
            heap.push(Reverse((at + stream.draw() % 1_000_000, number)));
        }
    }
    let seconds = user_seconds() - start;
    std::hint::black_box(heap.peek());
    EVENTS as f64 / seconds.max(1e-6)
}
