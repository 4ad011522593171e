//! A figure of a run for each scheme, as bars with intervals; of several points, bars side by side.

use serde_json::{Value, json};

use super::means;
use super::metrics::Metric;
use crate::figure::Figure;
use crate::gather::Gather;
use crate::marks::{self, Names};
use crate::summary::Summary;

/// Schemes of points that are not drawn as bars any more: too many to be read.
const MOST_BARS: usize = 160;

pub(super) fn figure(summary: &Summary, gather: &Gather, metric: &Metric) -> Option<Figure> {
    let (cases, unit) = (&gather.cases, metric.unit(summary));
    let several = cases.points.len() > 1;
    let mut rows = Metric::rows(&["point", "scheme"], unit);
    for (point, scheme, estimate) in metric.estimates(summary, gather) {
        let which =
            [cases.points[point].name.as_str().into(), cases.schemes[scheme].as_str().into()];
        rows.rows.push(which.into_iter().chain(Metric::cells(unit, estimate)).collect());
    }
    let left_out = rows.rows.len().saturating_sub(MOST_BARS);
    rows.rows.truncate(MOST_BARS);
    if rows.is_empty() {
        return None;
    }
    let title = unit.title(metric.what);
    let across =
        marks::amount(&Metric::columns(unit)[0], &title, rows.numbers(&Metric::columns(unit)[0]));
    let intervals = rows.numbers(&Metric::columns(unit)[1]).next().is_some();
    let left_out = match left_out {
        0 => String::new(),
        more => format!(" The first {MOST_BARS} bars are shown; {more} more are in summary.json."),
    };
    Some(Figure {
        id: metric.id.to_owned(),
        title: metric.what.to_owned(),
        caption: format!("{} {}{left_out}", metric.about, means(metric.seeds(summary))),
        spec: spec(&across, &Metric::columns(unit), gather, intervals),
        rows,
        wide: several,
    })
}

fn spec(across: &Value, columns: &[String; 4], gather: &Gather, intervals: bool) -> Value {
    let cases = &gather.cases;
    let names = Names { field: "scheme", title: "scheme", all: &cases.schemes };
    let points: Vec<&str> = cases.points.iter().map(|point| point.name.as_str()).collect();
    let several = points.len() > 1;
    let [value, low, high, _] = columns;
    let title = across["title"].as_str().unwrap_or_default();
    let by_scheme =
        json!({ "field": "scheme", "type": "nominal", "sort": cases.schemes, "title": null });
    let mut place = json!({ "y": by_scheme });
    if several {
        place = json!({
            "y": { "field": "point", "type": "nominal", "sort": points, "title": null },
            "yOffset": { "field": "scheme", "type": "nominal", "sort": cases.schemes },
        });
    }
    let hints = json!([
        marks::hint("scheme", "scheme"),
        marks::hint("point", "point"),
        marks::figure(value, title),
        marks::figure(low, "95 % interval from"),
        marks::figure(high, "to"),
        marks::hint("seeds", "seeds"),
    ]);
    let mut bar = json!({
        "mark": { "type": "bar" },
        "encoding": { "x": across, "color": names.colour(), "tooltip": hints },
    });
    let mut whisker = json!({
        "mark": { "type": "rule", "strokeWidth": 1.5 },
        "encoding": { "x": { "field": low, "type": "quantitative" }, "x2": { "field": high } },
    });
    if several {
        bar["params"] = json!([names.toggle()]);
        bar["encoding"]["opacity"] = names.opacity(1.0);
        whisker["encoding"]["opacity"] = names.opacity(1.0);
    } else {
        // The names stand beside the bars.
        bar["encoding"]["color"]["legend"] = Value::Null;
    }
    let step = if several { json!({ "step": 11, "for": "offset" }) } else { json!({ "step": 24 }) };
    json!({
        "$schema": marks::SCHEMA,
        "width": if several { marks::WIDE - 120 } else { marks::HALF - 60 },
        "height": step,
        "encoding": place,
        "layer": if intervals { vec![bar, whisker] } else { vec![bar] },
    })
}
