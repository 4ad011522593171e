//! The table of rehearsals: how exactly each kept to the clock, and whether it is void.

use crate::design::Point;
use crate::summary::{RehearsalOfRun, Run};
use crate::table::{Grid, significant};

/// The table of rehearsals, with a row for each rehearsed run, and an explanation of its columns.
pub fn rehearsals(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let header = [
        "point",
        "scheme",
        "seed",
        "late us",
        "p99",
        "p99.9",
        "gap us",
        "answer us",
        "kpps",
        "verdict",
    ];
    let row = |(at, run): &(usize, &Run)| {
        let named = [points[*at].name.clone(), run.scheme.clone(), run.seed.to_string()];
        Some([&named[..], &cells(run.rehearsal.as_ref()?)].concat())
    };
    let grid = Grid::by_point(points, header, 2, runs.iter().filter_map(row).collect());
    let note = "late: how long after a packet was due it was written. gap: the longest time without a look at the \
                lines.\nanswer: from data written to a host to its next packet, p99. A void run counts nowhere.";
    (grid, note.to_owned())
}

fn cells(of: &RehearsalOfRun) -> [String; 7] {
    let us = |seconds: f64| significant(seconds * 1e6);
    let verdict = if of.void.is_empty() { "counts" } else { "VOID" };
    [
        us(of.lateness_p50_s),
        us(of.lateness_p99_s),
        us(of.lateness_p999_s),
        us(of.longest_gap_s),
        us(of.response_p99_s),
        significant(of.packets_per_s / 1e3),
        verdict.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rehearsals_have_a_row_and_a_late_one_is_void() {
        let rehearsal = |void: &[&str]| RehearsalOfRun {
            lateness_p99_s: 90e-6,
            void: void.iter().map(|why| (*why).to_owned()).collect(),
            ..RehearsalOfRun::default()
        };
        let run = |of| Run { scheme: "cubic".to_owned(), seed: 3, rehearsal: of, ..Run::default() };
        let runs = [run(None), run(Some(rehearsal(&[]))), run(Some(rehearsal(&["late"])))];
        let runs: Vec<(usize, &Run)> = runs.iter().map(|run| (0, run)).collect();
        let (grid, _) = rehearsals(&[Point::default()], &runs);
        let last: Vec<&str> = grid.rows.iter().map(|row| row[8].as_str()).collect();
        assert_eq!((last, grid.rows[0][3].as_str()), (vec!["counts", "VOID"], "90"));
    }
}
