//! Hosts whose packets all take exactly as long keep in step with a full queue: some flows always find it full, others
//! never do (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1991). A frame's worth of
//! jitter, as they recommend, ends that.

use crate::support::{self, filled, outcome_of, study};
use shallop_measure::Outcome;

/// Four near flows and four far ones behind one link of 1 Gb/s: the first point of gm-fig3.12.
fn outcome(jitter: &str) -> Outcome {
    let text = filled(include_str!("scenarios/lockstep.toml"), &[("jitter", jitter)]);
    outcome_of(&text)
}

fn share_of_the_near(outcome: &Outcome) -> f64 {
    let [near, far] =
        ["near", "far"].map(|name| outcome.run.groups.iter().find(|group| group.name == name).unwrap().goodput_bps);
    near / (near + far)
}

#[test]
fn jitter_of_a_frame_ends_lockstep() {
    let frame = outcome("12.3us");
    assert!(share_of_the_near(&frame) > 0.4, "{}", share_of_the_near(&frame));
    assert_eq!(frame.run.timeouts, 0);
    let none = outcome("0s");
    assert!(share_of_the_near(&none) < 0.2, "{}", share_of_the_near(&none));
    assert!(none.run.timeouts > 50, "{}", none.run.timeouts);
}

/// Jain's index from the first second on of twenty equal flows of CUBIC that start together, behind 10 Gb/s and 200 KB,
/// where the scenario does not name `nic_jitter`.
fn jain_by_default(delay: &str, duration: &str, seed: u64) -> f64 {
    let text = filled(include_str!("scenarios/twenty_flows.toml"), &[("delay", delay), ("duration", duration)]);
    support::outcome(&study(&text).points[0].plan, 0, seed).run.windows[0].jain.unwrap()
}

#[test]
#[ignore = "long: ten runs of twenty flows at 10 Gb/s"]
fn equal_flows_that_start_together_share_by_default() {
    for (delay, duration) in [("100us", "2s"), ("20ms", "5s")] {
        for seed in 1..=5 {
            let jain = jain_by_default(delay, duration, seed);
            assert!(jain > 0.5, "one-way delay {delay}, seed {seed}: {jain}");
        }
    }
}
