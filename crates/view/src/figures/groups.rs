//! Throughput over time, of all flows or by group.

use serde_json::Value;

use crate::figure::{Figure, Rows};
use crate::gather::Gather;
use crate::marks::{self, Names};
use crate::series::BINS;
use crate::units::{self, Unit};

pub(super) fn figure(gather: &Gather) -> Option<Figure> {
    let all = || gather.timed.values().flat_map(|timed| &timed.groups);
    let mut groups: Vec<String> = Vec::new();
    for (name, _) in all() {
        if !groups.contains(name) {
            groups.push(name.clone());
        }
    }
    let several = groups.len() > 1;
    let rates = all().flat_map(|(_, rate)| rate.iter().map(|(_, bin)| bin.mean()));
    let unit = Unit::of(rates, units::RATES);
    let value = unit.column("throughput");
    let mut rows = Rows::new(&["panel", "scheme", "group", "time_s", &value]);
    let mut panels = Vec::new();
    for (&(point, scheme), timed) in &gather.timed {
        let cases = &gather.cases;
        // Groups of a scheme are compared with each other, the one group of all schemes with theirs.
        let panel = if several { cases.panel(point, scheme) } else { cases.brief(point) };
        for (group, rate) in &timed.groups {
            for (_, bin) in rate.iter() {
                let words = [&*panel, &*cases.schemes[scheme], &**group].map(Value::from);
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
        Names { field: "group", title: "group", all: &groups }
    } else {
        Names { field: "scheme", title: "scheme", all: &gather.cases.schemes }
    };
    let hints = [marks::hint("scheme", "scheme"), marks::hint("group", "group")];
    let inner = marks::lines(&names, (&value, &unit.title("throughput")), 220, &hints);
    let points = gather.cases.timed();
    Some(Figure {
        id: "throughput-over-time".to_owned(),
        title: if several { "Throughput by group over time" } else { "Throughput over time" }
            .to_owned(),
        caption: format!(
            "IP bytes that arrived; first seed. At most {BINS} points a line: means of the rows of series.parquet \
             between them.{}",
            gather.cases.shown(&points)
        ),
        spec: marks::panels(&panels, &inner, marks::WIDE),
        rows,
        wide: true,
    })
}
