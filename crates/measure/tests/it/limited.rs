//! Limits besides links and windows: what is explained of them, and how flows that last end.

use crate::conservation::accounted;
use crate::support::{outcome, study};
use shallop_scenario::explain;

const BURSTS: &str =
    include_str!("claims/losses_in_bursts_are_as_many_as_asked_for_in_the_direction_that_has_them.toml");
const LASTING: &str =
    include_str!("claims/a_flow_that_lasts_offers_data_for_that_long_and_tcp_delivers_all_of_it.toml");

/// What is explained under a title of a scenario.
fn explained(text: &str, title: &str) -> String {
    let sections = explain::explain(&study(text)).unwrap();
    let lines = sections.iter().filter(|section| section.title.starts_with(title)).flat_map(|section| &section.lines);
    lines.map(|line| format!("{} {}: {}", line.what, line.value, line.how)).collect::<Vec<_>>().join("\n")
}

#[test]
fn rates_losses_and_the_parameters_of_gemini_are_explained() {
    let text = include_str!("scenarios/explained.toml");
    let bursts = "bursts of losses of a>b 4 packets, 2 % of all: begin before 0.5102 % of packets that pass, end \
                  before 25.0000 %";
    // The longest base round trip is 10 ms; C = 10 Gb/s is the hosts' rate unless `capacity` is written.
    for (text, title, expected) in [
        (BURSTS, "network", bursts),
        (text, "scheme udp", "datagrams per second of a flow 67771.1: 90Mbps / (8 × 166 B)"),
        (text, "scheme gemini", "K 50 frames per Gb/s: advice: 50; as advised"),
        (text, "scheme gemini", "F 0.23"),
        (text, "scheme gemini", "T 5.000 ms"),
        (text, "scheme gemini", "= 0.33"),
        (text, "scheme gemini", "increase 1.20 segments"),
        (text, "scheme short", "too short"),
        (text, "scheme large", "too large"),
    ] {
        let explained = explained(text, title);
        assert!(explained.contains(expected), "{title}: {expected}: {explained}");
    }
}

#[test]
fn a_flow_that_lasts_a_second_is_complete_when_its_last_byte_is_acknowledged() {
    let study = study(&LASTING.replace(r#"lasts = "500ms", start = "200ms""#, r#"lasts = "1s""#));
    for point in study.points.iter().filter(|point| point.name != "writes") {
        let outcome = outcome(&point.plan, 0, 1);
        let ends: Vec<f64> = outcome.flows.iter().map(|flow| flow.fct_s.unwrap()).collect();
        // Up to 500 KB wait at 1 Gb/s (4 ms), a way takes 5 ms, and a loss at the end costs a few round trips.
        assert!(ends.len() == 4 && ends.iter().all(|end| (1.005..1.3).contains(end)), "{}: {ends:?}", point.name);
        assert!(outcome.run.windows[0].throughput_bps < 1e8, "{}: {:?}", point.name, outcome.run.windows);
    }
}

#[test]
fn a_flow_completes_after_a_burst_of_losses_that_its_timeouts_meet_alone() {
    let study = study(
        r#"title = "bursts of losses"
duration = "1s"
topology = { kind = "graph", node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }],
    link = [{ between = ["a", "b"], rate = "1Gbps", delay = "1ms", loss = [0.0, 0.3], loss_burst = [1, 6] }] }
group = [{ name = "g", from = "a", to = "b", size = "20KB" }]
scheme = [{ transport = "newreno" }]
"#,
    );
    // Some of the flows have more than 30 timeouts.
    for seed in 0..600 {
        accounted(&study.points[0].plan, seed, &[]).unwrap();
    }
}
