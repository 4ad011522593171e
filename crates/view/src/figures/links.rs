//! Figure of links: utilisation and longest queue of the links with the largest loss and of the busiest links.

use crate::figure::{Dataset, Figure, number};
use crate::figure_data::FigureData;
use crate::spec_parts::{self, NominalScale};
use serde_json::{Value, json};
use shallop_results::links::{LinkMeans, chosen, means};
use shallop_results::units;
use shallop_results::{Run, Summary};
use std::collections::BTreeMap;

const MAX_LINKS: usize = 12;
/// A network with at most this many links, counted by direction, has no such figure: other figures show its one queue.
const FEW: usize = 6;

pub(super) fn figure(summary: &Summary, input: &FigureData) -> Option<Figure> {
    let comparison = &input.comparison;
    let first = comparison.points.first()?;
    let of_scheme = |scheme: &String| {
        let runs = summary.runs.iter();
        means(runs.filter(|run: &&Run| run.point == first.set && run.scheme == *scheme))
    };
    let all: Vec<Vec<(&str, LinkMeans)>> = comparison.schemes.iter().map(of_scheme).collect();
    let (links, worst) = worst_of_any(&all);
    if links.len() <= FEW {
        return None;
    }
    let unit = units::KILOBYTES;
    let (used, queue) = (units::PERCENT.column("utilization"), unit.column("longest_queue"));
    let columns = ["link", "scheme", &used, &queue, "loss_percent", "rate_gbps", "offered_percent"];
    let mut rows = Dataset::new(&columns);
    let shown: Vec<String> = chosen(&worst, MAX_LINKS).into_iter().map(|index| links[index].to_owned()).collect();
    for (scheme, links) in comparison.schemes.iter().zip(&all) {
        for (place, link) in links.iter().filter(|(place, _)| shown.iter().any(|it| it == place)) {
            let longest = link.max_queue_bytes.map(|bytes| unit.put(bytes as f64));
            let words = [(*place).into(), scheme.as_str().into()];
            let figures = [
                units::PERCENT.put(link.utilization).into(),
                number(longest),
                units::PERCENT.put(link.loss_rate).into(),
                (link.rate_bps as f64 / 1e9).into(),
                number(link.offered.map(|offered| units::PERCENT.put(offered))),
            ];
            rows.rows.push(words.into_iter().chain(figures).collect());
        }
    }
    let more = links.len() - shown.len();
    let has_unmeasured = rows.rows.iter().any(|row| row[3].is_null());
    Some(Figure {
        id: "links".to_owned(),
        title: "Links: utilisation and longest queue".to_owned(),
        alt: rows.summary(&["link", "scheme"], &used, "utilisation (%)"),
        caption: caption(input, more, has_unmeasured),
        spec: spec(input, &rows, &shown, [(&used, "utilisation (%)"), (&queue, &unit.title("longest queue"))]),
        rows,
        wide: true,
    })
}

/// Merges the links of all schemes: each link has the largest values that it has under any scheme.
fn worst_of_any<'a>(all: &[Vec<(&'a str, LinkMeans)>]) -> (Vec<&'a str>, Vec<LinkMeans>) {
    let mut links: BTreeMap<&str, LinkMeans> = BTreeMap::new();
    for (place, link) in all.iter().flatten() {
        let worst = links.entry(place).or_default();
        worst.utilization = worst.utilization.max(link.utilization);
        worst.loss_rate = worst.loss_rate.max(link.loss_rate);
        worst.marks = worst.marks.max(link.marks);
    }
    links.into_iter().unzip()
}

fn caption(input: &FigureData, more: usize, has_unmeasured: bool) -> String {
    let rest = match more {
        0 => String::new(),
        more => format!(" {more} directions more are not shown."),
    };
    let unmeasured = if has_unmeasured { " Links without a bar are of hosts, inside which packets wait." } else { "" };
    format!(
        "Each direction of a link, named by the nodes from and to which it leads: those that lost or marked packets \
         first, by their loss, and then the busiest.{}{unmeasured}{rest}{}",
        input.of_several_seeds(" Means over seeds, and of the queue the longest of any seed."),
        input.comparison.omission_note(&[0])
    )
}

fn spec(input: &FigureData, rows: &Dataset, links: &[String], parts: [(&str, &str); 2]) -> Value {
    let schemes = &input.comparison.schemes;
    let names = NominalScale { field: "scheme", title: "scheme", all: schemes };
    let hints = json!([
        spec_parts::hint("link", "link"),
        spec_parts::hint("scheme", "scheme"),
        spec_parts::figure(parts[0].0, parts[0].1),
        spec_parts::figure(parts[1].0, parts[1].1),
        spec_parts::figure("loss_percent", "loss (%)"),
        spec_parts::figure("rate_gbps", "rate (Gb/s)"),
        spec_parts::figure("offered_percent", "offered load (%)"),
    ]);
    let part = |(index, (field, title)): (usize, (&str, &str))| {
        let mut place = json!({ "field": "link", "type": "nominal", "sort": links, "title": null });
        place["axis"] = if index == 0 {
            json!({ "labelOverlap": false })
        } else {
            // The names stand beside the first part.
            json!({ "labels": false, "ticks": false, "domain": true })
        };
        let mut colour = names.colour();
        if schemes.len() == 1 {
            colour["legend"] = Value::Null;
        }
        json!({
            "width": spec_parts::HALF - 60,
            // A link with one bar is as high as its name.
            "height": { "step": if schemes.len() == 1 { 17 } else { 12 }, "for": "offset" },
            "mark": { "type": "bar" },
            "encoding": {
                "y": place,
                "yOffset": { "field": "scheme", "type": "nominal", "sort": schemes },
                "x": spec_parts::amount(field, title, rows.numbers(field)),
                "color": colour,
                "tooltip": hints,
            },
        })
    };
    json!({
        "$schema": spec_parts::SCHEMA,
        "hconcat": parts.into_iter().enumerate().map(part).collect::<Vec<_>>(),
    })
}
