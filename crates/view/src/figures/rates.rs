//! Figure of flow rates over time: a line for each of a few flows, or quantiles over many flows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::binned_series::{BINS, BinnedSeries};
use crate::colours;
use crate::figure::{Dataset, Figure};
use crate::figure_data::{FigureData, RunSeries};
use crate::spec_parts::{self, NominalScale};
use shallop_results::units::{self, Unit};

/// The most flows that the figure shows by a line each; of more flows it shows quantiles.
const MAX_LINES: usize = 8;

pub(super) fn figure(input: &FigureData) -> Option<Figure> {
    let timed = || input.series.iter().filter(|(_, timed)| !timed.flows.is_empty());
    let most = timed().map(|(_, timed)| timed.flows.len()).max()?;
    if most < 2 {
        // A single flow's rate is the throughput.
        return None;
    }
    let panels: Vec<String> = timed().map(|(&(point, scheme), _)| input.comparison.panel(point, scheme)).collect();
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
        spec: spec_parts::panels(&panels, &inner, spec_parts::WIDE),
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
