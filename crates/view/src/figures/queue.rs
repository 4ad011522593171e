//! What waited in the longest data queue over time, for each scheme.

use crate::figure::{Figure, Rows};
use crate::gather::Gather;
use crate::marks::{self, Names};
use crate::series::BINS;
use crate::units::{self, Unit};

pub(super) fn figure(gather: &Gather) -> Option<Figure> {
    let timed = gather.timed.iter().filter(|(_, timed)| timed.queue.is_some());
    let most = timed.clone().flat_map(|(_, timed)| timed.waiting.1.iter().map(|(_, bin)| bin.most));
    let unit = Unit::of(most, units::SIZES);
    let measures = ["longest since the row before", "when sampled"].map(str::to_owned);
    let value = unit.column("queue");
    let mut rows = Rows::new(&["panel", "queue", "measure", "time_s", &value]);
    let mut panels = Vec::new();
    for (&(point, scheme), timed) in timed {
        let panel = gather.cases.panel(point, scheme);
        let queue = timed.queue.clone().unwrap_or_default();
        let mut add = |measure: &str, time: f64, bytes: f64| {
            let words = [&*panel, &*queue, measure].map(Into::into);
            let figures = [units::round(time), unit.put(bytes)].map(Into::into);
            rows.rows.push(words.into_iter().chain(figures).collect());
        };
        timed.waiting.1.iter().for_each(|(_, bin)| add(&measures[0], bin.time, bin.most));
        timed.waiting.0.iter().for_each(|(_, bin)| add(&measures[1], bin.time, bin.mean()));
        panels.push(panel);
    }
    if rows.is_empty() {
        return None;
    }
    let names = Names { field: "measure", title: "bytes in the queue", all: &measures };
    let title = unit.title("data queue");
    let hints = [marks::hint("queue", "queue"), marks::hint("measure", "measure")];
    let inner = marks::lines(&names, (&value, &title), 150, &hints);
    let points = gather.cases.timed();
    Some(Figure {
        id: "queue-over-time".to_owned(),
        title: "Data queue over time".to_owned(),
        caption: format!(
            "The data queue of a switch that was the longest of its run, under each scheme; first seed. At most {BINS} \
             points a line: the largest, and the mean, of the rows of series.parquet between them.{}",
            gather.cases.shown(&points)
        ),
        spec: marks::panels(&panels, &inner, marks::WIDE),
        rows,
        wide: true,
    })
}
