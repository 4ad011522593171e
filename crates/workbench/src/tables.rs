//! The tables of results: flows and time series of a run, and the causes of drops of all runs, with the unit and the
//! definition of each column.

use shallop_measure::flow_log::FlowRow;
use shallop_measure::series::{Sample, Samples};
use shallop_results::metrics::{self, Metric};
use shallop_results::{Run, Summary, table};
use shallop_store::{Column, Table, Text, Values};

/// The definition of the column `point`, in the metadata of tables.
pub(super) const POINT: &str = "The name of the point; empty if there is only one.";
pub(super) const SCHEME: &str = "The label of the scheme.";
pub(super) const SEED: &str = "The run seed.";

/// A column of numbers or truth values, one for each row.
pub(super) fn column<T, V>(rows: &[T], name: &str, unit: &str, description: &str, of: impl Fn(&T) -> V) -> Column
where
    Values: From<Vec<V>>,
{
    Column::new(name, unit, description, rows.iter().map(of).collect::<Vec<V>>())
}

/// A column of texts, one for each row.
pub(super) fn text_column<'a, T>(
    rows: &'a [T], name: &str, description: &str, of: impl Fn(&'a T) -> &'a str,
) -> Column {
    Column::new(name, "", description, rows.iter().map(|row| Some(of(row))).collect::<Text>())
}

pub(super) fn flow_table(rows: &[FlowRow]) -> Table {
    let rate = "IP bytes of data that arrived, with retransmissions, until the end of the flow or of the run.";
    let number = "The number of the flow in its run, in order of start.";
    let time = "From the start to the arrival of the last byte; null if incomplete.";
    let slowdown = "That time over the time in an empty network; null if incomplete.";
    let sent = "Data packets sent, with retransmissions.";
    let columns = vec![
        column(rows, "flow", "", number, |row| u64::from(row.flow)),
        text_column(rows, "group", "The group.", |row| &row.group),
        text_column(rows, "from", "The host of the sender.", |row| &row.from),
        text_column(rows, "to", "The host of the receiver.", |row| &row.to),
        column(rows, "start_s", "s", "The start time.", |row| row.start_s),
        column(rows, "size_bytes", "B", "Payload to send; null without end.", |row| row.size_bytes),
        column(rows, "fct_s", "s", time, |row| row.fct_s),
        column(rows, "slowdown", "ratio", slowdown, |row| row.slowdown),
        column(rows, "counted", "", "False in the warm-up and the cool-down.", |row| row.counted),
        column(rows, "received_bytes", "B", "Payload received.", |row| row.received_bytes),
        column(rows, "throughput_bps", "bit/s", rate, |row| row.throughput_bps),
        column(rows, "sent", "packets", sent, |row| row.sent),
        of_metric(rows, &metrics::RETRANSMITS, |row| row.retransmits),
        of_metric(rows, &metrics::TIMEOUTS, |row| row.timeouts),
        column(rows, "credits", "packets", "Credits that arrived.", |row| row.credits.0),
        column(rows, "credits_used", "packets", "Credits that released data.", |row| row.credits.1),
        column(rows, "credits_wasted", "packets", "Credits wasted.", |row| row.credits.2),
    ];
    Table::new("flows", columns)
}

/// Makes a column for a metric. Its name is the metric's path with `fct_` for `fct.all.` and `_` for each dot; names
/// that do not end in `_s` have no `fct_` at their start.
pub(super) fn of_metric<T, V>(rows: &[T], metric: &Metric, of: impl Fn(&T) -> V) -> Column
where
    Values: From<Vec<V>>,
{
    let path = metric.path.replace("fct.all.", "fct_").replace('.', "_");
    let name = match path.strip_prefix("fct_") {
        Some(own) if !own.ends_with("_s") => own,
        _ => &path,
    };
    column(rows, name, metric.quantity.stored(), metric.sentence(), of)
}

pub(super) fn series_table(samples: &Samples) -> Table {
    let Samples { samples, places } = samples;
    let quantity: Text = samples.iter().map(|sample| Some(sample.quantity.name())).collect();
    let place = |sample: &Sample| places.get(sample.place as usize).map(String::as_str);
    let place: Text = samples.iter().map(place).collect();
    let quantities = "queue_bytes: now; queue_peak_bytes: the most since the last row; rate_bps: since then, at IP. \
                      With [record], of each flow: cwnd_segments, ssthresh_segments, pacing_bps, srtt_s, \
                      delivered_segments, ca_state.";
    let time: Vec<f64> = samples.iter().map(|sample| sample.time.as_secs_f64()).collect();
    let value: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let columns = vec![
        Column::new("time_s", "s", "The time since the start of the run.", time),
        Column::new("what", "", quantities, quantity),
        Column::new("place", "", "The queue, the group or the flow.", place),
        Column::new("value", "B, bit/s, segments or s", "The value, in the unit that `what` ends in.", value),
    ];
    Table::new("series", columns)
}

/// The causes of drops of all runs, from [`Run::drops_by_cause`](shallop_results::Run::drops_by_cause).
pub(super) fn drops_table(summary: &Summary) -> Table {
    let rows = rows(summary, |run| &run.drops_by_cause);
    let mut columns = run_columns(summary, &rows);
    let place = "The port, as the nodes from and to which it leads.";
    columns.extend([
        text_column(&rows, "place", place, |row| &row.2.place),
        text_column(&rows, "class", "The class of the packets.", |row| &row.2.class),
        text_column(&rows, "cause", "The cause of the drops.", |row| &row.2.cause),
        column(&rows, "packets", "packets", "The number of packets.", |row| row.2.packets),
    ]);
    Table::new("drops_by_cause", columns)
}

/// An entry of a list of a run, with the index of its point and its run.
pub(super) type RunRow<'a, T> = (usize, &'a Run, &'a T);

/// Collects the entries of a list that every run has, such as its links.
pub(super) fn rows<'a, T>(summary: &'a Summary, of: impl Fn(&'a Run) -> &'a [T]) -> Vec<RunRow<'a, T>> {
    let runs = table::placed(summary).into_iter();
    runs.flat_map(|(point, run)| of(run).iter().map(move |entry| (point, run, entry))).collect()
}

/// Makes the columns `point`, `scheme` and `seed`, which identify the run of each row.
pub(super) fn run_columns<T>(summary: &Summary, rows: &[RunRow<'_, T>]) -> Vec<Column> {
    vec![
        text_column(rows, "point", POINT, |row| &summary.points[row.0].name),
        text_column(rows, "scheme", SCHEME, |row| &row.1.scheme),
        column(rows, "seed", "", SEED, |row| row.1.seed),
    ]
}
