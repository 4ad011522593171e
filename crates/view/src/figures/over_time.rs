//! Figures over time: throughput, the longest data queue, rates of flows, and congestion windows.

use crate::binned_series::{BINS, BinnedSeries};
use crate::colours;
use crate::figure::{Dataset, Figure};
use crate::figure_data::{FLOWS_WITH_WINDOWS, FigureData, RunSeries};
use crate::spec_parts::{self, NominalScale};
use indexmap::IndexSet;
use serde_json::{Value, json};
use shallop_results::units::{self, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// Throughput of all flows, or of each group.
pub(super) fn throughput(input: &FigureData) -> Figure {
    let all = || input.series.values().flat_map(|timed| &timed.groups);
    let groups: IndexSet<String> = all().map(|(name, _)| name.clone()).collect();
    let groups: Vec<String> = groups.into_iter().collect();
    let several = groups.len() > 1;
    let rates = all().flat_map(|(_, rate)| rate.iter().map(|(_, bin)| bin.mean()));
    let unit = Unit::for_largest(rates, units::RATES);
    let value = unit.column("throughput");
    let mut rows = Dataset::new(&["panel", "scheme", "group", "time_s", &value]);
    for (&(point, scheme), timed) in &input.series {
        let comparison = &input.comparison;
        // Groups of a scheme are compared with each other, the one group of all schemes with theirs.
        let panel = if several { comparison.panel(point, scheme) } else { comparison.labels[point].clone() };
        for (group, rate) in &timed.groups {
            for (_, bin) in rate.iter() {
                let words = [&*panel, &*comparison.schemes[scheme], &**group].map(Value::from);
                let figures = [units::round(bin.time), unit.put(bin.mean())].map(Value::from);
                rows.rows.push(words.into_iter().chain(figures).collect());
            }
        }
    }
    let names = if several {
        NominalScale { field: "group", title: "group", all: &groups }
    } else {
        NominalScale { field: "scheme", title: "scheme", all: &input.comparison.schemes }
    };
    let hints = [spec_parts::hint("scheme", "scheme"), spec_parts::hint("group", "group")];
    let inner = spec_parts::lines(&names, &value, &unit.title("throughput"), 220, &hints);
    let points = input.comparison.points_over_time();
    Figure {
        id: "throughput-over-time".to_owned(),
        title: if several { "Throughput by group over time" } else { "Throughput over time" }.to_owned(),
        alt: rows.summary(&["panel", "scheme", "group"], &value, &unit.title("throughput")),
        caption: format!(
            "IP bytes that arrived{}. At most {BINS} points a line: means of the rows of series.parquet \
             between them.{}",
            input.of_several_seeds("; first seed"),
            input.comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner, spec_parts::WIDE),
        rows,
        wide: true,
    }
}

/// The longest data queue, one line for each scheme.
pub(super) fn queue(input: &FigureData) -> Figure {
    let timed = input.series.iter().filter(|(_, timed)| timed.queue.is_some());
    let unit = units::KILOBYTES;
    let measures = ["longest since the sample before", "when sampled"].map(str::to_owned);
    let value = unit.column("queue");
    let mut rows = Dataset::new(&["panel", "queue", "measure", "time_s", &value]);
    for (&(point, scheme), timed) in timed {
        let panel = input.comparison.panel(point, scheme);
        let queue = timed.queue.clone().unwrap_or_default();
        let mut add = |measure: &str, time: f64, bytes: f64| {
            let words = [&*panel, &*queue, measure].map(Into::into);
            let figures = [units::round(time), unit.put(bytes)].map(Into::into);
            rows.rows.push(words.into_iter().chain(figures).collect());
        };
        timed.queue_bytes.1.iter().for_each(|(_, bin)| add(&measures[0], bin.time, bin.max));
        timed.queue_bytes.0.iter().for_each(|(_, bin)| add(&measures[1], bin.time, bin.mean()));
    }
    let names = NominalScale { field: "measure", title: "bytes in the queue", all: &measures };
    let title = unit.title("data queue");
    let hints = [spec_parts::hint("queue", "queue"), spec_parts::hint("measure", "measure")];
    let inner = spec_parts::lines(&names, &value, &title, 150, &hints);
    let points = input.comparison.points_over_time();
    Figure {
        id: "queue-over-time".to_owned(),
        title: "Data queue over time".to_owned(),
        alt: rows.summary(&["panel", "measure"], &value, &title),
        caption: format!(
            "The data queue of a switch that was the longest of its run, under each scheme{}. At most {BINS} \
             points a line: the largest, and the mean, of the rows of series.parquet between them.{}",
            input.of_several_seeds("; first seed"),
            input.comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner, spec_parts::WIDE),
        rows,
        wide: true,
    }
}

/// Congestion windows of the first flows, of runs that record flows.
pub(super) fn windows(input: &FigureData) -> Figure {
    let mut rows = Dataset::new(&["panel", "flow", "time_s", "cwnd_segments"]);
    let mut flows = BTreeSet::new();
    for (&(point, scheme), timed) in input.series.iter().filter(|(_, it)| !it.windows.is_empty()) {
        let panel = input.comparison.panel(point, scheme);
        for (number, windows) in &timed.windows {
            let flow = format!("flow {number}");
            for (_, bin) in windows.iter() {
                let figures = [units::round(bin.time), units::round(bin.mean())];
                let [time, cwnd] = figures.map(|figure| json!(figure));
                rows.push([panel.as_str().into(), flow.as_str().into(), time, cwnd]);
            }
            flows.insert((*number, flow));
        }
    }
    let flows: Vec<String> = flows.into_iter().map(|(_, flow)| flow).collect();
    let (value, title) = ("cwnd_segments", "congestion window (segments)");
    let names = NominalScale { field: "flow", title: "flow", all: &flows };
    let inner = spec_parts::lines(&names, value, title, 170, &[spec_parts::hint("flow", "flow")]);
    let shown = input.comparison.omission_note(&input.comparison.points_over_time());
    Figure {
        id: "windows-over-time".to_owned(),
        title: "Congestion windows over time".to_owned(),
        alt: rows.summary(&["panel", "flow"], value, title),
        caption: format!(
            "The windows of the flows 0 to {}, of the transports that have one{}. At most {BINS} points a \
             line: means of the rows of series.parquet between them.{shown}",
            FLOWS_WITH_WINDOWS - 1,
            input.of_several_seeds("; first seed")
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner, spec_parts::WIDE),
        rows,
        wide: true,
    }
}

/// The most flows that the figure shows by a line each; of more flows it shows quantiles.
const MAX_LINES: usize = 8;

/// Rates of flows: a line for each of a few flows, or quantiles over many flows.
pub(super) fn rates(input: &FigureData) -> Option<Figure> {
    let timed = || input.series.iter().filter(|(_, timed)| !timed.flows.is_empty());
    let most = timed().map(|(_, timed)| timed.flows.len()).max()?;
    if most < 2 {
        // A single flow's rate is the throughput.
        return None;
    }
    let rates = timed().flat_map(|(_, timed)| timed.flows.values());
    let unit = Unit::for_largest(rates.flat_map(|rate| rate.iter().map(|(_, bin)| bin.mean())), units::RATES);
    let (rows, inner, how) = if most <= MAX_LINES { lines(input, most, unit) } else { spread(input, unit) };
    let title = unit.title("rate of a flow");
    let alt = if most <= MAX_LINES {
        rows.summary(&["panel", "flow"], &unit.column("rate"), &title)
    } else {
        rows.summary(&["panel"], &unit.column("median"), &format!("median {title}"))
    };
    let shown = input.comparison.omission_note(&input.comparison.points_over_time());
    Some(Figure {
        id: "flow-rates-over-time".to_owned(),
        title: "Rates of flows over time".to_owned(),
        alt,
        caption: format!(
            "IP bytes that arrived, of each flow while it was there{}. {how} At most {BINS} points a line: \
             means of the rows of series.parquet between them.{shown}",
            input.of_several_seeds("; first seed")
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner, spec_parts::WIDE),
        rows,
        wide: true,
    })
}

/// Makes the dataset, spec and text of a figure with a line for each flow.
fn lines(input: &FigureData, most: usize, unit: Unit) -> (Dataset, Value, String) {
    let flows: Vec<String> = (0..most).map(|number| format!("flow {number}")).collect();
    let (value, title) = (unit.column("rate"), unit.title("rate of a flow"));
    let mut rows = Dataset::new(&["panel", "flow", "time_s", &value]);
    for (&(point, scheme), timed) in &input.series {
        let panel = input.comparison.panel(point, scheme);
        for (number, rate) in &timed.flows {
            for (_, bin) in rate.iter() {
                let words = [panel.as_str().into(), format!("flow {number}").into()];
                let figures = [units::round(bin.time).into(), unit.put(bin.mean()).into()];
                rows.rows.push(words.into_iter().chain(figures).collect());
            }
        }
    }
    let names = NominalScale { field: "flow", title: "flow", all: &flows };
    let inner = spec_parts::lines(&names, &value, &title, 170, &[spec_parts::hint("flow", "flow")]);
    (rows, inner, String::new())
}

/// The quantiles over active flows that the figure shows, with their labels.
const PARTS: [(&str, f64); 5] = [("least", 0.0), ("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("most", 1.0)];

fn spread(input: &FigureData, unit: Unit) -> (Dataset, Value, String) {
    let columns = PARTS.map(|(name, _)| unit.column(name));
    let mut rows = Dataset::new(&["panel", "time_s", "flows"]);
    rows.columns.extend(columns.iter().cloned());
    for (&(point, scheme), timed) in &input.series {
        let panel = input.comparison.panel(point, scheme);
        for (time, mut rates) in by_time(timed) {
            rates.sort_unstable_by(f64::total_cmp);
            let which = [panel.as_str().into(), units::round(time).into(), rates.len().into()];
            let parts = PARTS.map(|(_, part)| unit.put(nearest(&rates, part)).into());
            rows.rows.push(which.into_iter().chain(parts).collect());
        }
    }
    let how = "Line: the median of the flows; dark band: the half of them in the middle; light band: all.";
    (rows, bands(&columns, &unit.title("rate of a flow")), how.to_owned())
}

/// The rates of all flows in each bin, with the bin's time in seconds.
fn by_time(timed: &RunSeries) -> Vec<(f64, Vec<f64>)> {
    let mut bins: BTreeMap<usize, (f64, Vec<f64>)> = BTreeMap::new();
    for (place, bin) in timed.flows.values().flat_map(BinnedSeries::iter) {
        let (time, rates) = bins.entry(place).or_default();
        *time = time.max(bin.time);
        rates.push(bin.mean());
    }
    bins.into_values().collect()
}

/// The quantile `part` (0 to 1) of sorted values, by the nearest-rank method.
pub(super) fn nearest(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

fn bands(columns: &[String; 5], title: &str) -> Value {
    let [least, p25, median, p75, most] = columns;
    let band = |low: &str, high: &str, opacity: f64| {
        json!({
            "mark": { "type": "area", "color": colours::PALETTE[0], "opacity": opacity, "clip": true },
            "encoding": {
                "y": { "field": low, "type": "quantitative", "title": title },
                "y2": { "field": high },
            },
        })
    };
    let hints = json!([
        spec_parts::figure("time_s", "time (s)"),
        spec_parts::figure(least, "least"),
        spec_parts::figure(p25, "25 % have less than"),
        spec_parts::figure(median, "median"),
        spec_parts::figure(p75, "75 % have less than"),
        spec_parts::figure(most, "most"),
        spec_parts::hint("flows", "flows"),
    ]);
    let mut all = band(least, most, 0.35);
    all["params"] = json!([spec_parts::zoom()]);
    let line = json!({
        "mark": { "type": "line", "color": "currentColor", "strokeWidth": 1.4, "clip": true },
        "encoding": { "y": spec_parts::quantity(median, title), "tooltip": hints },
    });
    // Lines are thin: an invisible wider mark shows the tooltip.
    let catch = json!({
        "mark": { "type": "rule", "strokeWidth": 4, "opacity": 0 },
        "encoding": { "tooltip": hints },
    });
    json!({
        "height": 170,
        "encoding": { "x": spec_parts::quantity("time_s", "time (s)") },
        "layer": [all, band(p25, p75, 0.6), line, catch],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        let found = PARTS.map(|(_, part)| nearest(&sorted, part).to_string());
        assert_eq!(found, ["1", "1", "2", "3", "4"]);
        assert!(nearest(&[], 0.5).is_nan());
    }
}
