//! Figure of completion times: the fraction of flows that are complete after a time.

use super::metrics::completion_unit;
use crate::figure::{Dataset, Figure};
use crate::figure_data::{CLASSES, FigureData, Flows};
use crate::spec_parts::{self, NominalScale};
use crate::text::thousands;
use serde_json::{Value, json};
use shallop_results::{Summary, units};

/// The most quantiles in a curve. With fewer flows, each flow is a point of the curve.
const STEPS: usize = 200;

pub(super) fn figure(summary: &Summary, input: &FigureData) -> Figure {
    let classes = if input.classes.is_some() { 0..CLASSES.len() } else { 0..1 };
    let points = input.comparison.sample_points(if input.classes.is_some() { 2 } else { 6 });
    let unit = completion_unit(summary);
    let value = unit.column("completion_time");
    let mut rows = Dataset::new(&["panel", "scheme", "flows", &value, "complete_percent"]);
    let mut open = Vec::new();
    for &point in &points {
        for class in classes.clone() {
            let name = panel(&input.comparison.labels[point], class, input.classes.is_some());
            for scheme in 0..input.comparison.schemes.len() {
                let Some(flows) = input.flows.get(&(point, scheme)) else { continue };
                let label = &input.comparison.schemes[scheme];
                let (curve, all) = curve(input, flows, class);
                for (time, part) in &curve {
                    let which = [name.as_str().into(), label.as_str().into(), all.into()];
                    let figures = [unit.put(*time).into(), units::round(part * 100.0).into()];
                    rows.rows.push(which.into_iter().chain(figures).collect());
                }
                if class == 0 && flows.incomplete[0] > 0 {
                    let count = thousands(flows.incomplete[0]);
                    open.push(format!("{} {count}", input.comparison.panel(point, scheme)));
                }
            }
        }
    }
    let title = unit.title("completion time");
    let across = spec_parts::spread(&value, &title, rows.numbers(&value));
    Figure {
        id: "completion-times".to_owned(),
        title: "Completion times".to_owned(),
        alt: rows.summary(&["panel", "scheme"], &value, &title),
        caption: caption(
            &open,
            input.of_several_seeds("; flows of all seeds together"),
            &input.comparison.omission_note(&points),
        ),
        spec: spec_parts::panels(&rows.texts("panel"), &inner(input, &value, &across), spec_parts::WIDE),
        rows,
        wide: true,
    }
}

fn panel(point: &str, class: usize, told: bool) -> String {
    match (point.is_empty(), told) {
        (true, _) => format!("{} flows", CLASSES[class]),
        (false, false) => point.to_owned(),
        (false, true) => format!("{} flows · {point}", CLASSES[class]),
    }
}

/// Computes the curve of a class of flows: completion times, each with the fraction of flows that are complete by then.
/// Also returns the number of all flows of the class, complete or not.
fn curve(input: &FigureData, flows: &Flows, class: usize) -> (Vec<(f64, f64)>, u64) {
    let of_class = flows.completed.iter().filter(|done| class == 0 || input.class(done.size_bytes) == class);
    let mut times: Vec<f32> = of_class.map(|done| done.fct_s).collect();
    times.sort_unstable_by(f32::total_cmp);
    let all = times.len() as u64 + flows.incomplete[class];
    let last = times.len().saturating_sub(1);
    let steps = last.min(STEPS);
    let mut ranks: Vec<usize> = (0..=steps).map(|step| step * last / steps.max(1)).collect();
    ranks.dedup();
    let at = |rank: usize| Some((f64::from(*times.get(rank)?), (rank + 1) as f64 / all as f64));
    (ranks.into_iter().filter_map(at).collect(), all)
}

fn caption(open: &[String], together: &str, shown: &str) -> String {
    let open = match open {
        [] => "Every flow that counts finished.".to_owned(),
        some => format!("Not finished at the end of the run, so that curves end below 100 %: {}.", some.join("; ")),
    };
    format!(
        "The part of the flows that count, finished or not, that were complete after a time{together}. A curve is \
         drawn through {STEPS} quantiles, the first and the last flow exactly. {open}{shown}"
    )
}

fn inner(input: &FigureData, value: &str, across: &Value) -> Value {
    let names = NominalScale { field: "scheme", title: "scheme", all: &input.comparison.schemes };
    let [colour, dash] = names.line();
    json!({
        "height": 190,
        "mark": { "type": "line", "interpolate": "step-after", "strokeWidth": 1.6, "clip": true },
        "params": [names.toggle(), spec_parts::zoom()],
        "encoding": {
            "x": across,
            "y": spec_parts::quantity("complete_percent", "flows complete (%)"),
            "color": colour,
            "strokeDash": dash,
            "opacity": names.opacity(1.0),
            "tooltip": [
                spec_parts::hint("scheme", "scheme"),
                spec_parts::figure(value, across["title"].as_str().unwrap_or_default()),
                spec_parts::figure("complete_percent", "flows complete (%)"),
                spec_parts::hint("flows", "flows"),
            ],
        },
    })
}
