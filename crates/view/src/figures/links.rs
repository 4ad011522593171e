//! The most utilised links: how busy each is, and its longest queue.

use serde_json::{Value, json};

use crate::figure::{Dataset, Figure, number};
use crate::figure_data::FigureData;
use crate::spec_parts::{self, NominalScale};
use crate::units::{self, Unit};
use shallop_results::links::{LinkMeans, means};
use shallop_results::{Run, Summary};

/// The most links.
const MAX_LINKS: usize = 12;
/// A network with fewer links, counted by direction, has no such figure: others show its one queue.
const FEW: usize = 6;

pub(super) fn figure(summary: &Summary, input: &FigureData) -> Option<Figure> {
    let comparison = &input.comparison;
    let first = comparison.points.first()?;
    let of_scheme = |scheme: &String| {
        let runs = summary.runs.iter();
        means(runs.filter(|run: &&Run| run.point == first.set && run.scheme == *scheme))
    };
    let all: Vec<Vec<(&str, LinkMeans)>> = comparison.schemes.iter().map(of_scheme).collect();
    let links = busiest(&all);
    if links.len() <= FEW {
        return None;
    }
    let queues = all.iter().flatten().filter_map(|(_, link)| link.max_queue_bytes);
    let unit = Unit::of(queues.map(|bytes| bytes as f64), units::SIZES);
    let (used, queue) = (units::PERCENT.column("utilization"), unit.column("longest_queue"));
    let mut rows = Dataset::new(&["link", "scheme", &used, &queue, "rate_gbps", "offered_percent"]);
    let shown: Vec<String> = links.iter().take(MAX_LINKS).map(|link| (*link).to_owned()).collect();
    for (scheme, links) in comparison.schemes.iter().zip(&all) {
        for (place, link) in links.iter().filter(|(place, _)| shown.iter().any(|it| it == place)) {
            let longest = link.max_queue_bytes.map(|bytes| unit.put(bytes as f64));
            let words = [(*place).into(), scheme.as_str().into()];
            let figures = [
                units::PERCENT.put(link.utilization).into(),
                number(longest),
                (link.rate_bps as f64 / 1e9).into(),
                number(link.offered.map(|offered| units::PERCENT.put(offered))),
            ];
            rows.rows.push(words.into_iter().chain(figures).collect());
        }
    }
    let more = links.len() - shown.len();
    Some(Figure {
        id: "links".to_owned(),
        title: "Links: utilisation and longest queue".to_owned(),
        caption: caption(more, &comparison.omission_note(&[0])),
        spec: spec(
            input,
            &rows,
            &shown,
            [(&used, "utilisation (%)"), (&queue, &unit.title("longest queue"))],
        ),
        rows,
        wide: true,
    })
}

/// The links of all schemes, the most utilised by any of them first.
fn busiest<'a>(all: &[Vec<(&'a str, LinkMeans)>]) -> Vec<&'a str> {
    let mut links: Vec<(&str, f64)> =
        all.iter().flatten().map(|(place, link)| (*place, link.utilization)).collect();
    links.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    names.extend(links.into_iter().filter(|(name, _)| seen.insert(*name)).map(|(name, _)| name));
    names
}

fn caption(more: usize, omission: &str) -> String {
    let rest = match more {
        0 => String::new(),
        more => format!(" {more} links that are less utilised are not shown."),
    };
    format!(
        "Each direction of a link, named by the nodes from and to which it leads, the most utilised first. Means over \
         seeds, and of the queue the longest of any seed; hosts' links have none.{rest}{omission}"
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
        spec_parts::figure("rate_gbps", "rate (Gb/s)"),
        spec_parts::figure("offered_percent", "offered load (%)"),
    ]);
    let part = |(index, (field, title)): (usize, (&str, &str))| {
        let mut place = json!({ "field": "link", "type": "nominal", "sort": links, "title": null });
        if index > 0 {
            // The names stand beside the first part.
            place["axis"] = json!({ "labels": false, "ticks": false, "domain": true });
        }
        let mut colour = names.colour();
        if schemes.len() == 1 {
            colour["legend"] = Value::Null;
        }
        json!({
            "width": spec_parts::HALF - 60,
            "height": { "step": 12, "for": "offset" },
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
