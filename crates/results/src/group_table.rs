//! The table of the groups of flows of a scenario: throughput, losses and completion times of each.

use crate::columns::{self, Column, Row};
use crate::design::Point;
use crate::metrics::{self, all_flows};
use crate::summary::{Group, Run};
use crate::table::{Grid, by_scheme};
use crate::units::{NONE, PERCENT};

/// The most rows of the table; summary.json has all groups.
const MAX_ROWS: usize = 60;

/// The table of groups, with the means over seeds of each group under each scheme at each point, and a note on rows
/// that are left out. The table is empty if the scenario has one group only, since the table of runs shows its results.
pub fn groups(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let all: Vec<Run> = runs.iter().flat_map(|(_, run)| &run.groups).map(Group::as_run).collect();
    let mut columns = columns(&all);
    columns.retain(|column| all.iter().any(|group| column.metric.figure(group).is_some()));
    let mut rows = Vec::new();
    let has_several = runs.iter().any(|(_, run)| run.groups.len() > 1);
    for (point, scheme, runs) in by_scheme(points, runs).filter(|_| has_several) {
        for (index, group) in runs.first().into_iter().flat_map(|run| run.groups.iter().enumerate()) {
            let seeds = runs.iter().filter_map(|run| run.groups.get(index));
            let seeds: Vec<Run> = seeds.map(Group::as_run).collect();
            let row = Row::new(0, scheme, seeds.iter());
            let words = [point.name.clone(), scheme.clone(), group.name.clone()].into_iter();
            rows.push(words.chain(columns.iter().map(|column| column.mean(&row))).collect());
        }
    }
    let words = ["point", "scheme", "group"].map(str::to_owned).into_iter();
    let header = words.chain(columns.iter().map(|column| column.heading.clone()));
    let mut grid = Grid::by_point(points, header, 2, rows);
    let note = grid.cut(MAX_ROWS, "groups");
    (grid, note)
}

fn columns(groups: &[Run]) -> Vec<Column> {
    let [rate, time, rtt] = columns::units(&groups.iter());
    vec![
        Column::new(&metrics::FLOWS, NONE),
        Column::new(&all_flows::MEAN, time),
        Column::new(&all_flows::P99, time),
        Column::new(&metrics::THROUGHPUT, rate),
        Column::new(&metrics::LOSS, PERCENT),
        Column::new(&metrics::RETRANSMITS, NONE),
        Column::new(&metrics::TIMEOUTS, NONE),
        Column::new(&metrics::MEAN_RTT, rtt),
        Column::new(&all_flows::MEAN_SLOWDOWN, NONE),
        Column::new(&all_flows::P99_SLOWDOWN, NONE),
        Column::new(&all_flows::UNFINISHED, NONE),
    ]
}
