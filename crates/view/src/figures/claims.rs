//! Figure of claims: the measured value of each claim relative to the value in the paper, one line for each claim.

use crate::colours;
use crate::figure::{Dataset, Figure, number};
use crate::figure_data::FigureData;
use crate::spec_parts::{self, NominalScale};
use serde_json::{Value, json};
use shallop_results::units;
use shallop_results::{JudgedClaim, Summary, table};

pub(super) fn figure(summary: &Summary, input: &FigureData) -> Figure {
    let shown: Vec<(&JudgedClaim, f64, f64)> = summary
        .claims
        .iter()
        .filter_map(|claim| {
            let paper = claim.paper.filter(|paper| *paper > 0.0)?;
            // Of a range the middle.
            Some((claim, claim.paper_to.map_or(paper, |end| f64::midpoint(paper, end)), claim.measured?))
        })
        .collect();
    let columns = ["claim", "unit", "paper", "measured", "least", "most", "low", "high", "verdict"];
    let ratios = ["measured_to_paper", "least_to_paper", "most_to_paper", "low_to_paper", "high_to_paper"];
    let mut rows = Dataset::new(&columns);
    rows.columns.extend(ratios.map(str::to_owned));
    for (claim, paper, measured) in &shown {
        let ratio = |figure: Option<f64>| number(figure.map(|figure| units::round(figure / paper)));
        let (least, most) = (claim.measured_min, claim.measured_max);
        rows.push([
            claim.label().into(),
            claim.unit.as_str().into(),
            (*paper).into(),
            units::round(*measured).into(),
            number(least.map(units::round)),
            number(most.map(units::round)),
            number(claim.low),
            number(claim.high),
            claim.verdict.word().into(),
            ratio(Some(*measured)),
            ratio(least),
            ratio(most),
            ratio(claim.low),
            ratio(claim.high),
        ]);
    }
    let left_out = summary.claims.len() - shown.len();
    let rest = match left_out {
        0 => String::new(),
        1 => " One more claim has no figure of the paper, or zero, or was not measured: see the table.".to_owned(),
        more => format!(" {more} more claims have no figure of the paper, or zero, or no measured one: see the table."),
    };
    let order: Vec<String> = shown.iter().map(|(claim, ..)| claim.label()).collect();
    Figure {
        id: "paper-and-measured".to_owned(),
        title: "Paper and measured".to_owned(),
        alt: format!(
            "{}. {}",
            table::tally(&summary.claims),
            rows.summary(&["claim"], "measured_to_paper", "Measured / paper")
        ),
        caption: format!(
            "Measured, as a multiple of what the paper says: 1 is agreement. Points: the figure that decides;{} \
             grey: the accepted range, if it has two ends.{rest}",
            input.of_several_seeds(" whiskers: the least and the most of any seed;")
        ),
        spec: spec(&order),
        rows,
        wide: true,
    }
}

fn spec(order: &[String]) -> Value {
    let verdicts = ["reported", "holds", "differs", "undecided", "fails"].map(str::to_owned);
    let names = NominalScale { field: "verdict", title: "verdict", all: &verdicts };
    let mut colour = names.colour();
    // Slate, blue, khaki, purple and rust: all of them are among the colours that colour-blind readers can distinguish.
    colour["scale"]["range"] = json!([5, 0, 6, 3, 7].map(|place: usize| colours::PALETTE[place]));
    let title = "measured / paper";
    let hints = json!([
        spec_parts::hint("claim", "claim"),
        spec_parts::figure("paper", "paper"),
        spec_parts::figure("measured", "measured"),
        spec_parts::figure("least", "least of any seed"),
        spec_parts::figure("most", "most of any seed"),
        spec_parts::figure("low", "accepted from"),
        spec_parts::figure("high", "accepted to"),
        spec_parts::hint("unit", "unit"),
        spec_parts::hint("verdict", "verdict"),
    ]);
    let across = |field: &str| json!({ "field": field, "type": "quantitative", "title": title });
    let band = json!({
        "transform": [{ "filter": "isValid(datum.low_to_paper) && isValid(datum.high_to_paper)" }],
        "mark": { "type": "bar", "color": "#8C8C8C", "opacity": 0.45, "height": 12 },
        "encoding": { "x": across("low_to_paper"), "x2": { "field": "high_to_paper" }, "tooltip": hints },
    });
    let whisker = json!({
        "mark": { "type": "rule", "strokeWidth": 1.5 },
        "encoding": { "x": across("least_to_paper"), "x2": { "field": "most_to_paper" } },
    });
    let point = json!({
        "mark": { "type": "point", "filled": true, "size": 80 },
        "params": [names.toggle()],
        "encoding": {
            "x": across("measured_to_paper"),
            "color": colour,
            "shape": names.shape(),
            "opacity": names.opacity(1.0),
            "tooltip": hints,
        },
    });
    let one = json!({
        "mark": { "type": "rule", "strokeDash": [4, 3] },
        "encoding": { "x": { "datum": 1, "type": "quantitative" } },
    });
    let lines = json!({
        "field": "claim",
        "type": "nominal",
        "sort": order,
        "title": null,
        "axis": { "labelLimit": 380 },
    });
    let mut layers = vec![band, whisker, point];
    for layer in &mut layers {
        layer["encoding"]["y"] = lines.clone();
    }
    layers.insert(0, one);
    json!({ "$schema": spec_parts::SCHEMA, "width": spec_parts::WIDE - 320, "height": { "step": 20 }, "layer": layers })
}
