//! Speed: how long a run takes, the memory it needs, and what the machine makes of a bare heap in the meantime.

#![expect(
    clippy::disallowed_types,
    reason = "how long something takes is asked here and nowhere else"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use shallop_core::Seed;

use super::jobs::HostError;
use crate::run::{RunError, run};
use crate::standard::Case;

/// A clock that was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Seconds since then.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A case under a transport, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the case.
    pub case: String,
    /// Label of the transport.
    pub transport: String,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Packets of any class that left a port onto a wire.
    pub packet_hops: u64,
    /// Data packets that arrived.
    pub delivered_data_packets: u64,
    /// Seconds it took: the best of `repeats`.
    pub wall_s: f64,
    /// The slowest of them.
    pub wall_most_s: f64,
    /// How often it was run.
    pub repeats: u32,
    /// Packet-hops in each of these seconds.
    pub hops_per_s: f64,
    /// Delivered data packets likewise.
    pub delivered_per_s: f64,
    /// The most memory the process had, if the system says so.
    pub peak_rss_bytes: Option<u64>,
}

/// A case that has taken so many seconds is not repeated.
const LONG_S: f64 = 15.0;

/// Runs a case under a transport up to three times.
///
/// # Errors
/// If it cannot be run.
pub fn measure(case: &Case, transport: usize, quick: bool) -> Result<Measured, HostError> {
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
    Ok(Measured {
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

/// The most memory this process ever had, where the system tells (Linux).
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    let status = shallop_store::read_text("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Events a second of a heap and nothing else: 2,000 deadlines, of which the first is always taken and put back a
/// random while later (Jones 1986, the hold model). It says how fast the machine is at this moment.
#[must_use]
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
