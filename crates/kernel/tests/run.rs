//! Kernels through the simulator's switches.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod support;

use shallop_core::{BitsPerSec, Span};
use support::Run;

#[test]
fn a_flow_of_known_size_arrives_whole() {
    let Some(kernel) = support::kernel() else { return };
    let run = Run { flows: vec![Some(1_000_000), Some(1)], ..Run::default() };
    let outcome = run.run(&kernel);
    println!("{outcome:#?}");
    assert_eq!(outcome.received, [1_000_000, 1]);
    assert_eq!(outcome.complete, [true, true]);
    assert_eq!(outcome.counters.strays, 0);
}

#[test]
fn one_flow_fills_the_line() {
    let Some(kernel) = support::kernel() else { return };
    for rate in [1_000_000_000, 10_000_000_000] {
        let run = Run {
            rate: BitsPerSec::at_least_one(rate),
            buffer: shallop_core::Bytes::new(rate / 8 / 500),
            duration: Span::from_secs(1),
            ..Run::default()
        };
        let started = std::time::Instant::now();
        let outcome = run.run(&kernel);
        println!(
            "{rate}: {:.1} Mb/s in {:?}, {:?} {:?}",
            run.goodput(&outcome) / 1e6,
            started.elapsed(),
            outcome.transcript,
            outcome.counters
        );
        println!("{}", outcome.logs.join("\n"));
    }
}
