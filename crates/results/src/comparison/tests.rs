//! Comparisons of invented results.

use super::*;
use crate::summary::{Completion, Fct, Rtt};
use crate::{design::Point, paired::Finding, reuse::Reuse};
use serde_json::{Value, json};

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

fn of_schemes<'a>(one: &'a str, other: &'a str) -> Selection<'a> {
    Selection { schemes: Some((one, other)), ..Selection::default() }
}

fn of_points<'a>(one: &'a str, other: &'a str) -> Selection<'a> {
    Selection { points: Some((one, other)), ..Selection::default() }
}

/// 10 ms with much chance, which seeds share.
fn before(_: &str, seed: u64) -> f64 {
    10.0 + 5.0 * seed as f64
}

/// Three runs of CUBIC at each of these points. A point has a name and the values of its keys.
fn with_points(points: impl Iterator<Item = (String, BTreeMap<String, Value>)>) -> Summary {
    let mut all = summary(&["cubic"], 3, before);
    let runs = std::mem::take(&mut all.runs);
    all.points.clear();
    for (name, set) in points {
        all.runs.extend(runs.iter().map(|run| Run { point: set.clone(), ..run.clone() }));
        all.points.push(Point { name, set, schemes: vec!["cubic".to_owned()] });
    }
    all
}

#[test]
fn the_sentence_names_what_differs_by_how_much() {
    let a = summary(&["cubic", "dctcp"], 4, before);
    let after =
        |scheme: &str, seed: u64| before(scheme, seed) * if scheme == "dctcp" { 0.7 - 0.01 * seed as f64 } else { 1.0 };
    let found = compare(&a, &summary(&["cubic", "dctcp"], 4, after), Selection::default()).unwrap();
    assert!(found.finding.starts_with("dctcp: completion time p99 of small flows 33 % shorter ("), "{}", found.finding);
    assert_eq!((found.pairs.len(), found.unpaired.len()), (2, 0));
    let cubic = &found.pairs[0].metrics["fct.small.p99_s"];
    assert_eq!((cubic.finding, cubic.difference), (Finding::Equal, 0.0));
    let (grid, lines) = found.table();
    assert!(grid.rows.len() <= MAX_ROWS && lines[0].contains("paired by seed"), "{lines:?}");
}

#[test]
fn two_schemes_of_one_folder_are_compared_by_name() {
    let gain =
        |scheme: &str, seed: u64| before(scheme, seed) + if scheme == "dctcp" { 1.0 + 0.01 * seed as f64 } else { 0.0 };
    let all = summary(&["cubic", "dctcp"], 3, gain);
    let found = compare(&all, &all, of_schemes("cubic", "dctcp")).unwrap();
    let pair = &found.pairs[0];
    assert_eq!((pair.a.as_str(), pair.b.as_str(), pair.seeds.len()), ("cubic", "dctcp", 3));
    assert_eq!(pair.metrics["fct.small.p99_s"].finding, Finding::Significant);
    let why = compare(&all, &all, of_schemes("cubic", "bbr")).unwrap_err();
    assert!(why.contains("\"bbr\"") && why.contains("cubic, dctcp"), "{why}");
}

