//! Parts of Vega-Lite specs that several figures use: scales for names, axes, and interactive selections. Dashes and
//! shapes distinguish names without colour.

use crate::colours;
use serde_json::{Value, json};

/// The JSON schema of all specs, which states their version of Vega-Lite.
pub const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

const DASHES: [&[u32]; 5] = [&[], &[6, 3], &[2, 2], &[8, 2, 2, 2], &[12, 4]];
/// The path of lines in legends; 14 pixels for a step of two.
const KEY: &str = "M-2,0L2,0";
/// Opacities that distinguish bars of one colour: of the first bar, of the second, and of all later ones.
const FILLS: [f64; 3] = [1.0, 0.5, 0.2];
/// Name of the dataset column with the labels of schemes.
const SCHEME: &str = "scheme";
const SHAPES: [&str; 7] = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left"];

/// Width in pixels of a figure that is as wide as the page, without axes.
pub const WIDE: u32 = 720;
/// Width in pixels of a figure that is half as wide as the page, without axes.
pub const HALF: u32 = 330;
/// The number of panels beside each other in a figure.
pub const COLUMNS: usize = 3;
/// Width in pixels of a panel, without axes.
pub const PANEL: u32 = 220;

/// The appearance of the names in a column: each name has a colour, a dash and a shape.
#[derive(Clone, Copy, Debug)]
pub struct NominalScale<'a> {
    pub field: &'a str,
    /// Title of the names in legends and tooltips.
    pub title: &'a str,
    /// All names, in the order of the legend.
    pub all: &'a [String],
}

impl NominalScale<'_> {
    /// The Vega-Lite encoding by colour.
    pub fn colour(&self) -> Value {
        let colours = self.colours();
        self.channel(|place| json!(colours[place]))
    }

    /// The colours of the names, in the order of the names.
    fn colours(&self) -> Vec<&'static str> {
        if self.field == SCHEME {
            self.all.iter().map(|name| colours::colour(name)).collect()
        } else {
            colours::in_order(self.all)
        }
    }

    /// The Vega-Lite encoding by opacity that tells bars of one colour apart: each later bar is paler. `None` if all
    /// colours differ.
    pub fn fill(&self) -> Option<Value> {
        let colours = self.colours();
        let before = |place: usize| colours[..place].iter().filter(|colour| **colour == colours[place]).count();
        let repeats = (0..colours.len()).any(|place| before(place) > 0);
        repeats.then(|| self.channel(|place| json!(FILLS[before(place).min(FILLS.len() - 1)])))
    }

    /// The Vega-Lite encoding by dashes of lines.
    pub fn dash(&self) -> Value {
        self.channel(|place| json!(DASHES[place % DASHES.len()]))
    }

    /// The Vega-Lite encodings of lines by colour and by dashes, whose keys in the legend are long enough to tell the
    /// dashes apart.
    pub fn line(&self) -> [Value; 2] {
        [self.colour(), self.dash()].map(|mut channel| {
            // A size would make keys as high as they are long.
            for (key, value) in [("symbolType", json!(KEY)), ("symbolSize", json!(196)), ("symbolOffset", json!(8))] {
                channel["legend"][key] = value;
            }
            channel["legend"]["labelOffset"] = json!(14);
            channel
        })
    }

    /// The Vega-Lite encoding by shapes of points.
    pub fn shape(&self) -> Value {
        self.channel(|place| json!(SHAPES[place % SHAPES.len()]))
    }

    /// The encoding by shapes for names without a colour: the shapes in the legend are grey, which is seen on light and
    /// dark ground. Vega-Lite would fill them with black.
    pub fn grey_shape(&self) -> Value {
        let mut shape = self.shape();
        shape["legend"]["symbolFillColor"] = json!(colours::GREY);
        shape
    }

    fn channel(&self, of: impl Fn(usize) -> Value) -> Value {
        let range: Vec<Value> = (0..self.all.len()).map(of).collect();
        json!({
            "field": self.field,
            "type": "nominal",
            "title": self.title,
            "scale": { "domain": self.all, "range": range },
            "legend": { "symbolOpacity": 1 },
        })
    }

    /// A Vega-Lite selection: clicks on the legend select names.
    pub fn toggle(&self) -> Value {
        let select = json!({ "type": "point", "fields": [self.field], "toggle": "true" });
        json!({ "name": self.shown(), "select": select, "bind": "legend" })
    }

    /// The Vega-Lite encoding by opacity for the selection in the legend: selected names have the opacity `shown`, the
    /// others are faint.
    pub fn opacity(&self, shown: f64) -> Value {
        json!({ "condition": { "param": self.shown(), "value": shown }, "value": 0.06 * shown })
    }

    fn shown(&self) -> String {
        format!("shown_{}", self.field)
    }
}

/// A Vega-Lite selection to pan and zoom: dragging pans, the wheel with the Ctrl key zooms, a double click resets.
pub fn zoom() -> Value {
    json!({
        "name": "zoom",
        "select": { "type": "interval", "zoom": "wheel![event.ctrlKey]" },
        "bind": "scales",
    })
}

