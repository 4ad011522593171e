//! Figure of slowdown against flow size.

use super::over_time::nearest;
use crate::colours;
use crate::figure::{Dataset, Figure};
use crate::figure_data::{FigureData, Flows};
use crate::spec_parts::{self, NominalScale};
use serde_json::{Value, json};
use shallop_results::units;
use std::collections::BTreeMap;

/// The number of bins for each factor of ten in flow size.
const PER_DECADE: f64 = 4.0;
/// The least number of flows in a bin for which the 99th percentile is shown.
const MIN_FLOWS: usize = 100;

pub(super) fn figure(input: &FigureData) -> Figure {
    let (comparison, points) = (&input.comparison, input.comparison.sample_points(6));
    let parts = ["median", "99 %"].map(str::to_owned);
    let mut rows = Dataset::new(&["panel", "scheme", "part", "size_kb", "slowdown", "flows"]);
    for &point in &points {
        for (scheme, label) in comparison.schemes.iter().enumerate() {
            let Some(flows) = input.flows.get(&(point, scheme)) else { continue };
            for (size, mut slowdowns) in by_size(flows) {
                slowdowns.sort_unstable_by(f64::total_cmp);
                let mut add = |part: &str, value: f64| {
                    let words = [&*comparison.labels[point], &**label, part].map(Value::from);
                    let figures =
                        [units::KILOBYTES.put(size).into(), units::round(value).into(), slowdowns.len().into()];
                    rows.rows.push(words.into_iter().chain(figures).collect());
                };
                add(&parts[0], nearest(&slowdowns, 0.5));
                if slowdowns.len() >= MIN_FLOWS {
                    add(&parts[1], nearest(&slowdowns, 0.99));
                }
            }
        }
    }
    Figure {
        id: "slowdown-by-size".to_owned(),
        title: "Slowdown against size".to_owned(),
        alt: rows.summary(&["panel", "scheme", "part"], "slowdown", "Slowdown"),
        caption: format!(
            "Slowdown: the completion time of a flow over the time in which its packets cross an idle network, \
             without handshake or ramp; of the flows that count and finished{}. A point stands for the flows of a \
             quarter of a power of ten, at the middle of their sizes; the 99th percentile where there are at least \
             {MIN_FLOWS} of them.{}",
            input.of_several_seeds(", all seeds together"),
            comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner(input, &rows, &parts), spec_parts::WIDE),
        rows,
        wide: true,
    }
}

/// Groups the slowdowns of flows in bins by size. Each bin is named by the geometric mean of its flows' sizes.
fn by_size(flows: &Flows) -> Vec<(f64, Vec<f64>)> {
    let mut bins: BTreeMap<i64, (f64, Vec<f64>)> = BTreeMap::new();
    for done in flows.completed.iter().filter(|done| !done.slowdown.is_nan() && done.size_bytes > 0) {
        let power = libm::log10(done.size_bytes as f64);
        let (sum, slowdowns) = bins.entry(libm::floor(power * PER_DECADE) as i64).or_default();
        *sum += power;
        slowdowns.push(f64::from(done.slowdown));
    }
    let middle = |(sum, slowdowns): (f64, Vec<f64>)| (libm::pow(10.0, sum / slowdowns.len() as f64), slowdowns);
    bins.into_values().map(middle).collect()
}

fn inner(input: &FigureData, rows: &Dataset, parts: &[String]) -> Value {
    let names = NominalScale { field: "scheme", title: "scheme", all: &input.comparison.schemes };
    let parts = NominalScale { field: "part", title: "quantile of the flows", all: parts };
    let channels = json!({
        "x": spec_parts::spread("size_kb", "size of the flow (KB)", rows.numbers("size_kb")),
        "y": spec_parts::spread("slowdown", "slowdown", rows.numbers("slowdown")),
        "color": names.colour(),
        "opacity": names.opacity(1.0),
    });
    let hints = json!([
        spec_parts::hint("scheme", "scheme"),
        spec_parts::hint("part", "quantile of the flows"),
        spec_parts::figure("size_kb", "size (KB)"),
        spec_parts::figure("slowdown", "slowdown"),
        spec_parts::hint("flows", "flows in the bin"),
    ]);
    let [_, mut dash] = parts.line();
    dash["legend"]["symbolStrokeColor"] = json!(colours::GREY);
    json!({
        "height": 230,
        "encoding": channels,
        "layer": [
            {
                "mark": { "type": "line", "strokeWidth": 1.5, "clip": true },
                "params": [names.toggle(), spec_parts::zoom()],
                "encoding": { "strokeDash": dash },
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
    use crate::figure_data::CompletedFlow;

    #[test]
    fn flows_of_one_size_are_at_that_size() {
        let done = |size_bytes, slowdown| CompletedFlow { fct_s: 1.0, slowdown, size_bytes };
        let flows = Flows {
            completed: vec![done(100_000, 2.0), done(100_000, 3.0), done(10, 1.0), done(10, f32::NAN)],
            incomplete: [0; 4],
        };
        let bins = by_size(&flows);
        assert_eq!(bins.len(), 2);
        assert!((bins[1].0 - 100_000.0).abs() < 1e-6 && bins[1].1 == [2.0, 3.0]);
        assert_eq!(bins[0].1, [1.0]);
    }
}
