//! Tables and text on standard output.

use std::io::{ErrorKind, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;
use shallop_lab::table::Grid;

use crate::fail::{Result, plain};

/// Tables are no wider than this.
const WIDTH: u16 = 120;

/// Prints a text and a line end. If nobody reads on, what follows is not printed: that is no mistake.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(plain(&format!("could not write to standard output: {why}")))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON, if there is any way to.
pub fn json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value);
    line(&text.map_err(|why| plain(&format!("could not be put as JSON: {why}")))?)
}

/// Prints a table.
pub fn grid(grid: &Grid) -> Result<()> {
    line(&draw(grid))
}

/// A table as text: a line under the header, figures to the right.
pub fn draw(grid: &Grid) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(&grid.header);
    for row in &grid.rows {
        table.add_row(row);
    }
    // Two blanks between columns where there is room.
    let words: u16 = table.column_max_content_widths().iter().sum();
    let gap = if words + 2 * grid.header.len() as u16 <= WIDTH { 2 } else { 1 };
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, gap));
        if number >= grid.words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let rule = "-".repeat(widest);
    lines.insert(1.min(lines.len()), &rule);
    lines.join("\n")
}

/// A JSON object from pairs, in their order.
pub fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_plain_and_no_wider_than_allowed() {
        let row = vec!["a claim with many words ".repeat(10), "9.1".to_owned()];
        let text = draw(&Grid {
            header: vec!["what".to_owned(), "paper".to_owned()],
            rows: vec![row],
            words: 1,
        });
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
        assert!(text.starts_with("what") && text.is_ascii(), "{text}");
    }
}
