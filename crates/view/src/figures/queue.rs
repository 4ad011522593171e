//! Figure of the longest data queue over time, one line for each scheme.

use crate::binned_series::BINS;
use crate::figure::{Dataset, Figure};
use crate::figure_data::FigureData;
use crate::spec_parts::{self, NominalScale};
use shallop_results::units;

pub(super) fn figure(input: &FigureData) -> Option<Figure> {
    let timed = input.series.iter().filter(|(_, timed)| timed.queue.is_some());
    let unit = units::KILOBYTES;
    let measures = ["longest since the sample before", "when sampled"].map(str::to_owned);
    let value = unit.column("queue");
    let mut rows = Dataset::new(&["panel", "queue", "measure", "time_s", &value]);
    let mut panels = Vec::new();
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
        panels.push(panel);
    }
    if rows.is_empty() {
        return None;
    }
    let names = NominalScale { field: "measure", title: "bytes in the queue", all: &measures };
    let title = unit.title("data queue");
    let hints = [spec_parts::hint("queue", "queue"), spec_parts::hint("measure", "measure")];
    let inner = spec_parts::lines(&names, &value, &title, 150, &hints);
    let points = input.comparison.points_over_time();
    Some(Figure {
        id: "queue-over-time".to_owned(),
        title: "Data queue over time".to_owned(),
        alt: rows.summary(&["panel", "measure"], &value, &title),
        caption: format!(
            "The data queue of a switch that was the longest of its run, under each scheme{}. At most {BINS} \
             points a line: the largest, and the mean, of the rows of series.parquet between them.{}",
            input.of_several_seeds("; first seed"),
            input.comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(&panels, &inner, spec_parts::WIDE),
        rows,
        wide: true,
    })
}
