//! The bar charts of docs that show recorded figures, as SVG: `[pictures.NAME]` of `figures.toml` is
//! docs/figures/NAME.svg.

use super::{number, record::Records};
use std::fmt::Write as _;
use toml::{Table, Value};

/// A bar: its label, its colour, and a value for each panel.
struct Bar<'a> {
    label: &'a str,
    colour: &'a str,
    values: Vec<f64>,
}

const LABELS: f64 = 250.0;
const PANEL: f64 = 230.0;
const GAP: f64 = 60.0;
const ROW: f64 = 22.0;

/// A value of a panel: a number, which is the paper's, or `[record, scheme, point, metric, scale]`.
fn value(of: &Value, records: &Records) -> Result<f64, String> {
    if let Some(value) = of.as_float().or_else(|| of.as_integer().map(|it| it as f64)) {
        return Ok(value);
    }
    let wrong = || format!("{of} is neither a number nor [record, scheme, point, metric, scale]");
    let text = |at: usize| of.get(at).and_then(Value::as_str).ok_or_else(wrong);
    let scale = of.get(4).and_then(Value::as_float).ok_or_else(wrong)?;
    Ok(records.find(text(0)?, [text(1)?, text(2)?, text(3)?])?.mean / scale)
}

/// Draws a picture: `panels` are `[title, largest value, decimals]`, `bars` are `[label, colour, value...]` with a
/// value for each panel, or `[heading]`.
pub fn draw(of: &Table, records: &Records) -> Result<String, String> {
    let list = |key: &str| of.get(key).and_then(Value::as_array).ok_or_else(|| format!("lacks {key}"));
    let title = of.get("title").and_then(Value::as_str).ok_or("lacks title")?;
    let (panels, rows) = (list("panels")?, list("bars")?);
    let width = LABELS + panels.len() as f64 * (PANEL + GAP);
    let height = 34.0 + rows.len() as f64 * ROW + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (place, panel) in panels.iter().enumerate() {
        let name = panel.get(0).and_then(Value::as_str).unwrap_or_default();
        text(&mut svg, left(place), 20.0, "start\" font-weight=\"bold", name);
    }
    for (place, row) in rows.iter().enumerate() {
        let y = 34.0 + place as f64 * ROW;
        let word = |at: usize| row.get(at).and_then(Value::as_str).unwrap_or_default();
        if word(1).is_empty() {
            text(&mut svg, 10.0, y + 16.0, "start\" font-weight=\"bold", word(0));
            continue;
        }
        let values = row.as_array().into_iter().flatten().skip(2);
        let values = values.map(|of| value(of, records)).collect::<Result<_, _>>()?;
        bar(&mut svg, y, &Bar { label: word(0), colour: word(1), values }, panels);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn left(place: usize) -> f64 {
    LABELS + place as f64 * (PANEL + GAP)
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" fill=\"#1a1a1a\" text-anchor=\"{anchor}\">{words}</text>");
}

fn bar(svg: &mut String, y: f64, of: &Bar, panels: &[Value]) {
    text(svg, LABELS - 10.0, y + 15.0, "end", of.label);
    for (place, (value, panel)) in of.values.iter().zip(panels).enumerate() {
        let largest = panel.get(1).and_then(Value::as_float).unwrap_or(1.0);
        let digits = panel.get(2).and_then(Value::as_integer).unwrap_or_default() as usize;
        let (x, length) = (left(place), (value / largest * PANEL).clamp(0.0, PANEL));
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"{length:.1}\" height=\"{}\" fill=\"{}\"/>",
            y + 3.0,
            ROW - 6.0,
            of.colour
        );
        text(svg, x + length + 5.0, y + 15.0, "start", &number::decimals(*value, digits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bar_is_as_long_as_its_figure() {
        let row = json!({"scheme": "cubic", "point": "", "metric": "goodput_bps", "mean": 5e9, "min": 5e9, "max": 5e9});
        let records = Records::of("wan", json!({ "figures": [row] }));
        let of: Table = "title = 'A'\npanels = [['Gb/s', 10.0, 1]]\n\
                         bars = [['All'], ['paper', '#111111', 2.5], ['run', '#222222', ['wan', 'cubic', '', \
                         'goodput_bps', 1e9]]]"
            .parse()
            .unwrap();
        let svg = draw(&of, &records).unwrap();
        let bars = ["width=\"57.5\" height=\"16\" fill=\"#111111\"", "width=\"115.0\" height=\"16\" fill=\"#222222\""];
        assert!(bars.iter().all(|bar| svg.contains(bar)), "{svg}");
        assert!(svg.contains(">5.0</text>"));
    }
}
