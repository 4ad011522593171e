//! Runs that end at their last completion, and links that carry no more than they can: known answers by arithmetic.

#![allow(clippy::float_cmp, reason = "values that are one value are equal to the last digit")]

use crate::support::{filled, outcome_of as outcome};
use shallop_measure::Outcome;

/// One transfer of 1 MB over 10 Gb/s and 20 us of round trip.
fn transfer(transport: &str, sample: &str) -> Outcome {
    outcome(&filled(include_str!("scenarios/one_transfer.toml"), &[("transport", transport), ("sample", sample)]))
}

#[test]
fn a_run_ends_at_its_last_completion_whatever_the_interval_of_the_series() {
    for (transport, gbps) in [("dctcp", 8.3), ("udp", 9.4)] {
        let (fine, coarse) = (transfer(transport, "1us"), transfer(transport, "10ms"));
        assert_eq!(coarse.run, fine.run, "{transport}");
        let row = &coarse.flows[0];
        assert_eq!(coarse.run.duration_s, row.start_s + row.fct_s.unwrap(), "{transport}");
        let goodput = coarse.run.goodput_bps / 1e9;
        assert!((goodput - gbps).abs() < 0.05, "{transport}: {goodput} Gb/s");
        assert!((coarse.run.goodput_bps - 8e6 / coarse.run.duration_s).abs() < 1.0, "{transport}");
    }
}

#[test]
fn windows_and_series_end_with_the_run() {
    let Outcome { run, series, .. } = transfer("udp", "10ms");
    let [first, second] = &run.windows[..] else { panic!("{:?}", run.windows) };
    assert_eq!((first.from_s, first.to_s), (0.0001, 0.0003));
    assert!((9.3e9..9.9e9).contains(&first.throughput_bps), "{}", first.throughput_bps);
    assert_eq!(second.to_s, run.duration_s, "the window ends with the run");
    assert!((9.3e9..9.9e9).contains(&second.throughput_bps), "{}", second.throughput_bps);
    // One row, at the end of the run: the mean rate of all of it.
    let last = series.samples.last().unwrap();
    assert_eq!(last.time.as_secs_f64(), run.duration_s);
    assert!((last.value - run.throughput_bps).abs() < 1.0, "{} and {}", last.value, run.throughput_bps);
}

#[test]
fn parallel_links_have_a_name_each() {
    let sides = || (0..8).flat_map(|number| [("s", "A", number), ("r", "B", number)]);
    let hosts: Vec<_> =
        sides().map(|(side, _, number)| format!(r#"{{ name = "{side}{number}", kind = "host" }}"#)).collect();
    let links: Vec<_> = sides()
        .map(|(side, at, number)| {
            format!(r#"{{ between = ["{side}{number}", "{at}"], rate = "1Gbps", delay = "10us" }}"#)
        })
        .collect();
    let names = |side: &str| (0..8).map(|number| format!("\"{side}{number}\"")).collect::<Vec<_>>().join(", ");
    let (hosts, links) = (hosts.join(", "), links.join(",\n    "));
    let Outcome { run, series, .. } = outcome(&filled(
        include_str!("scenarios/bundle_of_three.toml"),
        &[("from", &names("s")), ("to", &names("r")), ("hosts", &hosts), ("links", &links)],
    ));
    let mut names: Vec<&str> = run.links.iter().map(|link| link.place.as_str()).collect();
    names.retain(|name| name.starts_with("A>B"));
    names.sort_unstable();
    assert_eq!(names, ["A>B#1", "A>B#2", "A>B#3"]);
    let members = || run.links.iter().filter(|link| link.place.starts_with("A>B"));
    let all: Vec<f64> = members().map(|link| link.utilization).collect();
    for link in members() {
        assert_eq!(run.utilization_by_place[&link.place], link.utilization);
        let bundle = link.bundle_utilization.unwrap();
        assert!((bundle - all.iter().sum::<f64>() / 3.0).abs() < 1e-9, "{bundle} of {all:?}");
        assert_eq!(run.loss_by_place.get(&link.place).copied().unwrap_or(0.0), link.loss_rate);
        assert!(series.places.contains(&format!("{} data", link.place)), "{:?}", series.places);
    }
}
