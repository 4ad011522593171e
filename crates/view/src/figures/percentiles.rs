//! Figure of completion times by size of flow: mean and percentiles.

use super::{lower_bounds, means, metrics as compared};
use crate::figure::{Dataset, Figure, number};
use crate::figure_data::{CLASSES, FigureData};
use crate::spec_parts::{self, NominalScale};
use serde_json::{Value, json};
use shallop_results::{Estimate, Summary};
use shallop_results::{metrics, summary::Statistic, units::thousands};

/// The statistics of completion times that the figure shows, with their labels.
const PARTS: [(Statistic, &str); 5] = [
    (Statistic::MeanS, "mean"),
    (Statistic::P50S, "50 %"),
    (Statistic::P95S, "95 %"),
    (Statistic::P99S, "99 %"),
    (Statistic::P999S, "99.9 %"),
];

pub(super) fn figure(summary: &Summary, input: &FigureData) -> Figure {
    let comparison = &input.comparison;
    let points = comparison.sample_points(6);
    let all = || summary.aggregates.iter().flat_map(estimates);
    let unit = compared::completion_unit(summary);
    let value = unit.column("completion_time");
    let columns = ["panel", "size", "scheme", "part", &value, &unit.column("low"), &unit.column("high")];
    let (mut rows, mut bounds) = (Dataset::new(&columns), Vec::new());
    for of in &summary.aggregates {
        let place = comparison.point(&of.point).zip(comparison.scheme(&of.scheme));
        let Some((point, scheme)) = place.filter(|(point, _)| points.contains(point)) else {
            continue;
        };
        for (class, part, estimate) in estimates(of) {
            let end = |end: Option<f64>| number(end.map(|end| unit.put(end)));
            if estimate.at_least {
                let size = CLASSES[class];
                bounds.push(format!("{} {size} {part}", comparison.panel(point, scheme)));
            }
            let words = [&*comparison.labels[point], CLASSES[class], &*comparison.schemes[scheme], part];
            let figures = [unit.put(estimate.mean).into(), end(estimate.low), end(estimate.high)];
            rows.rows.push(words.map(Value::from).into_iter().chain(figures).collect());
        }
    }
    let seeds = all().map(|(_, _, of)| of.n).max().unwrap_or(0);
    Figure {
        id: "completion-percentiles".to_owned(),
        title: "Completion times by size".to_owned(),
        alt: rows.summary(&["panel", "size", "scheme"], &value, &unit.title("completion time")),
        caption: format!(
            "Of the flows that count; unfinished ones have their age.{} {}{}{}",
            sizes(input),
            means(seeds).replace("whiskers and bands are", "hints say"),
            lower_bounds(&bounds),
            comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(
            &rows.texts("panel"),
            &inner(input, &rows, &value, &unit.title("completion time")),
            spec_parts::WIDE,
        ),
        rows,
        wide: true,
    }
}

/// The mean over seeds of each statistic of each size class.
fn estimates(of: &shallop_results::Aggregate) -> impl Iterator<Item = (usize, &'static str, Estimate)> + '_ {
    let classes = metrics::CLASSES.iter().enumerate();
    classes.flat_map(move |(class, rows)| {
        PARTS.iter().filter_map(move |(statistic, part)| {
            let metric = rows.iter().find(|row| row.statistic() == Some(*statistic))?;
            Some((class, *part, *of.get(metric)?))
        })
    })
}

/// A sentence for the caption that states the sizes of small and large flows.
fn sizes(input: &FigureData) -> String {
    input.classes.map_or_else(String::new, |classes| {
        let size = |bytes: u64| match bytes {
            0..1_000 => format!("{bytes} bytes"),
            _ if bytes.is_multiple_of(1_000) => format!("{} KB", thousands(bytes / 1_000)),
            _ => format!("{} KB", bytes as f64 / 1e3),
        };
        let [small, large] = [classes.small_bytes, classes.large_bytes].map(size);
        format!(" Small flows have up to {small} of payload, large ones more than {large}.")
    })
}

fn inner(input: &FigureData, rows: &Dataset, value: &str, title: &str) -> Value {
    let schemes = &input.comparison.schemes;
    let names = NominalScale { field: "scheme", title: "scheme", all: schemes };
    let parts: Vec<String> = PARTS.iter().map(|(_, part)| (*part).to_owned()).collect();
    let parts = NominalScale { field: "part", title: "mean or quantile", all: &parts };
    let along = spec_parts::spread(value, title, rows.numbers(value));
    let hints = json!([
        spec_parts::hint("scheme", "scheme"),
        spec_parts::hint("size", "size"),
        spec_parts::hint("part", "mean or quantile"),
        spec_parts::figure(value, title),
        spec_parts::figure(&value.replace("completion_time", "low"), "95 % interval from"),
        spec_parts::figure(&value.replace("completion_time", "high"), "to"),
    ]);
    let place = json!({
        "y": { "field": "size", "type": "nominal", "sort": CLASSES, "title": "size of the flow" },
        "yOffset": { "field": "scheme", "type": "nominal", "sort": schemes },
        "x": along,
        "color": names.colour(),
        "opacity": names.opacity(1.0),
    });
    json!({
        "height": { "step": 14, "for": "offset" },
        "encoding": place,
        "layer": [
            {
                "mark": { "type": "line", "strokeWidth": 1.5 },
                "params": [names.toggle()],
                "encoding": { "detail": { "field": "size" } },
            },
            {
                "mark": { "type": "point", "filled": true, "size": 55 },
                "encoding": { "shape": parts.grey_shape(), "tooltip": hints },
            },
        ],
    })
}
