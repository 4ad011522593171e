//! Congestion marks from the text of a scenario to the window: who understands them, what they spare, what is said
//! where nobody makes any.

use crate::support::{filled, outcome_of, study};
use shallop_control::any::Config as Window;
use shallop_core::Bytes;
use shallop_plan::plan::{Tcp, Transport};
use shallop_proto::tcp::Config;
use shallop_results::summary::Run;
use std::fmt::Write as _;

/// Four flows without end through 1 Gb/s. A round trip takes 250 us with the time to send at every hop and holds 20
/// frames.
fn text(scheme: &str, switch: &str) -> String {
    filled(include_str!("scenarios/marks.toml"), &[("switch", switch), ("scheme", scheme)])
}

fn transport(scheme: &str) -> (Config, Window) {
    let study = study(&text(scheme, PLAIN));
    match study.points[0].plan.schemes[0].transport {
        Transport::Tcp(Tcp { config, controller, .. }) => (config, controller),
        _ => panic!("{scheme} is a TCP"),
    }
}

fn outcome(scheme: &str, switch: &str) -> Run {
    outcome_of(&text(scheme, switch)).run
}

const PATH: f64 = 20.3;
/// Room for 100 frames.
const PLAIN: &str = r#"buffer = "100pkt""#;
/// The same, with a threshold of a little more than the path holds, for ECN*.
const ABOVE: &str = "buffer = \"100pkt\"\nmark = { above = \"24pkt\" }";

