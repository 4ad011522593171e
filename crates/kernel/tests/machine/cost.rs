//! The cost of kernels: processor time per packet, and memory. The figures go to standard error.

use crate::support::{Run, kernel};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_kernel::Installed;
use shallop_testing::Outcome;

/// The processor time of this process, in seconds.
fn own_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let words = stat.rsplit(')').next().unwrap().split_whitespace();
    words.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// The processor time per packet in microseconds, of this process and of the kernels. Acknowledgements count as
/// packets.
fn cost(kernel: &Installed, run: &Run) -> (f64, f64) {
    let before = own_time();
    let outcome = run.run(kernel);
    let packets = outcome.transcript.delivered as f64;
    let [ours, theirs] = [own_time() - before, outcome.processor].map(|s| s * 1e6 / packets);
    report(run, &format!("{packets} packets, {ours:.1} us of ours and {theirs:.1} us of kernels a packet"));
    report(run, &format!("{} kernels with {} MB", run.kernels + 1, outcome.memory >> 20));
    (ours, theirs)
}

#[expect(clippy::print_stderr, reason = "this test measures")]
fn report(run: &Run, what: &str) {
    eprintln!("{} flows, moderation {:?}: {what}", run.flows.len(), run.moderation);
}

/// One flow at 10 Gb/s and 10 ms.
pub fn a_packet_costs_less_with_moderated_interrupts() -> Outcome {
    let run = |moderation| Run {
        rate: BitsPerSec::gbps(10),
        rtt: Span::from_ms(10),
        buffer: Bytes::new(12_500_000),
        duration: Span::from_ms(400),
        moderation,
        ..Run::default()
    };
    let kernel = kernel()?;
    let [with, without] = [Span::from_us(20), Span::ZERO].map(|of| cost(&kernel, &run(of)));
    assert!(with.0 + with.1 < without.0 + without.1, "{with:?} {without:?}");
    Ok(())
}
