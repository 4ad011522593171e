//! The tables of links and of groups of all runs, with the unit and the definition of each column.

use shallop_results::completion::Statistic;
use shallop_results::summary::{Completion, Group, Run, Summary};
use shallop_results::{Link, table};
use shallop_store::{Column, Table, Text};

use super::tables::{POINT, SCHEME, SEED};

/// The columns that identify the run of each row.
fn keys<T>(summary: &Summary, rows: &[(usize, &Run, T)]) -> Vec<Column> {
    let points: Text = rows.iter().map(|row| Some(summary.points[row.0].name.as_str())).collect();
    let schemes: Text = rows.iter().map(|row| Some(row.1.scheme.as_str())).collect();
    let seeds: Vec<u64> = rows.iter().map(|row| row.1.seed).collect();
    vec![
        Column::new("point", "", POINT, points),
        Column::new("scheme", "", SCHEME, schemes),
        Column::new("seed", "", SEED, seeds),
    ]
}

/// Rows of all runs, each with the index of its point and its run.
fn rows<'a, T>(
    summary: &'a Summary,
    of: impl Fn(&'a Run) -> &'a [T],
) -> Vec<(usize, &'a Run, &'a T)> {
    let runs = table::placed(summary).into_iter();
    runs.flat_map(|(point, run)| of(run).iter().map(move |entry| (point, run, entry))).collect()
}

/// The links of all runs, from [`Run::links`].
pub(super) fn links_table(summary: &Summary) -> Table {
    let rows = rows(summary, |run| &run.links);
    let mut columns = keys(summary, &rows);
    let some = |of: fn(&Link) -> f64| -> Vec<f64> { rows.iter().map(|row| of(row.2)).collect() };
    let places: Text = rows.iter().map(|row| Some(row.2.place.as_str())).collect();
    let rates: Vec<u64> = rows.iter().map(|row| row.2.rate_bps).collect();
    let offered: Vec<Option<f64>> = rows.iter().map(|row| row.2.offered).collect();
    let marks: Vec<u64> = rows.iter().map(|row| row.2.marks).collect();
    let queues: Vec<Option<u64>> = rows.iter().map(|row| row.2.max_queue_bytes).collect();
    columns.extend([
        Column::new("link", "", "The port, as the nodes from and to which it leads.", places),
        Column::new("rate_bps", "bit/s", "The rate of the link.", rates),
        Column::new(
            "offered",
            "fraction",
            "Payload offered by random arrivals, over the rate; null without them.",
            offered,
        ),
        Column::new(
            "utilization",
            "fraction",
            "Bits sent over what the link could carry.",
            some(|link| link.utilization),
        ),
        Column::new(
            "loss_rate",
            "fraction",
            "Data lost of that offered.",
            some(|link| link.loss_rate),
        ),
        Column::new("marks", "packets", "Packets marked.", marks),
        Column::new(
            "max_queue_bytes",
            "B",
            "The longest data queue; null for links of hosts.",
            queues,
        ),
    ]);
    Table::new("links", columns)
}

/// The groups of all runs, from [`Run::groups`].
pub(super) fn groups_table(summary: &Summary) -> Table {
    let rows = rows(summary, |run| &run.groups);
    let groups: Vec<&Group> = rows.iter().map(|row| row.2).collect();
    let mut columns = keys(summary, &rows);
    let text =
        |of: fn(&Group) -> &str| -> Text { groups.iter().map(|group| Some(of(group))).collect() };
    let count =
        |of: fn(&Group) -> u64| -> Vec<u64> { groups.iter().map(|group| of(group)).collect() };
    let some =
        |of: fn(&Group) -> f64| -> Vec<f64> { groups.iter().map(|group| of(group)).collect() };
    let goodput = "Payload that arrived, each byte once.";
    let throughput = "IP bytes of data that arrived, with retransmissions.";
    let (loss, resent) = ("Data packets lost of those sent.", "Data packets retransmitted.");
    columns.extend([
        Column::new("group", "", "The name of the group.", text(|group| &group.name)),
        Column::new("transport", "", "The label of its transport.", text(|group| &group.transport)),
        Column::new("flows", "flows", "Flows that started.", count(|group| group.flows)),
        Column::new("throughput_bps", "bit/s", throughput, some(|group| group.throughput_bps)),
        Column::new("goodput_bps", "bit/s", goodput, some(|group| group.goodput_bps)),
        Column::new("loss_rate", "fraction", loss, some(|group| group.loss_rate)),
        Column::new("retransmits", "packets", resent, count(|group| group.retransmits)),
        Column::new(
            "timeouts",
            "timeouts",
            "Retransmission timeouts.",
            count(|group| group.timeouts),
        ),
    ]);
    columns.extend(times_of_groups(&groups));
    Table::new("groups", columns)
}

