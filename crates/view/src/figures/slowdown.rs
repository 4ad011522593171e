//! Slowdown against size: how much longer flows took than on an empty network.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rates::nearest;
use crate::figure::{Figure, Rows};
use crate::gather::{Flows, Gather};
use crate::marks::{self, Names};
use crate::units;

/// Bins of sizes in a power of ten.
const IN_TEN: f64 = 4.0;
/// With fewer flows in a bin there is no 99th percentile.
const ENOUGH: usize = 100;

pub(super) fn figure(gather: &Gather) -> Option<Figure> {
    let (cases, points) = (&gather.cases, gather.cases.some(6));
    let parts = ["median", "99 %"].map(str::to_owned);
    let mut rows = Rows::new(&["panel", "scheme", "part", "size_bytes", "slowdown", "flows"]);
    for &point in &points {
        for (scheme, label) in cases.schemes.iter().enumerate() {
            let Some(flows) = gather.flows.get(&(point, scheme)) else { continue };
            for (size, mut slowdowns) in by_size(flows) {
                slowdowns.sort_unstable_by(f64::total_cmp);
                let mut add = |part: &str, value: f64| {
                    let words = [&*cases.brief(point), &**label, part].map(Value::from);
                    let figures = [
                        units::round(size).into(),
                        units::round(value).into(),
                        slowdowns.len().into(),
                    ];
                    rows.rows.push(words.into_iter().chain(figures).collect());
                };
                add(&parts[0], nearest(&slowdowns, 0.5));
                if slowdowns.len() >= ENOUGH {
                    add(&parts[1], nearest(&slowdowns, 0.99));
                }
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let panels: Vec<String> = points.iter().map(|&at| cases.brief(at)).collect();
    Some(Figure {
        id: "slowdown-by-size".to_owned(),
        title: "Slowdown against size".to_owned(),
        caption: format!(
            "Completion time as a multiple of that on an empty network (docs/model.md), of the flows that count and \
             finished, all seeds together. A point stands for the flows of a quarter of a power of ten, at the middle \
             of their sizes; the 99th percentile where there are at least {ENOUGH} of them.{}",
            cases.shown(&points)
        ),
        spec: marks::panels(&panels, &inner(gather, &rows, &parts), marks::WIDE),
        rows,
        wide: true,
    })
}

/// Slowdowns by size: the geometric mean of the sizes of each bin.
fn by_size(flows: &Flows) -> Vec<(f64, Vec<f64>)> {
    let mut bins: BTreeMap<i64, (f64, Vec<f64>)> = BTreeMap::new();
    for done in flows.done.iter().filter(|done| !done.slowdown.is_nan() && done.size_bytes > 0) {
        let power = libm::log10(done.size_bytes as f64);
        let (sum, slowdowns) = bins.entry(libm::floor(power * IN_TEN) as i64).or_default();
        *sum += power;
        slowdowns.push(f64::from(done.slowdown));
    }
    let middle = |(sum, slowdowns): (f64, Vec<f64>)| {
        (libm::pow(10.0, sum / slowdowns.len() as f64), slowdowns)
    };
    bins.into_values().map(middle).collect()
}

fn inner(gather: &Gather, rows: &Rows, parts: &[String]) -> Value {
    let names = Names { field: "scheme", title: "scheme", all: &gather.cases.schemes };
    let parts = Names { field: "part", title: "flows up to", all: parts };
    let channels = json!({
        "x": marks::spread("size_bytes", "size of the flow (B)", rows.numbers("size_bytes")),
        "y": marks::spread("slowdown", "slowdown", rows.numbers("slowdown")),
        "color": names.colour(),
        "opacity": names.opacity(1.0),
    });
    let hints = json!([
        marks::hint("scheme", "scheme"),
        marks::hint("part", "flows up to"),
        marks::figure("size_bytes", "size (B)"),
        marks::figure("slowdown", "slowdown"),
        marks::hint("flows", "flows in the bin"),
    ]);
    json!({
        "height": 230,
        "encoding": channels,
        "layer": [
            {
                "mark": { "type": "line", "strokeWidth": 1.5, "clip": true },
                "params": [names.toggle(), marks::zoom()],
                "encoding": { "strokeDash": parts.dash() },
            },
            {
                "mark": { "type": "point", "filled": true, "size": 40, "clip": true },
                "encoding": { "shape": names.shape(), "tooltip": hints },
            },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::Done;

    #[test]
    fn flows_of_one_size_are_at_that_size() {
        let done = |size_bytes, slowdown| Done { fct_s: 1.0, slowdown, size_bytes };
        let flows = Flows {
            done: vec![done(100_000, 2.0), done(100_000, 3.0), done(10, 1.0), done(10, f32::NAN)],
            open: [0; 4],
        };
        let bins = by_size(&flows);
        assert_eq!(bins.len(), 2);
        assert!((bins[1].0 - 100_000.0).abs() < 1e-6 && bins[1].1 == [2.0, 3.0]);
        assert_eq!(bins[0].1, [1.0]);
    }
}
