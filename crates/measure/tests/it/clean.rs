//! CLEAN on a campus path: what a burst does with and without, and what a scenario may say of it.

use crate::support::{self, study};
use shallop_measure::outcome::Outcome;

/// One flow, and twenty more after half a second.
const CAMPUS: &str = include_str!("scenarios/campus.toml");

fn outcome(text: &str, scheme: usize) -> Outcome {
    support::outcome(&study(text).points[0].plan, scheme, 1)
}

#[test]
fn a_burst_costs_newreno_packets_and_clean_neither_packets_nor_time() {
    let [cubic, newreno, clean] = [0, 1, 2].map(|scheme| outcome(CAMPUS, scheme).run);
    assert!(newreno.drops.data > 1_000, "{:?}", newreno.drops);
    assert!(cubic.max_queue_bytes > 6_000_000, "{}", cubic.max_queue_bytes);
    assert!(clean.max_queue_bytes < cubic.max_queue_bytes / 10, "{}", clean.max_queue_bytes);
    assert_eq!((clean.drops.data, clean.retransmits, clean.timeouts), (0, 0, 0));
    // Senders that know nothing of marks: what was marked was marked for the proxy.
    assert!(clean.marks > 0 && cubic.marks == 0);
    let carried = clean.windows[1].throughput_bps;
    assert!(carried > 810e6, "{carried}: 850 Mb/s are 829 at IP");
    let late = |run: &shallop_results::summary::Run| run.rtt.p99_s.unwrap();
    assert!(late(&clean) < late(&cubic) * 0.25, "{} and {}", late(&clean), late(&cubic));
}

#[test]
fn frames_with_their_overhead_carry_what_a_plain_radio_of_850_mbps_does() {
    let framed =
        CAMPUS.replace("stations = 21", "stations = 21\nradio_rate = \"1201Mbps\"\nradio_overhead = \"178us\"");
    let [plain, framed] = [CAMPUS, &framed].map(|text| outcome(text, 2).run);
    let rate = |run: &shallop_results::summary::Run| run.windows[1].throughput_bps;
    let ratio = rate(&framed) / rate(&plain);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert_eq!(framed.drops.data, 0);
}

#[test]
fn the_proxy_stands_where_it_is_told_in_other_networks() {
    let text = include_str!("scenarios/proxy_by_hand.toml");
    let [bare, clean] = [0, 1].map(|scheme| outcome(text, scheme).run);
    assert_eq!((bare.marks, clean.drops.data), (0, 0));
    assert!(clean.marks > 0);
    assert!(clean.max_queue_bytes * 3 < bare.max_queue_bytes, "{}", clean.max_queue_bytes);
}

#[test]
fn sets_of_links_stand_for_their_ports() {
    let text = include_str!("scenarios/proxy_by_sets.toml");
    let study = study(text);
    let [sets, ports] = [0, 1].map(|scheme| {
        let clean = study.points[0].plan.schemes[scheme].clean.clone().unwrap();
        let sorted = |ports: Vec<u32>| ports.into_iter().collect::<std::collections::BTreeSet<_>>();
        (sorted(clean.edges), sorted(clean.last_hop))
    });
    assert_eq!(sets, ports);
}

#[test]
fn the_preset_of_the_paper_gives_way_to_keys() {
    for (with, validate) in
        [("", true), ("preset = \"clean-paper\"", false), ("preset = \"clean-paper\", validate = true", true)]
    {
        let schemes = &study(&CAMPUS.replace("decrease = \"alpha\"", with)).points[0].plan.schemes;
        assert_eq!(schemes[2].clean.as_ref().unwrap().config.validate, validate, "{with}");
    }
}
