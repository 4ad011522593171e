//! Percentiles of completion times by size of the flow.

use serde_json::{Value, json};

use super::means;
use crate::figure::{Figure, Rows, number};
use crate::gather::{CLASSES, Gather};
use crate::marks::{self, Names};
use crate::summary::{Estimate, Summary};
use crate::text::thousands;
use crate::units::{self, Unit};

/// Fields of a class of flows, and what they are called.
const PARTS: [(&str, &str); 5] = [
    ("mean_s", "mean"),
    ("p50_s", "50 %"),
    ("p95_s", "95 %"),
    ("p99_s", "99 %"),
    ("p999_s", "99.9 %"),
];

pub(super) fn figure(summary: &Summary, gather: &Gather) -> Option<Figure> {
    let cases = &gather.cases;
    let points = cases.some(6);
    let all = || summary.aggregates.iter().flat_map(estimates);
    let unit = Unit::of(all().map(|(_, _, of)| of.mean), units::TIMES);
    // The largest figure is a tail: half of it would be thousands of the next unit.
    let value = unit.column("completion_time");
    let columns =
        ["panel", "size", "scheme", "part", &value, &unit.column("low"), &unit.column("high")];
    let mut rows = Rows::new(&columns);
    for of in &summary.aggregates {
        let place = cases.point(&of.point).zip(cases.scheme(&of.scheme));
        let Some((point, scheme)) = place.filter(|(point, _)| points.contains(point)) else {
            continue;
        };
        for (class, part, estimate) in estimates(of) {
            let end = |sign: f64| {
                let half = estimate.ci95.filter(|half| half.is_finite())?;
                Some(unit.put((estimate.mean + sign * half).max(0.0)))
            };
            let words = [&*cases.brief(point), CLASSES[class], &*cases.schemes[scheme], part];
            let figures = [unit.put(estimate.mean).into(), number(end(-1.0)), number(end(1.0))];
            rows.rows.push(words.map(Value::from).into_iter().chain(figures).collect());
        }
    }
    if rows.is_empty() {
        return None;
    }
    let seeds = all().map(|(_, _, of)| of.n).max().unwrap_or(0);
    let panels: Vec<String> = points.iter().map(|&at| cases.brief(at)).collect();
    Some(Figure {
        id: "completion-percentiles".to_owned(),
        title: "Completion times by size".to_owned(),
        caption: format!(
            "Of the flows that count and finished.{} {}{}",
            sizes(gather),
            means(seeds).replace("whiskers and bands", "hints say"),
            cases.shown(&points)
        ),
        spec: marks::panels(
            &panels,
            &inner(gather, &rows, &value, &unit.title("completion time")),
            marks::WIDE,
        ),
        rows,
        wide: true,
    })
}

/// Means over seeds of each part of each class.
fn estimates(
    of: &crate::summary::Aggregate,
) -> impl Iterator<Item = (usize, &'static str, Estimate)> + '_ {
    let classes = CLASSES.iter().enumerate();
    classes.flat_map(move |(class, name)| {
        PARTS.iter().filter_map(move |(field, part)| {
            let estimate = of.metrics.get(&format!("fct.{name}.{field}"))?;
            Some((class, *part, *estimate))
        })
    })
}

/// What small and large mean.
fn sizes(gather: &Gather) -> String {
    gather.classes.map_or_else(String::new, |classes| {
        let [small, large] = [classes.small_bytes, classes.large_bytes].map(thousands);
        format!(" Small flows have up to {small} B of payload, large ones more than {large} B.")
    })
}

fn inner(gather: &Gather, rows: &Rows, value: &str, title: &str) -> Value {
    let schemes = &gather.cases.schemes;
    let names = Names { field: "scheme", title: "scheme", all: schemes };
    let parts: Vec<String> = PARTS.iter().map(|(_, part)| (*part).to_owned()).collect();
    let parts = Names { field: "part", title: "flows up to", all: &parts };
    let along = marks::spread(value, title, rows.numbers(value));
    let hints = json!([
        marks::hint("scheme", "scheme"),
        marks::hint("size", "size"),
        marks::hint("part", "flows up to"),
        marks::figure(value, title),
        marks::figure(&value.replace("completion_time", "low"), "95 % interval from"),
        marks::figure(&value.replace("completion_time", "high"), "to"),
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
                "encoding": { "shape": parts.shape(), "tooltip": hints },
            },
        ],
    })
}
