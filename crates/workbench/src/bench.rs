//! Benchmarks: time and memory of a run, and the speed of a plain binary heap on the same machine as a reference.

use super::{clock::Clock, error::StudyError};
use serde::{Deserialize, Serialize};
use shallop_core::Seed;
use shallop_measure::run::{RunError, run};
use shallop_scenario::reference_run::Case;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The speed of one benchmark case with one transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub case: String,
    pub transport: String,
    pub simulated_s: f64,
    /// Packets of any class that left a port onto a wire, summed over ports.
    pub packet_hops: u64,
    /// Data packets that arrived at their receiver.
    pub delivered_data_packets: u64,
    /// The shortest wall-clock time of a repetition, in seconds.
    pub wall_s: f64,
    /// The longest wall-clock time of a repetition, in seconds.
    pub wall_most_s: f64,
    pub repeats: u32,
    /// Packet hops per wall-clock second, of the fastest repetition.
    pub hops_per_s: f64,
    /// Data packets that arrived per wall-clock second, of the fastest repetition.
    pub delivered_per_s: f64,
    /// Peak resident memory of the process; `None` where the system does not report it.
    pub peak_rss_bytes: Option<u64>,
}

/// A case is not repeated once its repetitions took this many seconds.
const LONG_S: f64 = 15.0;

/// Runs a case with a transport up to three times; once if `quick`.
pub fn measure(case: &Case, transport: usize, quick: bool) -> Result<BenchResult, StudyError> {
    let plan = case.plan(if quick { case.quick } else { case.duration })?;
    let (mut best, mut most, mut last) = (f64::INFINITY, 0.0_f64, None);
    let (mut repeats, since) = (0, Clock::start());
    while repeats < 3 && (repeats == 0 || !quick && since.seconds() < LONG_S) {
        let clock = Clock::start();
        let outcome = run(&plan, transport, plan.seed, &mut |_| true)?;
        let wall = clock.seconds();
        (best, most) = (best.min(wall), most.max(wall));
        last = Some(outcome.run);
        repeats += 1;
    }
    let last = last.ok_or(RunError::Stopped)?;
    Ok(BenchResult {
        case: case.name.to_owned(),
        transport: case.transports()[transport].to_owned(),
        simulated_s: plan.duration.as_secs_f64(),
        packet_hops: last.packet_hops,
        delivered_data_packets: last.delivered_data_packets,
        wall_s: best,
        wall_most_s: most,
        repeats,
        hops_per_s: last.packet_hops as f64 / best,
        delivered_per_s: last.delivered_data_packets as f64 / best,
        peak_rss_bytes: peak_rss_bytes(),
    })
}

/// The peak resident memory of this process; `None` on systems other than Linux.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = shallop_store::read_text("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Measures how fast this machine is now: events per second of a plain binary heap in the hold model (Jones 1986). The
/// heap holds 2,000 deadlines; each event removes the first and inserts it again a random time later.
pub fn calibrate() -> f64 {
    const HELD: u64 = 2000;
    const EVENTS: u64 = 4_000_000;
    let mut stream = Seed::new(1).stream("calibration", 0);
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    for number in 0..HELD {
        heap.push(Reverse((stream.draw() % 1_000_000, number as u32)));
    }
    let clock = Clock::start();
    for _ in 0..EVENTS {
        if let Some(Reverse((at, number))) = heap.pop() {
            heap.push(Reverse((at + stream.draw() % 1_000_000, number)));
        }
    }
    let seconds = clock.seconds();
    std::hint::black_box(heap.peek());
    EVENTS as f64 / seconds
}
