//! The table of rehearsals: their figures, with the intervals in which they lie without lateness, how late they were,
//! and whether they count.

use crate::design::Point;
use crate::summary::{Interval, RehearsalOfRun, Run};
use crate::table::{Grid, significant};

/// The verdict of a run that does not count.
pub const VOID: &str = "VOID";

/// The verdict of a rehearsal.
pub fn verdict(of: &RehearsalOfRun) -> &'static str {
    match (of.void.is_empty(), of.stretch) {
        (false, _) => VOID,
        (true, 0 | 1) => "counts",
        (true, _) => "stretched",
    }
}

/// The table of rehearsals, with a row for each rehearsed run, and an explanation of its columns.
pub fn rehearsals(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let header = [
        "point", "scheme", "seed", "Mb/s", "loss %", "queue KB", "late us", "p99", "gap us", "answer us", "still %",
        "verdict",
    ];
    let row = |(at, run): &(usize, &Run)| {
        let named = [points[*at].name.clone(), run.scheme.clone(), run.seed.to_string()];
        let of = run.rehearsal.as_ref()?;
        Some([&named[..], &figures(run, of), &lateness(run, of)].concat())
    };
    let grid = Grid::by_point(points, header, 2, runs.iter().filter_map(row).collect());
    let note = "Mb/s: goodput; queue: the mean. a, b to c: without lateness, 98 of 100 runs lie between b and c.\n\
                late: how long after a packet was due it was written. gap: the longest time without a look at the \
                lines.\nanswer: from data written to a host to its next packet, p99. still: the machine stood still, \
                which is left out.\nA void run counts nowhere. Its figures are shown, and are not to be trusted.";
    (grid, note.to_owned())
}

/// Goodput, loss and mean queue, each with its interval.
fn figures(run: &Run, of: &RehearsalOfRun) -> [String; 3] {
    let figure = |value: f64, size: f64, interval: Option<Interval>| {
        let value = significant(value / size);
        interval.map_or_else(
            || value.clone(),
            |Interval { low, high }| format!("{value}, {} to {}", short(low / size), short(high / size)),
        )
    };
    let of = of.intervals;
    [
        figure(run.goodput_bps, 1e6, of.map(|of| of.goodput_bps)),
        figure(run.loss_rate, 0.01, of.map(|of| of.loss_rate)),
        figure(run.mean_queue_bytes, 1e3, of.map(|of| of.mean_queue_bytes)),
    ]
}

/// A number with three significant digits.
fn short(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

fn lateness(run: &Run, of: &RehearsalOfRun) -> [String; 6] {
    let us = |seconds: f64| significant(seconds * 1e6);
    [
        us(of.lateness_mean_s),
        us(of.lateness_p99_s),
        us(of.longest_gap_s),
        us(of.response_p99_s),
        significant(100.0 * of.stood_still_s / run.duration_s.max(f64::MIN_POSITIVE)),
        verdict(of).to_owned(),
    ]
}
