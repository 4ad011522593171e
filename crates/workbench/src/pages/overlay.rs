//! Pictures of claims for the status page, as SVG: each figure of a paper beside the measured one.

use shallop_results::{JudgedClaim, Kind, Verdict};
use std::fmt::Write as _;

/// The largest ratio to the paper's figure that a picture shows; the smallest is its reciprocal. Points beyond lie at
/// the edge.
const MOST: f64 = 30.0;
const LABELS: f64 = 420.0;
const WIDTH: f64 = 320.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 22.0;

/// A claim with a figure of a paper. All figures are ratios to the paper's figure.
struct Row {
    label: String,
    paper_to: f64,
    accepted: [Option<f64>; 2],
    /// The least seed, the figure that decides, the largest seed.
    measured: [f64; 3],
    colour: &'static str,
}

fn rows(claims: &[JudgedClaim]) -> Vec<Row> {
    let row = |claim: &JudgedClaim| {
        let paper = claim.paper.filter(|paper| *paper > 0.0 && claim.kind != Kind::Invariant)?;
        let measured = claim.measured?;
        let ends = [claim.measured_min.unwrap_or(measured), measured, claim.measured_max.unwrap_or(measured)];
        Some(Row {
            label: claim.label(),
            paper_to: claim.paper_to.unwrap_or(paper) / paper,
            accepted: [claim.low, claim.high].map(|end| end.map(|end| end / paper)),
            measured: ends.map(|figure| figure / paper),
            colour: match claim.verdict {
                Verdict::Holds => "#0072b2",
                Verdict::Differs => "#8a6d00",
                Verdict::Fails => "#b03a2e",
                Verdict::Reported | Verdict::Undecided | Verdict::NotRun => "#6b6b6b",
            },
        })
    };
    claims.iter().filter_map(row).collect()
}

/// The place of a ratio on a logarithmic axis of this width.
fn place(ratio: f64, width: f64) -> f64 {
    let share = (ratio.max(1.0 / MOST).log10() / MOST.log10()).clamp(-1.0, 1.0);
    f64::midpoint(share, 1.0) * width
}

/// A label that fits beside a picture.
fn shortened(label: &str) -> String {
    let (most, length) = (LABELS as usize / 6, label.chars().count());
    let rest = if length > most { "…" } else { "" };
    escaped(&label.chars().take(most).chain(rest.chars()).collect::<String>())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn svg(width: f64, height: f64, what: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"#1d1c19\"><title>{what}</title>\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fbfaf7\"/>"
    )
}

/// One line for each claim with a figure of a paper; empty if there is none.
pub(super) fn picture(id: &str, claims: &[JudgedClaim]) -> String {
    let rows = rows(claims);
    if rows.is_empty() {
        return String::new();
    }
    let bottom = HEAD + rows.len() as f64 * ROW;
    let title = format!("{id}: measured, as a multiple of the paper");
    let mut picture = format!("\n{}", svg(LABELS + WIDTH + 20.0, bottom + 6.0, &title));
    let x = |ratio: f64| LABELS + place(ratio, WIDTH);
    for (ratio, name) in [(0.1, "0.1"), (0.5, "0.5"), (1.0, "paper"), (2.0, "2"), (10.0, "10")] {
        let at = x(ratio);
        let _ = write!(
            picture,
            "<path d=\"M{at:.1} {HEAD}V{bottom}\" stroke=\"#c9c5bb\"/><text x=\"{at:.1}\" y=\"14\" \
             text-anchor=\"middle\">{name}</text>"
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let y = HEAD + (number as f64 + 0.5) * ROW;
        let (text, [least, figure, largest]) = (LABELS - 8.0, row.measured.map(x));
        let from = row.accepted[0].map_or(LABELS, x);
        let band = row.accepted[1].map_or(LABELS + WIDTH, x) - from;
        let _ = write!(
            picture,
            "<text x=\"{text}\" y=\"{:.1}\" text-anchor=\"end\">{}<title>{}</title></text>\
             <rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{band:.1}\" height=\"10\" fill=\"#dedad0\"/>\
             <path d=\"M{:.1} {y}H{:.1}\" stroke=\"#1d1c19\" stroke-width=\"4\" stroke-linecap=\"square\"/>\
             <path d=\"M{least:.1} {y}H{largest:.1}\" stroke=\"{colour}\"/>\
             <circle cx=\"{figure:.1}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\"/>",
            y + 4.0,
            shortened(&row.label),
            escaped(&row.label),
            y - 5.0,
            x(1.0),
            x(row.paper_to),
            colour = row.colour
        );
    }
    picture + "</svg>\n"
}

/// The points of [`picture`] alone, small, as a link to the experiment's section; empty if there are none.
pub(super) fn thumbnail(id: &str, claims: &[JudgedClaim]) -> String {
    let rows = rows(claims);
    if rows.is_empty() {
        return String::new();
    }
    let mut picture = svg(110.0, 70.0, id);
    let _ = write!(picture, "<path d=\"M55 16V66\" stroke=\"#c9c5bb\"/><text x=\"4\" y=\"12\">{id}</text>");
    for (number, row) in rows.iter().enumerate() {
        let (x, y) = (5.0 + place(row.measured[1], 100.0), 18.0 + (number as f64 + 0.5) * 48.0 / rows.len() as f64);
        let _ = write!(picture, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{}\"/>", row.colour);
    }
    format!("<a href=\"#{}\">{picture}</svg></a>\n", id.replace('.', ""))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_paper_is_in_the_middle_and_what_is_beyond_the_axis_at_its_edge() {
        for (ratio, expected) in [(1.0, 50.0), (30.0, 100.0), (1.0 / 30.0, 0.0), (1e9, 100.0), (0.0, 0.0)] {
            assert!((place(ratio, 100.0) - expected).abs() < 1e-9, "{ratio}");
        }
        assert!((place(2.0, 100.0) - 50.0) + (place(0.5, 100.0) - 50.0) < 1e-9, "twice and half are as far away");
    }
}
