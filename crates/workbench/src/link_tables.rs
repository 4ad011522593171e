//! The tables of links and of groups of all runs, with the unit and the definition of each column.

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
    let mut columns = keys(summary, &rows);
    let text =
        |of: fn(&Group) -> &str| -> Text { rows.iter().map(|row| Some(of(row.2))).collect() };
    let count = |of: fn(&Group) -> u64| -> Vec<u64> { rows.iter().map(|row| of(row.2)).collect() };
    let some = |of: fn(&Group) -> f64| -> Vec<f64> { rows.iter().map(|row| of(row.2)).collect() };
    let all = |of: fn(Completion) -> Option<f64>| -> Vec<Option<f64>> {
        rows.iter().map(|row| row.2.fct.all.and_then(of)).collect()
    };
    let open: Vec<Option<u64>> =
        rows.iter().map(|row| row.2.fct.all.map(|all| all.unfinished)).collect();
    let rtt: Vec<Option<f64>> = rows.iter().map(|row| row.2.rtt.mean_s).collect();
    let rtt_p99: Vec<Option<f64>> = rows.iter().map(|row| row.2.rtt.p99_s).collect();
    columns.extend([
        Column::new("group", "", "The name of the group.", text(|group| &group.name)),
        Column::new("transport", "", "The label of its transport.", text(|group| &group.transport)),
        Column::new("flows", "flows", "Flows that started.", count(|group| group.flows)),
        Column::new(
            "unfinished",
            "flows",
            "Counted flows not complete at the end; null without end.",
            open,
        ),
        Column::new(
            "throughput_bps",
            "bit/s",
            "IP bytes of data that arrived, with retransmissions.",
            some(|group| group.throughput_bps),
        ),
        Column::new(
            "goodput_bps",
            "bit/s",
            "Payload that arrived, each byte once.",
            some(|group| group.goodput_bps),
        ),
        Column::new(
            "loss_rate",
            "fraction",
            "Data packets lost of those sent.",
            some(|group| group.loss_rate),
        ),
        Column::new(
            "retransmits",
            "packets",
            "Data packets retransmitted.",
            count(|group| group.retransmits),
        ),
        Column::new(
            "timeouts",
            "timeouts",
            "Retransmission timeouts.",
            count(|group| group.timeouts),
        ),
        Column::new("rtt_mean_s", "s", "Mean round-trip time.", rtt),
        Column::new("rtt_p99_s", "s", "99th percentile of round-trip times.", rtt_p99),
        Column::new("fct_mean_s", "s", "Mean completion time.", all(|all| all.mean_s)),
        Column::new("fct_p99_s", "s", "99th percentile of completion times.", all(|all| all.p99_s)),
        Column::new("slowdown_mean", "ratio", "Mean slowdown.", all(|all| all.slowdown_mean)),
        Column::new(
            "slowdown_p99",
            "ratio",
            "99th percentile of slowdowns.",
            all(|all| all.slowdown_p99),
        ),
    ]);
    Table::new("groups", columns)
}
