//! The figure of an advice: each candidate by two metrics, of which less is better, and those on the Pareto front.

use crate::figure::{Dataset, Figure};
use crate::spec_parts::{self, HALF, NominalScale, SCHEMA};
use serde_json::json;
use shallop_results::advice::Advice;
use shallop_results::claim_fields::quantity;
use shallop_results::metrics::{Metric, find};
use shallop_results::units::Unit;

const KINDS: [&str; 2] = ["on the Pareto front", "another is better in both"];

/// Makes the figure; without rows if no candidate has both metrics.
pub fn figure(advice: &Advice, paths: [&str; 2]) -> Figure {
    let [x, y] = paths.map(|path| (path, find(path).map_or_else(|| path.to_owned(), Metric::title)));
    let mean = |at: usize, path: &str| advice.candidates[at].metrics.get(path).map(|estimate| estimate.mean);
    let placed = (0..advice.candidates.len()).filter_map(|at| Some((at, mean(at, x.0)?, mean(at, y.0)?)));
    let placed: Vec<(usize, f64, f64)> = placed.collect();
    let unit = |path: &str, values: Vec<f64>| Unit::for_largest(values, quantity(path).shown());
    let across = unit(x.0, placed.iter().map(|place| place.1).collect());
    let up = unit(y.0, placed.iter().map(|place| place.2).collect());
    let mut rows = Dataset::new(&["candidate", "place", "x", "y"]);
    for &(at, a, b) in &placed {
        let beaten = placed.iter().any(|&(_, c, d)| c <= a && d <= b && (c, d) != (a, b));
        let kind = KINDS[usize::from(beaten)].into();
        rows.push([advice.candidates[at].name.clone().into(), kind, across.put(a).into(), up.put(b).into()]);
    }
    let [across, up] = [across.title(&x.1), up.title(&y.1)];
    let kinds = KINDS.map(str::to_owned);
    let names = NominalScale { field: "place", title: "candidates", all: &kinds };
    let spec = json!({
        "$schema": SCHEMA,
        "width": 2 * HALF,
        "height": 300,
        "mark": { "type": "point", "filled": true, "size": 70 },
        "params": [spec_parts::zoom()],
        "encoding": {
            "x": spec_parts::spread("x", &across, rows.numbers("x")),
            "y": spec_parts::spread("y", &up, rows.numbers("y")),
            "color": names.colour(),
            "shape": names.shape(),
            "tooltip": [
                spec_parts::hint("candidate", "candidate"),
                spec_parts::figure("x", &across),
                spec_parts::figure("y", &up),
            ],
        },
    });
    let caption = "Means over the seeds of each candidate, of which there are fewer if it was out early. No candidate \
                   is better in both than one on the front.";
    Figure {
        id: "trade-off".to_owned(),
        title: format!("{} against {}", y.1, x.1),
        alt: format!("{} {}", rows.summary(&["candidate"], "x", &across), rows.summary(&["candidate"], "y", &up)),
        caption: caption.to_owned(),
        rows,
        spec,
        wide: true,
    }
}
