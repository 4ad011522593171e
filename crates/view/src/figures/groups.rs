//! Figure of throughput over time, of all flows or of each group.

use serde_json::Value;

use crate::binned_series::BINS;
use crate::figure::{Dataset, Figure};
use crate::figure_data::FigureData;
use crate::spec_parts::{self, NominalScale};
use shallop_results::units::{self, Unit};

pub(super) fn figure(input: &FigureData) -> Option<Figure> {
    let all = || input.series.values().flat_map(|timed| &timed.groups);
    let mut groups: Vec<String> = Vec::new();
    for (name, _) in all() {
        if !groups.contains(name) {
            groups.push(name.clone());
        }
    }
    let several = groups.len() > 1;
    let rates = all().flat_map(|(_, rate)| rate.iter().map(|(_, bin)| bin.mean()));
    let unit = Unit::for_largest(rates, units::RATES);
    let value = unit.column("throughput");
    let mut rows = Dataset::new(&["panel", "scheme", "group", "time_s", &value]);
    let mut panels = Vec::new();
    for (&(point, scheme), timed) in &input.series {
        let comparison = &input.comparison;
        // Groups of a scheme are compared with each other, the one group of all schemes with theirs.
        let panel = if several { comparison.panel(point, scheme) } else { comparison.labels[point].clone() };
        for (group, rate) in &timed.groups {
            for (_, bin) in rate.iter() {
                let words = [&*panel, &*comparison.schemes[scheme], &**group].map(Value::from);
                let figures = [units::round(bin.time), unit.put(bin.mean())].map(Value::from);
                rows.rows.push(words.into_iter().chain(figures).collect());
            }
        }
        if !panels.contains(&panel) {
            panels.push(panel);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let names = if several {
        NominalScale { field: "group", title: "group", all: &groups }
    } else {
        NominalScale { field: "scheme", title: "scheme", all: &input.comparison.schemes }
    };
    let hints = [spec_parts::hint("scheme", "scheme"), spec_parts::hint("group", "group")];
    let inner = spec_parts::lines(&names, &value, &unit.title("throughput"), 220, &hints);
    let points = input.comparison.points_over_time();
    Some(Figure {
        id: "throughput-over-time".to_owned(),
        title: if several { "Throughput by group over time" } else { "Throughput over time" }.to_owned(),
        alt: rows.summary(&["panel", "scheme", "group"], &value, &unit.title("throughput")),
        caption: format!(
            "IP bytes that arrived{}. At most {BINS} points a line: means of the rows of series.parquet \
             between them.{}",
            input.of_several_seeds("; first seed"),
            input.comparison.omission_note(&points)
        ),
        spec: spec_parts::panels(&panels, &inner, spec_parts::WIDE),
        rows,
        wide: true,
    })
}
