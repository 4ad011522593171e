//! Congestion marks and options of controllers from the text of a scenario to the window.

use crate::support::{filled, outcome_of, study};
use shallop_control::any::Config as Window;
use shallop_plan::plan::{Tcp, Transport};
use shallop_proto::tcp::Config;
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

/// Room for 100 frames.
const PLAIN: &str = r#"buffer = "100pkt""#;

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
        "gemini",
        "gemini, name = \"written\", capacity = \"10Gbps\", k = \"20pkt\", delay_threshold = \"8ms\", decrease = 0.3, \
         increase = 1e-7, alpha_gain = 0.25, rtt_noise = \"200us\", dcn = false, wan = false, recount = false, \
         ecn = \"off\"",
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
        let marks = [&low, &high].map(|switch| outcome_of(&text(&scheme, switch)).run.marks);
        assert_eq!(marks[0] != marks[1], depends, "{scheme}: {marks:?}");
    }
}
