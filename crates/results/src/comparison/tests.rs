//! Comparisons of invented results.

use super::*;
use crate::design::Point;
use crate::summary::{Completion, Fct};

/// Results of schemes with seeds 1 to `seeds`; the 99th percentile of small flows is `p99_ms` of scheme and seed.
fn summary(schemes: &[&str], seeds: u64, p99_ms: impl Fn(&str, u64) -> f64) -> Summary {
    let run = |scheme: &str, seed: u64| {
        let p99 = p99_ms(scheme, seed) * 1e-3;
        let small = Completion { count: 100, p99_s: Some(p99), ..Completion::default() };
        let fct = Fct { small: Some(small), ..Fct::default() };
        Run { scheme: scheme.to_owned(), seed, throughput_bps: 1e9, fct, ..Run::default() }
    };
    let runs = schemes.iter().flat_map(|scheme| (1..=seeds).map(|seed| run(scheme, seed)));
    let schemes = schemes.iter().map(|scheme| (*scheme).to_owned()).collect();
    let points = vec![Point { schemes, ..Point::default() }];
    Summary { runs: runs.collect(), points, ..Summary::default() }
}

/// 10 ms with much chance, which seeds share.
fn before(_: &str, seed: u64) -> f64 {
    10.0 + 5.0 * seed as f64
}

#[test]
fn the_sentence_names_what_differs_by_how_much() {
    let a = summary(&["cubic", "dctcp"], 4, before);
    let after = |scheme: &str, seed: u64| {
        before(scheme, seed) * if scheme == "dctcp" { 0.7 - 0.01 * seed as f64 } else { 1.0 }
    };
    let found = compare(&a, &summary(&["cubic", "dctcp"], 4, after), None).unwrap();
    assert!(
        found.finding.starts_with("dctcp: completion time p99 of small flows 33 % shorter ("),
        "{}",
        found.finding
    );
    assert_eq!((found.pairs.len(), found.unpaired.len()), (2, 0));
    let cubic = &found.pairs[0].metrics["fct.small.p99_s"];
    assert_eq!((cubic.finding, cubic.difference), (Finding::Equal, 0.0));
    let (grid, lines) = found.table();
    assert!(grid.rows.len() <= MAX_ROWS && lines[0].contains("paired by seed"), "{lines:?}");
}

#[test]
fn two_schemes_of_one_folder_are_compared_by_name() {
    let gain = |scheme: &str, seed: u64| {
        before(scheme, seed) + if scheme == "dctcp" { 1.0 + 0.01 * seed as f64 } else { 0.0 }
    };
    let all = summary(&["cubic", "dctcp"], 3, gain);
    let found = compare(&all, &all, Some(("cubic", "dctcp"))).unwrap();
    let pair = &found.pairs[0];
    assert_eq!((pair.a.as_str(), pair.b.as_str(), pair.seeds.len()), ("cubic", "dctcp", 3));
    assert_eq!(pair.metrics["fct.small.p99_s"].finding, Finding::Significant);
    let why = compare(&all, &all, Some(("cubic", "bbr"))).unwrap_err();
    assert!(why.contains("\"bbr\"") && why.contains("cubic, dctcp"), "{why}");
}

#[test]
fn what_cannot_be_paired_is_said() {
    let (a, b) = (summary(&["cubic", "bbr"], 5, before), summary(&["cubic", "copa"], 3, before));
    let found = compare(&a, &b, None).unwrap();
    assert_eq!(found.pairs[0].seeds, [1, 2, 3]);
    let said = found.unpaired.join("\n");
    for part in ["first has scheme bbr", "second has scheme copa", "only one of them has: 4, 5"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let none = compare(&summary(&["bbr"], 3, before), &b, None).unwrap_err();
    assert!(none.contains("no scheme is in both"), "{none}");
    let mut other = b.clone();
    other.runs.iter_mut().for_each(|run| run.seed += 100);
    let none = compare(&b, &other, None).unwrap_err();
    assert!(none.contains("seed"), "{none}");
}

#[test]
fn points_are_paired_by_their_keys() {
    let at = |loads: &[f64]| {
        let mut all = summary(&["cubic"], 3, before);
        let runs = std::mem::take(&mut all.runs);
        all.points.clear();
        for load in loads {
            let set = BTreeMap::from([("load".to_owned(), serde_json::json!(load))]);
            let name = format!("load={load}");
            all.points.push(Point { name, set: set.clone(), schemes: vec!["cubic".to_owned()] });
            all.runs.extend(runs.iter().map(|run| Run { point: set.clone(), ..run.clone() }));
        }
        all
    };
    let found = compare(&at(&[0.2, 0.4, 0.6]), &at(&[0.6, 0.4, 0.8]), None).unwrap();
    let points: Vec<&str> = found.pairs.iter().map(|pair| pair.point.as_str()).collect();
    assert_eq!(points, ["load=0.4", "load=0.6"]);
    assert!(found.unpaired[0].contains("load=0.2") && found.unpaired[1].contains("load=0.8"));
    assert!(compare(&at(&[0.2, 0.4]), &at(&[0.6, 0.8]), None).is_err());
}

#[test]
fn few_seeds_and_equal_runs_are_not_called_differences() {
    let worse = |scheme: &str, seed: u64| before(scheme, seed) * 2.0;
    let (a, b) = (summary(&["cubic"], 2, before), summary(&["cubic"], 2, worse));
    assert!(compare(&a, &b, None).unwrap().finding.contains("Fewer than three seeds"));
    assert!(compare(&a, &a, None).unwrap().finding.contains("equal"));
}
