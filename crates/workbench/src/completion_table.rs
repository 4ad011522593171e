//! The table of completion times: a row for each run, size class and statistic.

use crate::tables::{POINT, SCHEME, SEED, column, text_column};
use shallop_results::summary::{Completion, Run, Statistic};
use shallop_results::{Summary, table};
use shallop_store::Table;

struct Row<'a> {
    point: &'a str,
    run: &'a Run,
    size: &'static str,
    of: &'a Completion,
    statistic: Statistic,
}

pub(super) fn completion_table(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for (point, run) in table::placed(summary) {
        let point = summary.points[point].name.as_str();
        for (size, of) in run.fct.classes() {
            let Some(of) = of else { continue };
            rows.extend(Statistic::ALL.map(|statistic| Row { point, run, size, of, statistic }));
        }
    }
    let size = "The size class: all, small, medium or large.";
    let unfinished = "Counted flows that are not complete at the end of the run.";
    let statistic = "The name of the statistic in summary.json, such as p99_s.";
    let at_least = "Whether it is a lower bound, because flows are not complete.";
    let few = "Whether it is a percentile beyond which less than one flow is expected.";
    let value = "Its value: seconds if its name ends in _s.";
    let columns = vec![
        text_column(&rows, "point", POINT, |row| row.point),
        text_column(&rows, "scheme", SCHEME, |row| &row.run.scheme),
        column(&rows, "seed", "", SEED, |row| row.run.seed),
        text_column(&rows, "size", size, |row| row.size),
        column(&rows, "count", "flows", "Counted flows that have started.", |row| row.of.count),
        column(&rows, "unfinished", "flows", unfinished, |row| row.of.unfinished),
        text_column(&rows, "statistic", statistic, |row| row.statistic.name()),
        column(&rows, "value", "s or ratio", value, |row| row.of.figure(row.statistic)),
        column(&rows, "at_least", "", at_least, |row| row.of.lower_bounds.contains(&row.statistic)),
        column(&rows, "few_samples", "", few, |row| row.of.few_samples.contains(&row.statistic)),
    ];
    Table::new("completion", columns)
}
