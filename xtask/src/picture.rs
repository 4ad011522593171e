//! The dependency rule as a picture: a box for each crate, above the boxes of its dependencies. Arrows that follow from
//! other arrows are omitted.

use crate::layers::{RULE, below};
use crate::tree::{Finding, root};
use std::{collections::BTreeMap, fmt::Write, fs};

const FILE: &str = "docs/figures/crates.svg";
const WIDTH: usize = 860;
const BOX: (usize, usize) = (112, 30);
const ROW: usize = 74;

/// Crates without code of the product.
const APART: [&str; 2] = ["testing", "xtask"];

pub fn check_tree() -> Result<Vec<Finding>, String> {
    let path = root().join(FILE);
    let drawn = svg();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &drawn).map_err(|why| format!("{FILE}: {why}"))?;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let what = "is not the picture of the dependency rule: UPDATE_DOCS=1 cargo run -p xtask -- picture";
    Ok(if found == drawn { Vec::new() } else { vec![Finding::new(FILE, 0, what)] })
}

/// The crates of the product, each with the crates that it builds on.
fn product() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let is_product = |name: &str| !APART.contains(&name);
    let of_rule = RULE.into_iter().filter(move |(name, _)| is_product(name));
    of_rule.map(move |(name, all)| (name, all.split_whitespace().filter(|other| is_product(other)).collect()))
}

/// The row of a crate, from the top: below every crate that depends on it.
fn row(name: &str) -> usize {
    let above = RULE.iter().filter(|(other, _)| below(other).is_some_and(|all| all.contains(&name)));
    above.map(|(other, _)| row(other) + 1).max().unwrap_or(0)
}

/// Whether a crate depends on another, directly or indirectly.
fn builds_on(name: &str, other: &str) -> bool {
    below(name).unwrap_or_default().into_iter().any(|next| next == other || builds_on(next, other))
}

/// The centre of each crate's box.
fn places() -> (BTreeMap<&'static str, (usize, usize)>, usize) {
    let mut rows: BTreeMap<usize, Vec<&'static str>> = BTreeMap::new();
    for (name, _) in product() {
        rows.entry(row(name)).or_default().push(name);
    }
    let count = rows.len();
    let mut places = BTreeMap::new();
    for (row, names) in rows {
        let step = WIDTH / names.len();
        for (number, name) in names.iter().enumerate() {
            places.insert(*name, (step / 2 + step * number, ROW * row + BOX.1));
        }
    }
    (places, ROW * (count - 1) + 2 * BOX.1)
}

fn svg() -> String {
    let (places, height) = places();
    let mut lines = String::new();
    for (name, below) in product() {
        for other in &below {
            let through = below.iter().any(|next| next != other && builds_on(next, other));
            if through {
                continue;
            }
            let ((x, y), (to_x, to_y)) = (places[name], places[other]);
            let (y, to_y) = (y + BOX.1 / 2, to_y - BOX.1 / 2);
            let _ = writeln!(lines, r#"<path d="M{x} {y}L{to_x} {to_y}" marker-end="url(#to)"/>"#);
        }
    }
    let mut boxes = String::new();
    for (name, (x, y)) in &places {
        let (left, up) = (x - BOX.0 / 2, y - BOX.1 / 2);
        let (w, h) = BOX;
        let _ = writeln!(boxes, r#"<rect x="{left}" y="{up}" width="{w}" height="{h}" rx="4"/>"#);
        let below = y + 5;
        let _ = writeln!(boxes, r#"<text x="{x}" y="{below}">{name}</text>"#);
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">
<title id="title">The crates of shallop: an arrow leads from a crate to one that it builds on</title>
<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>
<rect width="{WIDTH}" height="{height}" fill="#fff"/>
<g stroke="#667" fill="none">
{lines}</g>
<g fill="#e8eef7" stroke="#345" font-family="sans-serif" font-size="14" text-anchor="middle">
{}</g>
</svg>
"##,
        boxes.replace("<text ", r##"<text fill="#123" stroke="none" "##)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_lies_above_what_it_builds_on() {
        let (places, _) = places();
        for (name, below) in product() {
            assert!(below.iter().all(|other| places[name].1 < places[other].1), "{name}");
        }
    }
}
