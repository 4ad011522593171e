//! Links whose directions differ: known answers by arithmetic.

use crate::support::{filled, outcome_of};
use shallop_results::Run;

/// A flow from `a` to `b` over one link with these properties.
fn over(link: &str, scheme: &str) -> Run {
    let text = filled(include_str!("scenarios/two_directions.toml"), &[("link", link), ("scheme", scheme)]);
    outcome_of(&text).run
}

const CUBIC: &str = r#"transport = "cubic", stack = "linux-ideal", ack_every = 1"#;

#[test]
fn each_direction_has_its_rate_and_its_delay() {
    let run = over(r#"rate = ["100Mbps", "10Mbps"], delay = ["3ms", "17ms"]"#, CUBIC);
    let rate = |place: &str| run.links.iter().find(|link| link.place == place).unwrap().rate_bps;
    assert_eq!((rate("x>y"), rate("y>x")), (100_000_000, 10_000_000));
    assert!(run.rtt.mean_s.unwrap() > 0.020, "{:?}", run.rtt);
    let fast = over(r#"rate = "1Gbps", delay = ["3ms", "17ms"]"#, r#"transport = "udp", rate = "1Mbps""#);
    let slow = over(r#"rate = "1Gbps", delay = ["17ms", "3ms"]"#, r#"transport = "udp", rate = "1Mbps""#);
    let first = |run: &Run| run.goodput_bps * run.duration_s / 8.0;
    // 14 ms of 1 Mb/s more are on the way at the end: one packet.
    assert!((first(&fast) - first(&slow) - 1_472.0).abs() < 1_473.0, "{} and {}", first(&fast), first(&slow));
}

#[test]
fn acknowledgements_limit_a_flow_whose_way_back_is_slow() {
    // A bare acknowledgement takes 84 bytes on the wire (64 of Ethernet, 20 of preamble and gap), and acknowledges one
    // segment: 100 kb/s carry 148.8 of them a second.
    let run = over(r#"rate = ["100Mbps", "100Kbps"], delay = "1ms""#, CUBIC);
    let acks = 100e3 / (8.0 * 84.0);
    let window = &run.windows[0];
    let segments = window.throughput_bps / (8.0 * 1_500.0);
    assert!((segments / acks - 1.0).abs() < 0.05, "{segments} segments and {acks} acknowledgements a second");
}

#[test]
fn loss_and_changes_of_one_direction_leave_the_other_alone() {
    let udp = r#"transport = "udp", rate = "9Mbps""#;
    let run = over(r#"rate = "10Mbps", delay = "1ms", loss = [0.1, 0]"#, udp);
    assert!((run.loss_by_place["x>y"] - 0.1).abs() < 0.02, "{:?}", run.loss_by_place);
    let back = over(r#"rate = "10Mbps", delay = "1ms", loss = [0, 0.1]"#, udp);
    assert!(!back.loss_by_place.contains_key("x>y"));
    let udp = r#"transport = "udp""#;
    let slower = r#"rate = "10Mbps", delay = "1ms", changes = [{ at = "2s", rate = ["5Mbps", "10Mbps"] }]"#;
    let half = over(slower, udp).windows[0].throughput_bps;
    assert!((4.6e6..5e6).contains(&half), "{half}");
    let whole =
        over(&slower.replace(r#"["5Mbps", "10Mbps"]"#, r#"["10Mbps", "5Mbps"]"#), udp).windows[0].throughput_bps;
    assert!((9.2e6..10e6).contains(&whole), "{whole}");
}

#[test]
fn a_link_with_rate_zero_is_down_until_its_rate_changes() {
    let link =
        r#"rate = "10Mbps", delay = "1ms", changes = [{ at = "2s", rate = "0" }, { at = "3s", rate = "10Mbps" }]"#;
    let run = over(link, r#"transport = "udp""#);
    let whole = run.windows[0].throughput_bps;
    assert!((4.6e6..5.1e6).contains(&whole), "half of the window: {whole}");
}
