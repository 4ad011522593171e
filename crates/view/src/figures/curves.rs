//! Figures of a sweep: a metric along the quantity that varies, as a curve with its confidence band for each scheme.

use super::metrics::Compared;
use crate::spec_parts::{self, NominalScale};
use crate::{axis::Axis, figure::Figure, figure_data::FigureData};
use serde_json::{Value, json};
use shallop_results::Summary;

/// If points have at most this many values, the axis has a label at each.
const MAX_MARKED: usize = 8;

pub(super) fn figure(summary: &Summary, input: &FigureData, metric: &Compared) -> Option<Figure> {
    let Axis::Quantity { title, values, panels } = &input.comparison.axis else { return None };
    let unit = metric.unit(summary);
    let mut rows = Compared::rows(&["panel", "at", "scheme"], unit);
    for (point, scheme, estimate) in metric.estimates(summary, input) {
        let which =
            [panels[point].as_str().into(), values[point].into(), input.comparison.schemes[scheme].as_str().into()];
        rows.rows.push(which.into_iter().chain(Compared::cells(unit, estimate)).collect());
    }
    let mut names = rows.texts("panel");
    names.sort();
    let mut across = spec_parts::spread("at", title, values.iter().copied());
    let mut marked = values.clone();
    marked.sort_unstable_by(f64::total_cmp);
    marked.dedup();
    if marked.len() <= MAX_MARKED {
        across["axis"] = json!({ "values": marked });
    }
    let measure = unit.title(&metric.title());
    let alt = format!("Against {title}: {}", rows.summary(&["panel", "scheme"], &Compared::columns(unit)[0], &measure));
    let intervals = rows.numbers(&Compared::columns(unit)[1]).next().is_some();
    let mut inner = inner(&across, &measure, &Compared::columns(unit), &input.comparison.schemes);
    let mut up = Compared::axis(unit, &measure, &rows);
    let [value, _, high, _] = Compared::columns(unit);
    let top = rows.numbers(&value).chain(rows.numbers(&high)).fold(0.0, f64::max);
    if top > 0.0 {
        // Points at the top are not cut.
        up["scale"]["domainMax"] = json!(top * 1.03);
        up["scale"]["nice"] = json!(false);
    }
    for layer in inner["layer"].as_array_mut().into_iter().flatten() {
        layer["encoding"]["y"]["scale"] = up["scale"].clone();
        for channel in ["color", "strokeDash", "shape"] {
            // `get_mut`, as an index would add the channel, empty, to a layer without it.
            let Some(channel) = layer["encoding"].get_mut(channel) else { continue };
            // The keys are the shapes of the points: with dashes their edges would be ragged.
            channel["legend"]["symbolStrokeWidth"] = json!(0);
            if names.len() == 1 {
                channel["legend"]["columns"] = json!(2);
            }
        }
    }
    if let (false, Some(layers)) = (intervals, inner["layer"].as_array_mut()) {
        layers.remove(0);
    }
    Some(Figure {
        id: metric.id.to_owned(),
        title: format!("{} against {title}", &metric.title()),
        alt,
        caption: metric.caption(summary, input),
        spec: spec_parts::panels(&names, &inner, spec_parts::HALF),
        rows,
        wide: names.len() > 1,
    })
}

fn inner(across: &Value, title: &str, columns: &[String; 4], schemes: &[String]) -> Value {
    let names = NominalScale { field: "scheme", title: "scheme", all: schemes };
    let [value, low, high, _] = columns;
    let hints = json!([
        spec_parts::hint("scheme", "scheme"),
        spec_parts::figure("at", across["title"].as_str().unwrap_or_default()),
        spec_parts::figure(value, title),
        spec_parts::figure(low, "95 % interval from"),
        spec_parts::figure(high, "to"),
        spec_parts::hint("seeds", "seeds"),
    ]);
    let ends = json!({
        "y": { "field": low, "type": "quantitative", "title": title },
        "y2": { "field": high },
        "color": names.colour(),
        "opacity": names.opacity(1.0),
    });
    let line = json!({
        "y": spec_parts::quantity(value, title),
        "color": names.colour(),
        "strokeDash": names.dash(),
        "opacity": names.opacity(1.0),
    });
    let points = json!({
        "y": spec_parts::quantity(value, title),
        "color": names.colour(),
        "shape": names.shape(),
        "opacity": names.opacity(1.0),
        "tooltip": hints,
    });
    json!({
        "height": 240,
        "encoding": { "x": across },
        "layer": [
            { "mark": { "type": "area", "fillOpacity": 0.2, "clip": true }, "encoding": ends },
            {
                "mark": { "type": "line", "clip": true },
                "params": [names.toggle(), spec_parts::zoom()],
                "encoding": line,
            },
            { "mark": { "type": "point", "filled": true, "size": 50, "clip": true }, "encoding": points },
        ],
    })
}