#[test]
fn what_cannot_be_paired_is_said() {
    let (a, b) = (summary(&["cubic", "bbr"], 5, before), summary(&["cubic", "copa"], 3, before));
    let found = compare(&a, &b, Selection::default()).unwrap();
    assert_eq!(found.pairs[0].seeds, [1, 2, 3]);
    let said = found.unpaired.join("\n");
    for part in ["first has scheme bbr", "second has scheme copa", "only one of them has: 4, 5"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let none = compare(&summary(&["bbr"], 3, before), &b, Selection::default()).unwrap_err();
    assert!(none.contains("no scheme is in both"), "{none}");
    let mut other = b.clone();
    other.runs.iter_mut().for_each(|run| run.seed += 100);
    let none = compare(&b, &other, Selection::default()).unwrap_err();
    assert!(none.contains("seed"), "{none}");
}

#[test]
fn points_are_paired_by_their_keys() {
    let at = |loads: &[f64]| {
        let set = |load: &f64| (format!("load={load}"), BTreeMap::from([("load".to_owned(), json!(load))]));
        with_points(loads.iter().map(set))
    };
    let found = compare(&at(&[0.2, 0.4, 0.6]), &at(&[0.6, 0.4, 0.8]), Selection::default()).unwrap();
    let points: Vec<&str> = found.pairs.iter().map(|pair| pair.point.as_str()).collect();
    assert_eq!(points, ["load=0.4", "load=0.6"]);
    assert!(found.unpaired[0].contains("load=0.2") && found.unpaired[1].contains("load=0.8"));
    assert!(compare(&at(&[0.2, 0.4]), &at(&[0.6, 0.8]), Selection::default()).is_err());
}

#[test]
fn few_seeds_and_equal_runs_are_not_called_differences() {
    let worse = |scheme: &str, seed: u64| before(scheme, seed) * 2.0;
    let (a, b) = (summary(&["cubic"], 2, before), summary(&["cubic"], 2, worse));
    let found = compare(&a, &b, Selection::default()).unwrap();
    assert_eq!(
        found.finding,
        "Fewer than three seeds are in both, which decide nothing. Estimates: cubic: completion time p99 of small \
         flows 100 % longer."
    );
    let (grid, lines) = found.table();
    let tail = grid.rows.iter().find(|row| row[1].starts_with("completion")).unwrap();
    assert_eq!(tail[4..], ["17.50", "+100.0", "-", "too few seeds"].map(str::to_owned));
    assert!(lines.join(" ").contains("of which none can be told from chance"), "{lines:?}");
    assert!(compare(&a, &a, Selection::default()).unwrap().finding.contains("equal"));
}

/// A sweep of buffers and senders; a larger buffer and more senders make the tail longer.
fn swept(buffers: &[u64], senders: &[u64]) -> Summary {
    let all = buffers.iter().flat_map(|buffer| senders.iter().map(move |it| (buffer, it)));
    let mut swept = with_points(all.clone().map(|(buffer, senders)| {
        let name = format!("switch.default.buffer={buffer}KB, topology.senders={senders}");
        let buffer = ("switch.default.buffer".to_owned(), json!(format!("{buffer}KB")));
        (name, BTreeMap::from([buffer, ("topology.senders".to_owned(), json!(senders))]))
    }));
    for (run, (buffer, senders)) in swept.runs.iter_mut().zip(all.flat_map(|point| [point; 3])) {
        let small = run.fct.small.as_mut().unwrap();
        small.p99_s = small.p99_s.map(|p99| p99 * (1.0 + 0.01 * (buffer * senders) as f64));
    }
    swept
}

#[test]
fn two_points_of_one_sweep_are_compared() {
    let all = swept(&[20, 200], &[2, 9]);
    let found = compare(&all, &all, of_points("buffer=20KB", "buffer=200KB")).unwrap();
    let points: Vec<&str> = found.pairs.iter().map(|pair| pair.point.as_str()).collect();
    assert_eq!(points, ["topology.senders=2", "topology.senders=9"], "equal in the other key");
    assert_eq!(found.points, Some(["buffer=20KB".to_owned(), "buffer=200KB".to_owned()]));
    let tail = &found.pairs[0].metrics["fct.small.p99_s"];
    assert!((tail.b / tail.a - 5.0 / 1.4).abs() < 1e-9, "{tail:?}");
    let whole = "switch.default.buffer=20KB, topology.senders=2";
    for one in [whole, "buffer=20KB topology.senders=2.0"] {
        let found = compare(&all, &all, of_points(one, "buffer=200KB, senders=9")).unwrap();
        assert_eq!((found.pairs.len(), found.pairs[0].point.as_str()), (1, ""), "{one}");
    }
    for (one, other, word) in [
        ("buffer=30KB", "buffer=200KB", "no point \"buffer=30KB\" in the first results: they have switch.def"),
        ("buffer=20KB", "low", "no point \"low\" in the second"),
        ("colour=red", "buffer=20KB", "no point \"colour=red\""),
        ("buffer=20KB", "", "no point \"\""),
        (whole, "buffer=200KB", "names several points"),
    ] {
        let why = compare(&all, &all, of_points(one, other)).unwrap_err();
        assert!(why.contains(word), "{one}: {why}");
    }
    let part = swept(&[200], &[9, 20]);
    let found = compare(&all, &part, of_points("buffer=20KB", "buffer=200KB")).unwrap();
    assert_eq!((found.pairs.len(), found.unpaired.len()), (1, 2), "{:?}", found.unpaired);
    let alone = compare(&summary(&["cubic"], 3, before), &all, of_points("a=1", "a=2")).unwrap_err();
    assert!(alone.contains("one point only"), "{alone}");
}

#[test]
fn runs_that_stand_for_several_points_are_one_comparison() {
    let mut a = swept(&[20], &[2, 9]);
    // Both points have the runs of the first, as runs that do not depend on a key have.
    let first = a.runs[..3].to_vec();
    for (run, same) in a.runs[3..].iter_mut().zip(first) {
        *run = Run { point: run.point.clone(), ..same };
    }
    let mut b = a.clone();
    for run in &mut b.runs {
        let small = run.fct.small.as_mut().unwrap();
        small.p99_s = small.p99_s.map(|p99| p99 * (1.2 + 0.01 * run.seed as f64));
    }
    let lines = |found: &Comparison| found.table().1.join("\n");
    let apart = compare(&a, &b, Selection::default()).unwrap();
    assert!(lines(&apart).contains("\n2 differences have one; "), "{}", lines(&apart));
    b.reused.push(Reuse { scheme: "cubic".to_owned(), runs: 3, ..Reuse::default() });
    let found = compare(&a, &b, Selection::default()).unwrap();
    assert_eq!((found.pairs.len(), found.pairs[0].same_as, found.pairs[1].same_as), (2, None, Some(0)));
    assert!(lines(&found).contains("\n1 differences have one; "), "{}", lines(&found));
    assert!(lines(&found).contains("1 of 2 pairs are made of the same runs"), "{}", lines(&found));
    let points = found.table().0.rows.into_iter().map(|row| row[0].clone());
    assert_eq!(points.collect::<BTreeSet<_>>().len(), 1, "shown once");
}

#[test]
fn estimates_of_few_seeds_have_rows_in_a_long_table() {
    let schemes = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let a = summary(&schemes, 1, before);
    let mut b = summary(&schemes, 1, |scheme, seed| 2.0 * before(scheme, seed));
    for run in &mut b.runs {
        (run.throughput_bps, run.retransmits) = (2e9, 7);
    }
    let (grid, lines) = compare(&a, &b, Selection::default()).unwrap().table();
    assert!(grid.rows.len() > 8 && grid.rows.len() <= MAX_ROWS, "{lines:?}");
    assert_eq!(grid.rows[0][1], "completion time p99 of small flows, ms", "what it is about");
}

#[test]
fn completion_times_come_before_larger_differences_and_stragglers_decide_nothing() {
    let mut a = summary(&["cubic"], 3, before);
    let mut b = summary(&["cubic"], 3, |scheme, seed| 1.2 * before(scheme, seed));
    a.runs.iter_mut().for_each(|run| run.timeouts = 1);
    for run in &mut b.runs {
        (run.throughput_bps, run.timeouts) = (1e7 * run.seed as f64, 100);
    }
    let found = compare(&a, &b, Selection::default()).unwrap();
    assert!(
        found.finding.starts_with("cubic: completion time p99 of small flows 20 % longer")
            && found.finding.contains("; cubic: timeouts")
            && !found.finding.contains("throughput"),
        "{}",
        found.finding
    );
}

#[test]
fn differences_that_read_as_nothing_are_no_finding() {
    let a = summary(&["cubic"], 3, before);
    let tiny = summary(&["cubic"], 3, |scheme, seed| before(scheme, seed) * (1.0 - 1e-4) - 1e-6 * seed as f64);
    let found = compare(&a, &tiny, Selection::default()).unwrap();
    assert_eq!(found.pairs[0].metrics["fct.small.p99_s"].finding, Finding::Significant);
    assert!(found.finding.starts_with("No significant difference of 0.1 % or more"), "{}", found.finding);
    let row = |row: &Vec<String>| row[1].starts_with("completion").then(|| row[5].clone());
    assert_eq!(found.table().0.rows.iter().find_map(row).as_deref(), Some("0.0"), "not -0.0");
}

#[test]
fn differences_that_are_alike_are_one_sentence() {
    let schemes = ["bbr", "copa", "cubic", "dctcp"];
    let mut a = summary(&schemes, 3, before);
    let mut b = summary(&schemes, 3, |scheme, seed| before(scheme, seed) * if scheme == "bbr" { 1.3 } else { 1.5 });
    let trips = |of: f64| Rtt { mean_s: Some(of), p99_s: Some(2.0 * of), ..Rtt::default() };
    a.runs.iter_mut().for_each(|run| run.rtt = trips(0.010));
    b.runs.iter_mut().for_each(|run| run.rtt = trips(0.011));
    a.runs.iter_mut().for_each(|run| run.loss_rate = if run.scheme == "bbr" { 0.0 } else { 0.1 });
    b.runs.iter_mut().for_each(|run| run.loss_rate = 0.1);
    let found = compare(&a, &b, Selection::default()).unwrap();
    assert_eq!(
        found.finding,
        "bbr, copa, cubic and 1 more: completion time p99 of small flows 30 to 50 % longer; \
         bbr, copa, cubic and 1 more: mean round trip and round trip p99 10 % longer; bbr: loss 10.00 % instead of 0."
    );
}
