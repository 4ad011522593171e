//! Controllers that kernels load.

use crate::support::{Run, kernel};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_kernel::{Installed, Module};
use shallop_testing::{Cause, Outcome, Stop, need};

fn kernel_with(module: &str) -> Result<Installed, Stop> {
    let kernel = kernel()?;
    need(Cause::Kernel, kernel.module(module))?;
    Ok(kernel)
}

/// `examples/controllers/fixed.c`, built by `shallop kernel module`.
pub fn a_controller_of_a_user_holds_its_window() -> Outcome {
    let kernel = kernel_with("fixed")?;
    let window = 40;
    let rtt = Span::from_ms(8);
    let run = Run {
        rate: BitsPerSec::gbps(1),
        rtt,
        controller: "fixed",
        modules: vec![Module { name: "fixed".to_owned(), parameters: format!("window={window}") }],
        // The window is never sent as a burst that waits for others.
        gso_max_segs: Some(1),
        moderation: Span::ZERO,
        duration: Span::from_ms(1_200),
        measure_from: Span::from_ms(200),
        ..Run::default()
    };
    let outcome = run.run(&kernel);
    // The one receiver is at the end of the bottleneck, so that the delays of `Run` are three quarters of its `rtt`. A
    // packet and its acknowledgement cross two links each; an acknowledgement is of two packets, and releases two.
    let rtt = rtt.as_secs_f64() * 0.75;
    let sent = (2.0 * (1_538.0 + 90.0) + 2.0 * 1_538.0) * 8.0 / run.rate.get() as f64;
    let wanted = f64::from(window) * 1_448.0 * 8.0 / (rtt + sent);
    let ratio = run.goodput(&outcome) / wanted;
    assert!((0.99..1.01).contains(&ratio), "{ratio} of window / RTT");
    // Never more than the window within a round trip: that bounds what was delivered in all.
    let trips = run.duration.as_secs_f64() / rtt + 1.0;
    assert!(outcome.received[0] as f64 <= trips * f64::from(window) * 1_448.0);
    assert_eq!(outcome.retransmits, 0);
    Ok(())
}

pub fn a_module_that_is_not_there_is_an_error_that_says_how_to_build_it() -> Outcome {
    let kernel = kernel()?;
    let said = kernel.module("nothing").unwrap_err();
    assert!(said.contains("'shallop kernel module nothing.c' makes it"), "{said}");
    Ok(())
}

/// Marks reduce its window by up to half each at first, since alpha begins at 1, and it grows by a fifth of a segment a
/// round trip here: most of the line is in use, and the queue stays below the buffer.
pub fn geminis_module_is_marked_and_loses_nothing() -> Outcome {
    let kernel = kernel_with("gemini")?;
    let rate = BitsPerSec::gbps(1);
    let run = Run {
        rate,
        rtt: Span::from_ms(2),
        controller: "gemini",
        modules: vec![shallop_kernel::modules::gemini(&shallop_control::gemini::Config::THESIS, rate)],
        flows: vec![None, None],
        // Room for slow start, which doubles the window once more after the first mark.
        buffer: Bytes::new(1_000_000),
        mark_above: Some(Bytes::new(76_900)),
        ..Run::default()
    };
    let outcome = run.run(&kernel);
    let part = run.goodput(&outcome) / run.line();
    assert!((0.5..1.001).contains(&part), "{part} of the line");
    assert!(outcome.transcript.marks > 0);
    assert_eq!(outcome.transcript.drops, 0);
    Ok(())
}
