//! Figures with bars: a metric of each scheme with its confidence interval. The bars of several points are side by
//! side.

use super::metrics::Compared;
use crate::spec_parts::{self, NominalScale};
use crate::{figure::Figure, figure_data::FigureData};
use serde_json::{Value, json};
use shallop_results::Summary;

/// The most bars in a figure; more would not be readable.
const MAX_BARS: usize = 160;

pub(super) fn figure(summary: &Summary, input: &FigureData, metric: &Compared) -> Figure {
    let (comparison, unit) = (&input.comparison, metric.unit(summary));
    let several = comparison.points.len() > 1;
    let mut rows = Compared::rows(&["point", "scheme"], unit);
    for (point, scheme, estimate) in metric.estimates(summary, input) {
        let which = [comparison.labels[point].as_str().into(), comparison.schemes[scheme].as_str().into()];
        rows.rows.push(which.into_iter().chain(Compared::cells(unit, estimate)).collect());
    }
    let left_out = rows.rows.len().saturating_sub(MAX_BARS);
    rows.rows.truncate(MAX_BARS);
    let title = unit.title(&metric.title());
    let alt = rows.summary(&["point", "scheme"], &Compared::columns(unit)[0], &title);
    let across = Compared::axis(unit, &title, &rows);
    let intervals = rows.numbers(&Compared::columns(unit)[1]).next().is_some();
    let left_out = match left_out {
        0 => String::new(),
        more => format!(" The first {MAX_BARS} bars are shown; {more} more are in summary.json."),
    };
    Figure {
        id: metric.id.to_owned(),
        title: metric.title(),
        alt,
        caption: metric.caption(summary, input) + &left_out,
        spec: spec(&across, &Compared::columns(unit), input, intervals),
        rows,
        wide: several,
    }
}

fn spec(across: &Value, columns: &[String; 4], input: &FigureData, intervals: bool) -> Value {
    let comparison = &input.comparison;
    let names = NominalScale { field: "scheme", title: "scheme", all: &comparison.schemes };
    let points = &comparison.labels;
    let several = points.len() > 1;
    let [value, low, high, _] = columns;
    let title = across["title"].as_str().unwrap_or_default();
    let by_scheme = json!({ "field": "scheme", "type": "nominal", "sort": comparison.schemes, "title": null });
    let mut place = json!({ "y": by_scheme });
    if several {
        place = json!({
            "y": { "field": "point", "type": "nominal", "sort": points, "title": null },
            "yOffset": { "field": "scheme", "type": "nominal", "sort": comparison.schemes },
        });
    }
    let hints = json!([
        spec_parts::hint("scheme", "scheme"),
        spec_parts::hint("point", "point"),
        spec_parts::figure(value, title),
        spec_parts::figure(low, "95 % interval from"),
        spec_parts::figure(high, "to"),
        spec_parts::hint("seeds", "seeds"),
    ]);
    let mut bar = json!({
        "mark": { "type": "bar" },
        "encoding": { "x": across, "color": names.colour(), "tooltip": hints },
    });
    let mut whisker = json!({
        "mark": { "type": "rule", "strokeWidth": 1.5 },
        "encoding": { "x": { "field": low, "type": "quantitative" }, "x2": { "field": high } },
    });
    if let Some(fill) = names.fill().filter(|_| several) {
        bar["encoding"]["fillOpacity"] = fill;
        bar["encoding"]["stroke"] = names.colour();
    }
    if several {
        bar["params"] = json!([names.toggle()]);
        bar["encoding"]["opacity"] = names.opacity(1.0);
        whisker["encoding"]["opacity"] = names.opacity(1.0);
    } else {
        // The names are beside the bars.
        bar["encoding"]["color"]["legend"] = Value::Null;
    }
    let step = if several { json!({ "step": 11, "for": "offset" }) } else { json!({ "step": 24 }) };
    json!({
        "$schema": spec_parts::SCHEMA,
        "width": if several { spec_parts::WIDE - 120 } else { spec_parts::HALF - 60 },
        "height": step,
        "encoding": place,
        "layer": if intervals { vec![bar, whisker] } else { vec![bar] },
    })
}