/// Moves the selections in the layers of a spec to the top of the spec, each with the name of its layer. Altair does
/// this with every chart that it reads, but leaves the names out. A selection without a name belongs to every layer,
/// which Vega refuses: "Duplicate signal name".
pub fn lift_selections(spec: &mut Value) {
    let mut lifted = Vec::new();
    let layers = spec.get_mut("layer").and_then(Value::as_array_mut);
    for (place, layer) in layers.into_iter().flatten().enumerate() {
        let Some(Value::Array(params)) = layer.as_object_mut().and_then(|it| it.remove("params")) else {
            continue;
        };
        let name = format!("layer_{place}");
        for mut param in params {
            param["views"] = json!([name]);
            lifted.push(param);
        }
        layer["name"] = name.into();
    }
    if !lifted.is_empty() {
        spec["params"] = lifted.into();
    }
}

/// The encoding of a column by position on an axis that starts at zero.
pub fn quantity(field: &str, title: &str) -> Value {
    json!({ "field": field, "type": "quantitative", "title": title })
}

/// The encoding of a column on an axis that starts at zero and keeps its length if all values (`figures`) are zero.
pub fn amount(field: &str, title: &str, figures: impl Iterator<Item = f64>) -> Value {
    let mut axis = quantity(field, title);
    axis["scale"] = json!({ "zero": true });
    if figures.fold(0.0, f64::max) <= 0.0 {
        axis["scale"]["domain"] = json!([0, 1]);
    }
    axis
}

/// The encoding of a column on an axis that starts near the smallest value of `figures`; logarithmic if they differ by
/// more than a factor of 30.
pub fn spread(field: &str, title: &str, figures: impl Iterator<Item = f64>) -> Value {
    let mut axis = quantity(field, title);
    let (least, most) =
        figures.fold((f64::INFINITY, 0.0_f64), |(least, most), figure| (least.min(figure), most.max(figure)));
    let powers = least > 0.0 && most > 30.0 * least;
    axis["scale"] = if powers { logarithmic() } else { json!({ "zero": false, "nice": true }) };
    // Padding, so that marks at the ends are not clipped.
    axis["scale"]["padding"] = json!(8);
    axis
}

/// A logarithmic scale for an axis.
pub fn logarithmic() -> Value {
    json!({ "type": "log", "nice": false })
}

/// A line of a tooltip: the value of a column, with a title.
pub fn hint(field: &str, title: &str) -> Value {
    json!({ "field": field, "title": title })
}

/// A line of a tooltip: a number with four digits, with a title.
pub fn figure(field: &str, title: &str) -> Value {
    json!({ "field": field, "title": title, "type": "quantitative", "format": ".4~r" })
}

/// A layer of lines over the column `time_s`, one line for each name, with selection and zoom.
pub fn lines(names: &NominalScale<'_>, value: &str, title: &str, height: u32, hints: &[Value]) -> Value {
    let [colour, dash] = names.line();
    let own = [figure("time_s", "time (s)"), figure(value, title)];
    let hints: Vec<&Value> = hints.iter().chain(&own).collect();
    json!({
        "height": height,
        "mark": { "type": "line", "strokeWidth": 1.5, "clip": true },
        "params": [names.toggle(), zoom()],
        "encoding": {
            "x": quantity("time_s", "time (s)"),
            "y": quantity(value, title),
            "color": colour,
            "strokeDash": dash,
            "opacity": names.opacity(1.0),
            "tooltip": hints,
        },
    })
}

/// Arranges panels in rows, each with its name above it; parts with " · " between them stand one below the other. A
/// single panel has the width `alone`, in pixels.
pub fn panels(names: &[String], inner: &Value, alone: u32) -> Value {
    let mut inner = inner.clone();
    inner["width"] = json!(if names.len() == 1 { alone } else { PANEL });
    if names.len() == 1 {
        inner["$schema"] = json!(SCHEMA);
        return inner;
    }
    json!({
        "$schema": SCHEMA,
        "facet": {
            "field": "panel",
            "type": "nominal",
            "title": null,
            "sort": names,
            // The scheme and its point have a line each, so that long names of points are not cut.
            "header": { "labelLimit": PANEL + 40, "labelExpr": "split(datum.label, ' · ')" },
        },
        // Four panels in rows of three would leave two places empty.
        "columns": if names.len() == 4 { 4 } else { COLUMNS },
        "spec": inner,
        // With a shared axis, panels above an empty place would have none.
        "resolve": { "axis": { "x": "independent" } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_of_layers_are_at_the_top_and_name_their_layer() {
        let names = vec!["a".to_owned()];
        let scale = NominalScale { field: "scheme", title: "scheme", all: &names };
        let mut spec = json!({
            "layer": [{ "mark": "area" }, { "mark": "line", "params": [scale.toggle(), zoom()] }],
        });
        lift_selections(&mut spec);
        let params = spec["params"].as_array().unwrap();
        let found: Vec<_> = params.iter().map(|param| (&param["name"], &param["views"])).collect();
        let views = json!(["layer_1"]);
        assert_eq!(found, [(&json!("shown_scheme"), &views), (&json!("zoom"), &views)]);
        assert_eq!(spec["layer"][1], json!({ "mark": "line", "name": "layer_1" }));
        let lines = json!({ "mark": "line", "params": [zoom()] });
        let mut same = lines.clone();
        lift_selections(&mut same);
        assert_eq!(same, lines);
    }
}