/// The round-trip times and completion times of groups.
fn times_of_groups(groups: &[&Group]) -> Vec<Column> {
    let of = |value: fn(&Group) -> Option<f64>| -> Vec<Option<f64>> {
        groups.iter().map(|group| value(group)).collect()
    };
    let completion = |value: fn(&Completion) -> Option<f64>| -> Vec<Option<f64>> {
        groups.iter().map(|group| group.fct.all.as_ref().and_then(value)).collect()
    };
    let open: Vec<Option<u64>> =
        groups.iter().map(|group| group.fct.all.as_ref().map(|all| all.unfinished)).collect();
    let is_bound = |group: &&Group| {
        group.fct.all.as_ref().is_some_and(|all| all.lower_bounds.contains(&Statistic::P99S))
    };
    let bounds: Vec<bool> = groups.iter().map(is_bound).collect();
    let unfinished = "Counted flows not complete at the end; null without end.";
    let bound = "Whether that percentile is a lower bound, as flows did not finish.";
    let (mean, p99) = ("Mean completion time.", "99th percentile of completion times.");
    let (rtt, rtt_p99) = ("Mean round-trip time.", "99th percentile of round-trip times.");
    vec![
        Column::new("unfinished", "flows", unfinished, open),
        Column::new("rtt_mean_s", "s", rtt, of(|group| group.rtt.mean_s)),
        Column::new("rtt_p99_s", "s", rtt_p99, of(|group| group.rtt.p99_s)),
        Column::new("fct_mean_s", "s", mean, completion(|all| all.mean_s)),
        Column::new("fct_p99_s", "s", p99, completion(|all| all.p99_s)),
        Column::new("fct_p99_at_least", "", bound, bounds),
        Column::new(
            "slowdown_mean",
            "ratio",
            "Mean slowdown.",
            completion(|all| all.slowdown_mean),
        ),
        Column::new(
            "slowdown_p99",
            "ratio",
            "99th percentile of slowdowns.",
            completion(|all| all.slowdown_p99),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shallop_results::Point;
    use shallop_results::summary::Fct;
    use shallop_store::Values;

    use super::*;

    #[test]
    fn links_and_groups_of_all_runs_have_a_row_each() {
        let link = Link { place: "a>b".to_owned(), rate_bps: 7, offered: None, ..Link::default() };
        let all = Completion { count: 3, unfinished: 1, p99_s: Some(2.0), ..Completion::default() };
        let fct = Fct { all: Some(all), ..Fct::default() };
        let groups = ["web", "backup"]
            .map(|name| Group { name: name.to_owned(), fct: fct.clone(), ..Group::default() })
            .to_vec();
        let run = |seed: u64| Run {
            scheme: "cubic".to_owned(),
            seed,
            links: vec![link.clone()],
            groups: groups.clone(),
            ..Run::default()
        };
        let point = Point {
            name: "low".to_owned(),
            set: BTreeMap::new(),
            schemes: vec!["cubic".to_owned()],
        };
        let summary =
            Summary { points: vec![point], runs: vec![run(1), run(2)], ..Summary::default() };
        let (links, groups) = (links_table(&summary), groups_table(&summary));
        assert_eq!((links.rows(), groups.rows()), (2, 4));
        let values = |table: &Table, name: &str| table.column(name).unwrap().values.clone();
        assert_eq!(values(&links, "seed"), Values::U64(vec![Some(1), Some(2)]));
        assert_eq!(values(&links, "rate_bps"), Values::U64(vec![Some(7); 2]));
        assert_eq!(values(&groups, "fct_p99_s"), Values::F64(vec![Some(2.0); 4]));
        assert_eq!(values(&groups, "unfinished"), Values::U64(vec![Some(1); 4]));
    }
}
