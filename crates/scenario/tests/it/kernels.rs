//! Options of hosts that are kernels.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use shallop_core::Span;
use shallop_plan::kernel::KernelOptions;
use shallop_scenario::{Options, read};

fn kernel(more: &str) -> KernelOptions {
    let text = format!(
        "title = \"kernels\"\nduration = \"1s\"\nstack = \"kernel\"\n\
         topology = {{ kind = \"dumbbell\", senders = 1, rate = \"1Gbps\", delay = \"1ms\" }}\n\
         switch.default.buffer = \"20KB\"\nscheme = [{{ transport = \"cubic\" }}]\n\
         group = [{{ name = \"all\" }}]\n{more}\n"
    );
    let study = read(&text, &Options::default()).unwrap();
    study.points[0].plan.kernel.clone()
}

/// A scenario without the section once had kernels without interrupt moderation, and no limit of computing time.
#[test]
fn without_the_section_holds_what_holds_for_an_empty_one() {
    assert_eq!(kernel(""), kernel("[kernel]"));
    assert_eq!(kernel(""), KernelOptions::default());
    assert_eq!(kernel("").interrupt_gap, Span::from_us(20));
    assert_eq!(kernel("[kernel]\ninterrupt_gap = \"0s\"").interrupt_gap, Span::ZERO);
}
