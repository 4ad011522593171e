//! Congestion windows of the first flows over time, of runs that record flows.

use serde_json::json;

use crate::binned_series::BINS;
use crate::figure::{Dataset, Figure};
use crate::figure_data::{FLOWS_WITH_WINDOWS, FigureData};
use crate::spec_parts::{self, NominalScale};
use shallop_results::units;

pub(super) fn figure(input: &FigureData) -> Option<Figure> {
    let mut rows = Dataset::new(&["panel", "flow", "time_s", "cwnd_segments"]);
    let (mut panels, mut flows) = (Vec::new(), Vec::new());
    for (&(point, scheme), timed) in input.series.iter().filter(|(_, it)| !it.windows.is_empty()) {
        let panel = input.comparison.panel(point, scheme);
        for (number, windows) in &timed.windows {
            let flow = format!("flow {number}");
            for (_, bin) in windows.iter() {
                let figures = [units::round(bin.time), units::round(bin.mean())];
                let [time, cwnd] = figures.map(|figure| json!(figure));
                rows.push([panel.as_str().into(), flow.as_str().into(), time, cwnd]);
            }
            if !flows.contains(&(*number, flow.clone())) {
                flows.push((*number, flow));
            }
        }
        panels.push(panel);
    }
    if panels.is_empty() {
        return None;
    }
    flows.sort_unstable();
    let flows: Vec<String> = flows.into_iter().map(|(_, flow)| flow).collect();
    let (value, title) = ("cwnd_segments", "congestion window (segments)");
    let names = NominalScale { field: "flow", title: "flow", all: &flows };
    let inner = spec_parts::lines(&names, value, title, 170, &[spec_parts::hint("flow", "flow")]);
    let shown = input.comparison.omission_note(&input.comparison.points_over_time());
    Some(Figure {
        id: "windows-over-time".to_owned(),
        title: "Congestion windows over time".to_owned(),
        alt: rows.summary(&["panel", "flow"], value, title),
        caption: format!(
            "The windows of the flows 0 to {}, of the transports that have one{}. At most {BINS} points a \
             line: means of the rows of series.parquet between them.{shown}",
            FLOWS_WITH_WINDOWS - 1,
            input.of_several_seeds("; first seed")
        ),
        spec: spec_parts::panels(&panels, &inner, spec_parts::WIDE),
        rows,
        wide: true,
    })
}
