//! The fit of the bounds of rehearsals to runs of kernels in virtual time, half of which had lateness on purpose
//! (`data/late_hosts.csv`). Run this test to get new factors after the rows have changed.

use shallop_results::rehearsal_bound::{self, CAUSES, FACTORS, LEAST_HEADROOM, NetworkTimes, SPREADS, causes, spreads};
use shallop_results::summary::{RehearsalOfRun, Run};
use std::collections::BTreeMap;

const ROWS: &str = include_str!("../../data/late_hosts.csv");
/// The part of the runs for which the bounds hold.
const COVERED: f64 = 0.98;
const TERMS: usize = CAUSES + SPREADS;

/// Rehearsals beside kernels in virtual time: of twelve networks, from which the other differences of hosts are fitted,
/// of others to check the intervals, and of twenty that were drawn and run once after everything was fixed.
const REHEARSED: &str = include_str!("../../data/rehearsed.csv");

type Row = BTreeMap<&'static str, &'static str>;

/// A run with lateness beside the mean of the runs of its network without.
#[derive(Clone, Copy)]
struct Sample {
    network: u64,
    /// The logarithms of the ratios of goodput, loss and mean queue, without sign.
    moved: [f64; 3],
    terms: [f64; TERMS],
    headroom: f64,
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn rehearsal(row: &Row) -> RehearsalOfRun {
    RehearsalOfRun {
        lateness_mean_s: number(row, "lateness_mean_s"),
        lateness_rms_s: number(row, "lateness_rms_s"),
        response_mean_s: number(row, "response_mean_s"),
        response_rms_s: number(row, "response_rms_s"),
        stood_still_s: number(row, "stood_still_s"),
        longest_gap_s: number(row, "longest_gap_s"),
        ..RehearsalOfRun::default()
    }
}

fn rows(text: &'static str) -> Vec<Row> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| header.iter().copied().zip(line.split(',')).collect()).collect()
}

fn samples() -> Vec<Sample> {
    let rows = rows(ROWS);
    let mut all = Vec::new();
    for network in rows.chunk_by(|a, b| a["network"] == b["network"]) {
        let (late, exact): (Vec<&Row>, Vec<&Row>) = network.iter().partition(|row| number(row, "paused") > 0.0);
        let mean = |column: &str| exact.iter().map(|row| number(row, column)).sum::<f64>() / exact.len() as f64;
        all.extend(late.into_iter().map(|row| {
            let rate = number(row, "rate_bps");
            let times = NetworkTimes {
                rtt_s: number(row, "rtt_s"),
                drain_s: number(row, "buffer_bytes") * 8.0 / rate,
                duration_s: number(row, "duration_s"),
                utilization: number(row, "utilization"),
            };
            let moved =
                |column: &str, least: f64| libm::log((number(row, column) + least) / (mean(column) + least)).abs();
            let mut terms = [0.0; TERMS];
            terms[..CAUSES].copy_from_slice(&causes(&rehearsal(row), times));
            terms[CAUSES..].copy_from_slice(&spreads(times, number(row, "drops") as u64));
            Sample {
                network: number(row, "network") as u64,
                moved: [
                    moved("goodput_bps", 0.0),
                    moved("loss_rate", rehearsal_bound::LEAST_LOSS),
                    moved("mean_queue_bytes", rehearsal_bound::LEAST_QUEUE),
                ],
                terms,
                headroom: times.headroom(),
            }
        }));
    }
    all
}

/// The half width of the interval of a figure with these factors.
fn predicted(figure: usize, factors: &[f64; TERMS], of: &Sample) -> f64 {
    let sum = |from: usize, to: usize| -> f64 { (from..to).map(|term| factors[term] * of.terms[term]).sum() };
    let most = if figure == 0 { of.headroom } else { f64::INFINITY };
    sum(0, CAUSES).min(most) + sum(CAUSES, TERMS)
}

/// The mean loss of the regression of the 98 % quantile (Koenker and Bassett, 1978).
fn pinball(figure: usize, factors: &[f64; TERMS], samples: &[Sample]) -> f64 {
    let loss = samples.iter().map(|of| {
        let above = of.moved[figure] - predicted(figure, factors, of);
        if above > 0.0 { COVERED * above } else { (COVERED - 1.0) * above }
    });
    loss.sum::<f64>() / samples.len() as f64
}

/// The least factors of the first cause, by figure. At a given loss rate, the rate of TCP falls with the round trip,
/// and at a given rate its loss with the square of it (Mathis et al., 1997); the runs have few networks without a full
/// link, which would show that.
const LEAST: [f64; 3] = [1.0, 2.0, 1.0];

/// The factors, none below zero and the first not below [`LEAST`], with the least loss: a search along each axis and
/// each pair of axes with shrinking steps, from several starts.
fn fit(figure: usize, samples: &[Sample]) -> [f64; TERMS] {
    let mut best = ([0.0; TERMS], f64::INFINITY);
    for start in [0.02, 0.1, 0.5, 2.0] {
        let floor = |term: usize| if term == 0 { LEAST[figure] } else { 0.0 };
        let mut at: [f64; TERMS] = std::array::from_fn(|term| floor(term).max(start));
        let mut loss = pinball(figure, &at, samples);
        let mut step = 1.0;
        while step > 5e-4 {
            let mut moved = false;
            for (up, down) in (0..=TERMS).flat_map(|up| (0..=TERMS).map(move |down| (up, down))) {
                let mut next = at;
                if let Some(factor) = next.get_mut(up) {
                    *factor += step;
                }
                if let Some(factor) = next.get_mut(down) {
                    *factor = (*factor - step).max(floor(down));
                }
                let new = pinball(figure, &next, samples);
                if new < loss - 1e-12 {
                    (at, loss, moved) = (next, new, true);
                }
            }
            if !moved {
                step /= 2.0;
            }
        }
        if loss < best.1 {
            best = (at, loss);
        }
    }
    best.0.map(|factor| (factor * 1e3).round() / 1e3)
}

/// The part of samples whose figure moved by no more than predicted.
fn covered(figure: usize, factors: &[f64; TERMS], samples: &[Sample]) -> f64 {
    let inside = samples.iter().filter(|of| of.moved[figure] <= predicted(figure, factors, of));
    inside.count() as f64 / samples.len() as f64
}

fn stored(figure: usize) -> [f64; TERMS] {
    let mut factors = [0.0; TERMS];
    factors[..CAUSES].copy_from_slice(&FACTORS[figure].0);
    factors[CAUSES..].copy_from_slice(&FACTORS[figure].1);
    factors
}

#[test]
fn the_factors_are_those_that_fit_the_runs_with_lateness_on_purpose() {
    let samples = samples();
    let fits = [0, 1, 2].map(|figure| fit(figure, &samples));
    let text = |of: &[f64; TERMS]| format!("({:?}, {:?})", &of[..CAUSES], &of[CAUSES..]);
    let told: Vec<String> = fits.iter().map(text).collect();
    for (figure, fit) in fits.iter().enumerate() {
        let part = covered(figure, fit, &samples);
        assert!(part >= COVERED - 0.02, "figure {figure}: {part} of the runs, with {fit:?}");
        assert_eq!(*fit, stored(figure), "FACTORS are to be [{}]", told.join(", "));
    }
}

/// The columns of figures of rehearsals: the figure, the same in virtual time, half the width of its interval, and the
/// value below which it does not differ.
const FIGURES: [(&str, &str, &str, f64); 3] = [
    ("goodput_bps", "goodput_virtual_bps", "goodput_half", 0.0),
    ("loss_rate", "loss_rate_virtual", "loss_half", rehearsal_bound::LEAST_LOSS),
    ("mean_queue_bytes", "mean_queue_virtual_bytes", "queue_half", rehearsal_bound::LEAST_QUEUE),
];

/// How far the figure in virtual time is outside of the interval of a rehearsal, as a logarithm; below zero inside.
fn outside(row: &Row, figure: usize) -> f64 {
    let (real, virtual_time, half, least) = FIGURES[figure];
    let ratio = (number(row, virtual_time) + least) / (number(row, real) + least);
    libm::log(ratio).abs() - number(row, half)
}

#[test]
fn other_differences_of_hosts_are_the_least_that_twelve_rehearsals_need() {
    let all = rows(REHEARSED);
    let of_set = |set: &str| -> Vec<&Row> { all.iter().filter(|row| row["set"] == set).collect() };
    let fit = of_set("fit");
    for figure in 0..3 {
        let most = fit.iter().map(|row| outside(row, figure)).fold(0.0, f64::max);
        let other = (most * 100.0).ceil() / 100.0;
        assert_eq!(other, rehearsal_bound::OTHER_HOSTS[figure], "figure {figure}: {most}");
    }
    for (set, name) in [("check", "other"), ("untouched", "untouched")] {
        let text = inside(&of_set(set), name);
        assert!(page().contains(&text), "docs/rehearse.md is to have: {text}");
    }
}

/// How many of these have figures in virtual time inside the intervals of the rehearsal.
fn inside(set: &[&Row], name: &str) -> String {
    let is_inside = |row: &Row, figure: usize| outside(row, figure) <= rehearsal_bound::OTHER_HOSTS[figure];
    let inside = |figure: usize| set.iter().filter(|row| is_inside(row, figure)).count();
    let together = set.iter().filter(|row| (0..3).all(|figure| is_inside(row, figure))).count();
    format!(
        "Of {} {name} networks, the goodput in virtual time was inside the interval in {}, the loss in {}, the mean \
         queue in {}, and all three in {together}",
        set.len(),
        inside(0),
        inside(1),
        inside(2),
    )
}

/// The page on rehearsals, with single spaces.
fn page() -> String {
    let page = include_str!("../../../../docs/rehearse.md");
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_on_rehearsals_has_the_factors_and_the_numbers_of_runs_and_networks() {
    let page = page();
    for cause in 0..CAUSES {
        let factor = |figure: usize| FACTORS[figure].0[cause];
        let row = format!("| {} | {} | {} |", factor(0), factor(1), factor(2));
        assert!(page.contains(&row), "cause {cause}: {row}");
    }
    let (runs, mut networks) = (ROWS.lines().count() - 1, samples());
    networks.dedup_by_key(|of| of.network);
    let counts = format!("{runs} runs of {} small networks", networks.len());
    assert!(page.contains(&counts), "{counts}");
}

/// Bounds are of use for networks that they were not fitted to.
#[test]
fn factors_of_half_of_the_networks_cover_85_percent_of_the_runs_of_the_others() {
    let samples = samples();
    let half = |odd: bool| -> Vec<Sample> {
        samples.iter().copied().filter(|of| of.network.is_multiple_of(2) != odd).collect()
    };
    for figure in 0..3 {
        for odd in [false, true] {
            let factors = fit(figure, &half(odd));
            let part = covered(figure, &factors, &half(!odd));
            assert!(part >= 0.85, "figure {figure}: {part} of the others' runs, with {factors:?}");
        }
    }
}

#[test]
fn a_saturated_bottleneck_bounds_the_goodput() {
    let late = RehearsalOfRun { lateness_mean_s: 1e-3, ..RehearsalOfRun::default() };
    let network = |utilization| NetworkTimes { rtt_s: 1e-3, drain_s: 1e-3, duration_s: 1.0, utilization };
    let bound = |utilization| rehearsal_bound::bounds(&late, network(utilization)).goodput;
    assert!(bound(0.1) > 0.5, "{}", bound(0.1));
    assert_eq!(bound(1.0), LEAST_HEADROOM);
    let run = Run { goodput_bps: 1e8, loss_rate: 0.0, ..Run::default() };
    let bounds = rehearsal_bound::bounds(&late, network(0.9));
    let intervals = rehearsal_bound::intervals(&run, bounds, network(0.9));
    assert!(intervals.goodput_bps.low < 1e8 && intervals.goodput_bps.high > 1e8);
    assert_eq!(intervals.loss_rate.low, 0.0);
}
