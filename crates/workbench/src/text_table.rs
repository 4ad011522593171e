//! Tables as plain text.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use shallop_results::table::Grid;

/// The largest width of a table.
const WIDTH: u16 = 120;

/// A table as text, with a line under the header; figures are aligned to the right.
#[must_use]
pub fn render(grid: &Grid) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(&grid.header);
    for row in &grid.rows {
        table.add_row(row);
    }
    // Two blanks between columns if there is room.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_plain_and_no_wider_than_allowed() {
        let row = vec!["a claim with many words ".repeat(10), "9.1".to_owned()];
        let text = render(&Grid {
            header: vec!["what".to_owned(), "paper".to_owned()],
            rows: vec![row],
            words: 1,
        });
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
        assert!(text.starts_with("what") && text.is_ascii(), "{text}");
    }
}
