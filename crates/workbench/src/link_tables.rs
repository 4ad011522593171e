//! The tables of links and of groups of all runs, with the unit and the definition of each column.

use super::tables::{RunRow, column, of_metric, rows, run_columns, text_column};
use shallop_results::completion::Statistic;
use shallop_results::metrics::{self, all_flows};
use shallop_results::summary::{Completion, Group, Summary};
use shallop_store::Table;

/// The links of all runs, from [`Run::links`](shallop_results::Run::links).
pub(super) fn links_table(summary: &Summary) -> Table {
    let rows = rows(summary, |run| &run.links);
    let mut columns = run_columns(summary, &rows);
    let place = "The port, as the nodes from and to which it leads.";
    let offered = "Payload offered by random arrivals, over the rate; null without them.";
    let used = "Bits sent over what the link could carry.";
    let bundle = "Bits sent over all parallel links over what they could carry together; null without parallel links.";
    let queue = "The longest data queue; null for links of hosts.";
    columns.extend([
        text_column(&rows, "link", place, |row| &row.2.place),
        column(&rows, "rate_bps", "bit/s", "The rate of the link.", |row| row.2.rate_bps),
        column(&rows, "offered", "fraction", offered, |row| row.2.offered),
        column(&rows, "utilization", "fraction", used, |row| row.2.utilization),
        column(&rows, "bundle_utilization", "fraction", bundle, |row| row.2.bundle_utilization),
        column(&rows, "loss_rate", "fraction", "Data lost of that offered.", |row| row.2.loss_rate),
        column(&rows, "marks", "packets", "Packets marked.", |row| row.2.marks),
        column(&rows, "max_queue_bytes", "B", queue, |row| row.2.max_queue_bytes),
    ]);
    Table::new("links", columns)
}

/// The groups of all runs, from [`Run::groups`](shallop_results::Run::groups).
pub(super) fn groups_table(summary: &Summary) -> Table {
    let rows = rows(summary, |run| &run.groups);
    let mut columns = run_columns(summary, &rows);
    let all = |of: fn(&Completion) -> Option<f64>| move |row: &RunRow<'_, Group>| flows(row).and_then(of);
    let is_bound = |row: &RunRow<'_, Group>| flows(row).is_some_and(|all| all.lower_bounds.contains(&Statistic::P99S));
    let bound = "Whether that percentile is a lower bound, as flows did not finish.";
    columns.extend([
        text_column(&rows, "group", "The name of the group.", |row| &row.2.name),
        text_column(&rows, "transport", "The label of its transport.", |row| &row.2.transport),
        of_metric(&rows, &metrics::FLOWS, |row| row.2.flows),
        of_metric(&rows, &metrics::THROUGHPUT, |row| row.2.throughput_bps),
        of_metric(&rows, &metrics::GOODPUT, |row| row.2.goodput_bps),
        of_metric(&rows, &metrics::LOSS, |row| row.2.loss_rate),
        of_metric(&rows, &metrics::RETRANSMITS, |row| row.2.retransmits),
        of_metric(&rows, &metrics::TIMEOUTS, |row| row.2.timeouts),
        of_metric(&rows, &all_flows::UNFINISHED, |row| flows(row).map(|all| all.unfinished)),
        of_metric(&rows, &metrics::MEAN_RTT, |row| row.2.rtt.mean_s),
        of_metric(&rows, &metrics::P99_RTT, |row| row.2.rtt.p99_s),
        of_metric(&rows, &all_flows::MEAN, all(|all| all.mean_s)),
        of_metric(&rows, &all_flows::P99, all(|all| all.p99_s)),
        column(&rows, "fct_p99_at_least", "", bound, is_bound),
        of_metric(&rows, &all_flows::MEAN_SLOWDOWN, all(|all| all.slowdown_mean)),
        of_metric(&rows, &all_flows::P99_SLOWDOWN, all(|all| all.slowdown_p99)),
    ]);
    Table::new("groups", columns)
}

/// The completion times of the flows of a group, if they have an end.
fn flows<'a>(row: &RunRow<'a, Group>) -> Option<&'a Completion> {
    row.2.fct.all.as_ref()
}
