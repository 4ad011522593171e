//! Means over seeds as tables, and the values of a sweep's keys as columns.

use super::tables::{POINT, SCHEME, column, text_column};
use serde_json::Value;
use shallop_results::Estimate;
use shallop_results::metrics::{self, Metric};
use shallop_results::{summary::Summary, table::Grid};
use shallop_store::{Column, Table, Text, Values};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics with a column in the CSV table of means over seeds, in order.
const METRICS: [&Metric; 14] = [
    &metrics::THROUGHPUT,
    &metrics::GOODPUT,
    &metrics::LOSS,
    &metrics::CREDIT_LOSS,
    &metrics::UTILIZATION,
    &metrics::MAX_QUEUE,
    &metrics::MEAN_RTT,
    &metrics::P99_RTT,
    &metrics::JAIN,
    &metrics::RETRANSMITS,
    &metrics::TIMEOUTS,
    &metrics::all_flows::MEAN,
    &metrics::all_flows::P99,
    &metrics::all_flows::UNFINISHED,
];

/// Definition, in the metadata of a table, of a column that holds a scenario key's value at each point.
const KEY: &str = "The value of this key of the scenario at the point.";

/// The scenario keys whose values differ between the points of a sweep, sorted by name.
fn keys(summary: &Summary) -> BTreeSet<&str> {
    summary.points.iter().flat_map(|point| point.set.keys().map(String::as_str)).collect()
}

/// Formats a key's value as a table cell: texts without quotes, empty for no value.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The main metrics of a summary as a grid, for programs: a row for each scheme at each point; a column for each key
/// that differs between points and for each metric that was measured, in the units that its name ends in. With several
/// seeds a metric has a second column, of half the width of its 95 % confidence interval.
#[must_use]
pub fn aggregate_grid(summary: &Summary) -> Grid {
    let keys = keys(summary);
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    for key in &keys {
        let cells = summary.aggregates.iter().map(|one| cell(one.point.get(*key)));
        columns.push(((*key).to_owned(), cells.collect()));
    }
    let schemes = summary.aggregates.iter().map(|one| one.scheme.clone()).collect();
    columns.push(("scheme".to_owned(), schemes));
    let runs = summary.aggregates.iter().map(|one| one.n.to_string()).collect();
    columns.push(("runs".to_owned(), runs));
    for metric in METRICS {
        let estimates: Vec<Option<Estimate>> = summary.aggregates.iter().map(|one| one.get(metric).copied()).collect();
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        if estimates.iter().any(Option::is_some) {
            let means = estimates.iter().map(|of| number(of.map(|of| of.mean))).collect();
            columns.push((metric.path.to_owned(), means));
        }
        if estimates.iter().flatten().any(|of| of.ci95.is_some()) {
            let halves = estimates.iter().map(|of| number(of.and_then(|of| of.ci95))).collect();
            columns.push((format!("{} ci95", metric.path), halves));
        }
    }
    let row = |row: usize| columns.iter().map(|(_, cells)| cells[row].clone()).collect();
    let rows = (0..summary.aggregates.len()).map(row).collect();
    let header = columns.iter().map(|(name, _)| name.clone()).collect();
    Grid { header, rows, words: keys.len() + 1 }
}

/// All means of a summary as a table with a row for each metric of each scheme at each point, and a column for each key
/// that differs between points.
#[must_use]
pub fn aggregate_table(summary: &Summary) -> Table {
    let rows: Vec<_> = summary
        .aggregates
        .iter()
        .flat_map(|one| one.metrics.iter().map(move |(name, of)| (one, name.as_str(), of)))
        .collect();
    let name = |set: &BTreeMap<String, Value>| {
        summary.points.iter().find(|point| point.set == *set).map(|point| point.name.as_str())
    };
    let points: Text = rows.iter().map(|(one, ..)| name(&one.point)).collect();
    let mut columns = vec![Column::new("point", "", POINT, points)];
    columns.extend(keys(summary).into_iter().map(|key| {
        let values: Vec<Option<&Value>> = rows.iter().map(|(one, ..)| one.point.get(key)).collect();
        Column::new(key, "", KEY, typed(&values))
    }));
    let unit = "as the metric";
    let [mean, n] = ["The mean of the runs that have the figure.", "The number of runs that have it."];
    let half = "Half its 95 % confidence interval; null without one.";
    let low = "The lower end of the interval, within what is possible.";
    let high = "The upper end of the interval, within what is possible.";
    let metric = "A number of a run, by its path in summary.json.";
    columns.extend([
        text_column(&rows, "scheme", SCHEME, |(one, ..)| &one.scheme),
        text_column(&rows, "metric", metric, |(_, name, _)| name),
        column(&rows, "mean", unit, mean, |(.., of)| of.mean),
        column(&rows, "ci95", unit, half, |(.., of)| of.ci95),
        column(&rows, "low", unit, low, |(.., of)| of.low),
        column(&rows, "high", unit, high, |(.., of)| of.high),
        column(&rows, "at_least", "", "Whether the mean is a lower bound.", |(.., of)| of.at_least),
        column(&rows, "n", "runs", n, |(.., of)| of.n),
    ]);
    Table::new("aggregates", columns)
}

/// Inserts a column for each scenario key that differs between points, behind the table's column `point`. Returns the
/// table unchanged if it has no such column or the sweep has one point.
#[must_use]
pub fn with_point_columns(summary: &Summary, table: Table) -> Table {
    let Some(place) = table.columns.iter().position(|column| column.name == "point") else {
        return table;
    };
    let Values::Text(points) = &table.columns[place].values else { return table };
    let sets: BTreeMap<&str, &BTreeMap<String, Value>> =
        summary.points.iter().map(|point| (point.name.as_str(), &point.set)).collect();
    let mut columns = Vec::new();
    for key in keys(summary) {
        // The type of a column is that of all points, whichever of them are in this part of the table.
        let all: Vec<Option<&Value>> = summary.points.iter().map(|it| it.set.get(key)).collect();
        let here = points.iter().map(|name| sets.get(name?)?.get(key));
        columns.push(Column::new(key, "", KEY, typed_as(&all, &here.collect::<Vec<_>>())));
    }
    let taken: BTreeSet<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    columns.retain(|column| !taken.contains(&column.name));
    let mut all = table.columns;
    let behind = all.split_off(place + 1);
    all.extend(columns.into_iter().chain(behind));
    Table { columns: all, ..table }
}

fn typed(values: &[Option<&Value>]) -> Values {
    typed_as(values, values)
}

/// Converts `values` to a column of the narrowest type that holds all values in `of`: truth values, whole numbers,
/// numbers, or texts.
fn typed_as(of: &[Option<&Value>], values: &[Option<&Value>]) -> Values {
    let all = |is: fn(&Value) -> bool| of.iter().flatten().all(|value| is(value));
    if all(Value::is_boolean) {
        Values::Bool(values.iter().map(|value| value.and_then(Value::as_bool)).collect())
    } else if all(Value::is_i64) {
        Values::I64(values.iter().map(|value| value.and_then(Value::as_i64)).collect())
    } else if all(Value::is_number) {
        Values::F64(values.iter().map(|value| value.and_then(Value::as_f64)).collect())
    } else {
        let text: Text = values.iter().map(|value| value.map(|value| cell(Some(value)))).collect();
        Values::Text(text)
    }
}
