//! The table of the programs that ran in hosts: how each ended, when, and where its files are.

use crate::summary::{ProgramOfRun, Run};
use crate::table::Grid;
use crate::{columns::NOTHING, design::Point};

/// The most rows of the table; summary.json has all programs.
const MAX_ROWS: usize = 60;

/// The table of programs, with a row for each program of each run, void runs marked, and a note on rows that are left
/// out.
pub fn programs(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let header = ["point", "scheme", "seed", "group", "host", "program", "ended s", "status", "files"];
    let mut rows = Vec::new();
    for (at, run) in runs {
        let void = if run.is_void() { " VOID" } else { "" };
        let named = [points[*at].name.clone(), run.scheme.clone(), format!("{}{void}", run.seed)];
        rows.extend(run.programs.iter().map(|program| [&named[..], &cells(program)].concat()));
    }
    let mut grid = Grid::by_point(points, header, 1, rows);
    let note = grid.cut(MAX_ROWS, "programs");
    (grid, note)
}

fn cells(program: &ProgramOfRun) -> [String; 6] {
    let ProgramOfRun { group, host, command, ended_s, status, files } = program;
    let name = command.first().map_or("", String::as_str);
    [
        group.clone(),
        host.clone(),
        name.to_owned(),
        ended_s.map_or("at the end".to_owned(), |s| format!("{s:.3}")),
        status.map_or(NOTHING.to_owned(), |status| status.to_string()),
        if files.is_empty() { NOTHING.to_owned() } else { files.clone() },
    ]
}
