//! Flows of kernels through the simulator's switches.

use crate::support::{self, Run, kernel};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_testing::{Outcome, Stop};

fn with_controller(controller: &'static str) -> Run {
    Run { controller, ..Run::default() }
}

fn assert_clean(outcome: &support::Outcome) {
    assert_eq!(outcome.counters.strays, 0);
    let errors = |log: &String| log.lines().any(|line| line.starts_with("error:"));
    assert!(!outcome.logs.iter().any(errors), "{:?}", outcome.logs);
}

/// The outcome of a run, in which nothing went wrong in the kernels.
fn ran(run: &Run) -> Result<support::Outcome, Stop> {
    let outcome = run.run(&kernel()?);
    assert_clean(&outcome);
    Ok(outcome)
}

pub fn flows_of_known_size_arrive_whole() -> Outcome {
    let run = Run { flows: vec![Some(1_000_000), Some(1)], ..Run::default() };
    let outcome = ran(&run)?;
    assert_eq!(outcome.received, [1_000_000, 1]);
    assert_eq!(outcome.complete, [true, true]);
    Ok(())
}

/// Checks that flows reach 98 % of the largest goodput after slow start.
fn fills_the_line(run: &Run) -> Outcome {
    let outcome = ran(run)?;
    let part = run.goodput(&outcome) / run.line();
    assert!((0.98..1.001).contains(&part), "{part} of the line");
    Ok(())
}

pub fn one_flow_fills_a_line_of_1_gbps_after_slow_start() -> Outcome {
    fills_the_line(&with_controller("cubic"))
}

pub fn one_flow_fills_a_line_of_10_gbps_after_slow_start() -> Outcome {
    let rate = BitsPerSec::gbps(10);
    fills_the_line(&Run {
        rate,
        // The bandwidth-delay product.
        buffer: rate.bytes_in(Span::from_ms(2)),
        duration: Span::from_ms(500),
        measure_from: Span::from_ms(300),
        ..Run::default()
    })
}

pub fn reno_and_vegas_fill_the_line() -> Outcome {
    fills_the_line(&with_controller("reno"))?;
    fills_the_line(&with_controller("vegas"))
}

pub fn bbr_keeps_the_queue_short() -> Outcome {
    let run = with_controller("bbr");
    let outcome = ran(&run)?;
    assert!(run.goodput(&outcome) > 0.8 * run.line(), "{}", run.goodput(&outcome));
    assert_eq!(outcome.transcript.drops, 0);
    Ok(())
}

pub fn dctcp_is_marked_and_nothing_is_dropped() -> Outcome {
    let run = Run {
        controller: "dctcp",
        mark_above: Some(Bytes::new(60_000)),
        flows: vec![None, None],
        buffer: Bytes::new(1_000_000),
        duration: Span::from_ms(120),
        measure_from: Span::from_ms(60),
        ..Run::default()
    };
    let outcome = ran(&run)?;
    assert!(outcome.transcript.marks > 0);
    assert_eq!((outcome.transcript.drops, outcome.retransmits), (0, 0));
    assert!(run.goodput(&outcome) > 0.9 * run.line(), "{}", run.goodput(&outcome));
    Ok(())
}

pub fn without_the_threshold_nothing_is_marked() -> Outcome {
    let kernel = kernel()?;
    assert_eq!(with_controller("dctcp").run(&kernel).transcript.marks, 0);
    Ok(())
}

pub fn segments_of_one_packet_are_sent_without_bursts() -> Outcome {
    let longest = |gso_max_segs| {
        let access = Some(BitsPerSec::gbps(10));
        ran(&Run { access, gso_max_segs, ..Run::default() }).map(|outcome| outcome.transcript.longest_burst)
    };
    let (whole, single) = (longest(None)?, longest(Some(1))?);
    assert!(whole >= 10, "{whole} packets in a burst");
    assert!(single <= 3, "{single} packets in a burst");
    Ok(())
}

pub fn several_kernels_share_the_line() -> Outcome {
    let run = Run { kernels: 3, flows: vec![None; 6], ..Run::default() };
    let outcome = ran(&run)?;
    assert!(run.goodput(&outcome) > 0.9 * run.line(), "{}", run.goodput(&outcome));
    assert!(outcome.received.iter().all(|&bytes| bytes > 0), "{:?}", outcome.received);
    Ok(())
}

pub fn a_full_buffer_drops_and_the_flow_recovers() -> Outcome {
    let run = Run {
        access: Some(BitsPerSec::gbps(10)),
        buffer: Bytes::new(20_000),
        flows: vec![Some(1_000_000)],
        ..Run::default()
    };
    let outcome = ran(&run)?;
    assert!(outcome.transcript.drops > 0 && outcome.retransmits > 0);
    assert_eq!((outcome.received[0], outcome.complete[0]), (1_000_000, true));
    Ok(())
}

pub fn two_hundred_hosts_share_10_gbps() -> Outcome {
    let run =
        Run { rate: BitsPerSec::gbps(10), buffer: Bytes::new(2_500_000), flows: vec![None; 200], ..Run::default() };
    let outcome = ran(&run)?;
    assert!(run.goodput(&outcome) > 0.9 * run.line(), "{}", run.goodput(&outcome));
    assert!(outcome.received.iter().all(|&bytes| bytes > 0));
    assert!(outcome.memory < 1 << 30, "{} bytes of memory", outcome.memory);
    Ok(())
}
