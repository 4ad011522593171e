//! Congestion marks from the text of a scenario to the window: who understands them, what they spare, what is said
//! where nobody makes any.

use crate::support::{filled, outcome_of, study};
use shallop_control::any::Config as Window;
use shallop_control::{Marking, dctcp, reno, vegas};
use shallop_core::Bytes;
use shallop_plan::plan::{Tcp, Transport};
use shallop_proto::tcp::{Config, EcnConfig};
use shallop_results::summary::Run;
use shallop_scenario::{Options, read};

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

#[test]
fn transports_have_the_marks_that_their_papers_ask_for_and_others_where_they_are_told() {
    let (config, controller) = transport(r#"transport = "dctcp""#);
    assert_eq!((config.ecn, controller), (EcnConfig::EXACT, Window::Dctcp(dctcp::Config::LINUX_IDEAL)));
    let (config, controller) = transport(r#"transport = "ecn-star""#);
    assert_eq!((config.ecn, controller), (EcnConfig::CLASSIC, Window::Reno(reno::Config::LINUX_IDEAL)));
    let (config, controller) = transport(r#"transport = "vegas""#);
    assert_eq!(config.ecn.ecn, Marking::Off);
    assert_eq!(controller, Window::Vegas(vegas::Config::LINUX_IDEAL));
    let (config, _) = transport("transport = \"dctcp\"\necn_gradual = true");
    assert_eq!(config.ecn, EcnConfig { ecn_gradual: true, ..EcnConfig::EXACT });
    for (name, gradual) in [("dctcp", true), ("prague", false)] {
        let (config, _) = transport(&format!("transport = \"{name}\"\nstack = \"linux\""));
        assert_eq!(config.ecn.ecn_gradual, gradual, "{name}: kernel: tcp_enter_cwr");
    }
    let (config, _) = transport("transport = \"cubic\"\necn = \"classic\"");
    assert_eq!(config.ecn, EcnConfig { ecn_gradual: true, ..EcnConfig::CLASSIC }, "as in Linux");
    let (config, _) = transport("transport = \"ecn-star\"\necn = \"off\"");
    assert_eq!(config.ecn, EcnConfig::OFF);
    let (config, _) = transport("transport = \"dctcp\"\nl4s = true");
    assert_eq!(config.ecn, EcnConfig { l4s: true, ..EcnConfig::EXACT });
    let (config, _) = transport(r#"transport = "prague""#);
    assert_eq!(config.ecn, EcnConfig { l4s: true, ..EcnConfig::EXACT }, "ECT(1) by itself");
    let (config, _) = transport("transport = \"prague\"\nl4s = false\necn = \"classic\"");
    assert_eq!(config.ecn, EcnConfig::CLASSIC);
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
fn a_sender_that_does_not_echo_each_mark_cannot_be_l4s() {
    for ecn in ["off", "classic"] {
        let scheme = format!("transport = \"dctcp\"\nl4s = true\necn = \"{ecn}\"");
        let text = text(&scheme, PLAIN);
        let problem = read(&text, &Options::default()).unwrap_err();
        assert!(text[problem.span.clone().unwrap().start..].starts_with("true"), "{problem:?}");
        assert!(problem.message().contains("`l4s`") && problem.help.contains("\"exact\""));
        let prague = self::text(&format!("transport = \"prague\"\necn = \"{ecn}\""), PLAIN);
        let problem = read(&prague, &Options::default()).unwrap_err();
        assert!(prague[problem.span.clone().unwrap().start..].starts_with(&format!("\"{ecn}\"")), "{problem:?}");
        assert!(problem.help.contains("l4s = false"), "{problem:?}");
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
fn options_of_vegas_and_dctcp_arrive() {
    let (_, controller) =
        transport("transport = \"vegas\"\nname = \"vegas-10\"\nalpha = 20\nbeta = 40\ngamma = 10\nclock = \"exact\"");
    let Window::Vegas(config) = controller else { panic!("{controller:?}") };
    assert_eq!((config.alpha, config.beta, config.gamma), (20, 40, 10));
    assert_eq!(config.clock, vegas::Clock::Exact);
    let (_, controller) = transport("transport = \"dctcp\"\ngain = 0.00390625\nalpha_initial = 0.5\ndecrease = 0.3");
    let Window::Dctcp(config) = controller else { panic!("{controller:?}") };
    assert_eq!((config.gain.shift(), config.alpha_initial.units()), (8, 512));
    assert!((1.0 - config.loss.decrease - 0.7).abs() < 1e-12);
    let (_, controller) = transport("transport = \"dctcp\"\nstack = \"ns2\"");
    let Window::Dctcp(config) = controller else { panic!("{controller:?}") };
    assert_eq!((config.alpha_initial.units(), config.gain), (0, dctcp::Config::RFC.gain));
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