/// The marks that papers ask for, or that are written: ECN of the connection, and the controller. DCTCP of Linux as it
/// is shipped answers marks gradually (kernel: `tcp_enter_cwr`); Prague sends ECT(1) by itself.
#[test]
fn transports_have_the_marks_of_their_papers_and_options_where_they_are_told() {
    let mut told = String::new();
    for keys in [
        "dctcp",
        "ecn-star",
        "vegas",
        "dctcp, ecn_gradual = true",
        "dctcp, stack = \"linux\"",
        "prague, stack = \"linux\"",
        "cubic, ecn = \"classic\"",
        "ecn-star, ecn = \"off\"",
        "dctcp, l4s = true",
        "prague",
        "prague, l4s = false, ecn = \"classic\"",
        "vegas, name = \"vegas-10\", alpha = 20, beta = 40, gamma = 10, clock = \"exact\"",
        "dctcp, gain = 0.00390625, alpha_initial = 0.5, decrease = 0.3",
        "dctcp, stack = \"ns2\"",
    ] {
        let (name, more) = keys.split_once(", ").unwrap_or((keys, ""));
        let (config, controller) = transport(&format!("transport = \"{name}\"\n{}", more.replace(", ", "\n")));
        writeln!(told, "{keys}: {:?}, {controller:?}", config.ecn).unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_run_depends_on_marks_only_if_packets_are_ecn_capable() {
    let effective = |scheme: &str, switch: &str| {
        format!("{:?}", shallop_plan::effective(&study(&text(scheme, switch)).points[0].plan, 0))
    };
    let (low, high) = (r#"mark = { above = "4pkt" }"#, r#"mark = { above = "24pkt" }"#);
    let (low, high) = (format!("{PLAIN}\n{low}"), format!("{PLAIN}\n{high}"));
    for (scheme, depends) in [("cubic", false), ("vegas", false), ("dctcp", true), ("flashpass", true)] {
        let scheme = format!("transport = \"{scheme}\"");
        assert_eq!(effective(&scheme, &low) != effective(&scheme, &high), depends, "{scheme}");
        // FlashPass does not respond to marks, but its data is marked, and marks are results.
        let marks = [&low, &high].map(|switch| outcome(&scheme, switch).marks);
        assert_eq!(marks[0] != marks[1], depends, "{scheme}: {marks:?}");
    }
}

#[test]
fn dualpi2_keeps_l4s_flows_apart_by_their_codepoint() {
    let dualpi2 = "buffer = \"2MB\"\naqm = \"dualpi2\"\n\
                   dualpi2 = { target = \"4ms\", max_rtt = \"10ms\" }";
    let delay = |l4s: bool| {
        let run = outcome(&format!("transport = \"dctcp\"\nl4s = {l4s}"), dualpi2);
        assert!(run.marks > 10 && run.drops.data == 0, "{} marks", run.marks);
        run.queues.iter().map(|queue| queue.p50_bytes).max().unwrap()
    };
    // At 1 Gb/s the ramp of the L4S queue goes from 100 to 150 KB. ECT(0) is Classic, with a target of 500 KB.
    let (l4s, classic) = (delay(true), delay(false));
    assert!((50_000..=150_000).contains(&l4s), "{l4s} B");
    assert!(classic > 300_000, "{classic} B");
}

#[test]
fn what_a_discipline_drops_is_told_as_such() {
    let switch = "buffer = \"1MB\"\naqm = \"codel\"\ncodel = { target = \"100us\", interval = \"2ms\" }";
    let run = outcome(r#"transport = "cubic""#, switch);
    let aqm: Vec<_> = run.drops_by_cause.iter().filter(|drop| drop.cause == "aqm").collect();
    assert!(aqm.iter().all(|drop| drop.class == "data" && drop.packets > 0) && !aqm.is_empty());
    assert!(run.marks == 0, "CUBIC is not ECN-capable");
}

#[test]
fn marks_spare_drops_and_keep_the_queue_near_the_threshold() {
    let frame = Bytes::new(1538).get();
    for (scheme, rate) in [
        (r#"transport = "dctcp""#, 0.999),
        (r#"transport = "ecn-star""#, 0.998),
        ("transport = \"newreno\"\necn = \"classic\"", 0.9),
        ("transport = \"cubic\"\necn = \"classic\"", 0.98),
        ("transport = \"cubic\"\necn = \"classic\"\necn_gradual = false", 0.999),
        ("transport = \"newreno\"\necn = \"exact\"", 0.9),
    ] {
        let marked = outcome(scheme, ABOVE);
        assert!(marked.marks > 100 && marked.warnings.is_empty(), "{scheme}: {}", marked.marks);
        assert_eq!((marked.drops.data, marked.retransmits, marked.timeouts), (0, 0, 0), "{scheme}");
        // After slow start a packet of each flow goes beyond the threshold; in slow start a window of each.
        assert!(marked.max_queue_bytes < 80 * frame, "{scheme}: {}", marked.max_queue_bytes);
        assert!(marked.mean_queue_bytes < 28.0 * frame as f64, "{}", marked.mean_queue_bytes);
        let used = marked.windows[0].throughput_bps / (1e9 * 1500.0 / 1538.0);
        assert!(used > rate, "{scheme}: {used}");
        // The same without a threshold fills the buffer until it overflows.
        let unmarked = outcome(scheme, PLAIN);
        assert!(unmarked.marks == 0 && unmarked.drops.data > 0, "{scheme}");
        assert!(unmarked.mean_queue_bytes > marked.mean_queue_bytes, "{scheme}");
        assert_eq!(unmarked.warnings.len(), 1, "{:?}", unmarked.warnings);
        assert!(unmarked.warnings[0].contains("no switch on their way marks any"), "{:?}", unmarked.warnings);
    }
}

#[test]
fn who_does_not_understand_marks_is_dropped_or_delayed_as_ever() {
    for scheme in [r#"transport = "newreno""#, r#"transport = "cubic""#, r#"transport = "vegas""#] {
        let (marked, unmarked) = (outcome(scheme, ABOVE), outcome(scheme, PLAIN));
        assert_eq!((marked.marks, marked.drops.data), (0, unmarked.drops.data), "{scheme}");
        assert!(unmarked.warnings.is_empty());
    }
}

#[test]
fn ten_times_the_alpha_of_vegas_keeps_more_in_the_queue() {
    // By Linux's count flows with W packets in all, Q of them queued on a path of P, keep W Q / P above alpha each, so
    // Q (P + Q) / P is at least four times alpha. Those that come later take some of the queue for the path.
    let least = |alpha: f64| (f64::sqrt(PATH * PATH + 4.0 * 4.0 * alpha * PATH) - PATH) / 2.0;
    let queue = |scheme: &str| {
        let scheme = format!("transport = \"vegas\"\nstack = \"ns2\"\n{scheme}");
        let run = outcome(&scheme, "buffer = \"400pkt\"");
        assert_eq!(run.drops.data, 0, "{scheme}");
        run.mean_queue_bytes / 1538.0
    };
    let (one, ten) = (queue(""), queue("alpha = 20\nbeta = 40\ngamma = 10"));
    assert!(one >= least(2.0) && ten >= least(20.0), "{one} and {ten} frames");
    assert!(ten > 2.0 * one, "{one} and {ten} frames");
}
