//! Tables as text: aligned columns for people, Markdown and CSV for programs. Control characters in cells are escaped.

use crate::printable::{printable, wrapped};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use shallop_results::table::Grid;
use unicode_width::UnicodeWidthStr;

/// The width of tables, in columns, if the output is not a terminal.
const WIDTH: usize = 120;
/// The least width of a text column, in characters, before columns of figures are left out.
const NARROW: usize = 24;

/// The headings of columns that a narrow terminal does not show, in the order in which they are left out. After them go
/// the rightmost columns, and at last [`LEFT_OUT_LAST`]; the names and the first figure always stay.
pub const LEFT_OUT_FIRST: [&str; 9] =
    ["Mhop/s", "wall s", "RTOs", "resent", "KB", "credit loss %", "open", "in load", "RTT p99"];
/// How the headings of the columns begin that the sentence above the table quotes, in the order in which they are left
/// out.
pub const LEFT_OUT_LAST: [&str; 4] = ["FCT", "goodput", "loss %", "small p99"];

/// The format of a printed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Aligned columns. A table wider than `Some(columns)` leaves some columns out and says which; `None` prints all.
    Text(Option<usize>),
    Markdown,
    Csv,
}

/// Formats a table, without a line end after the last line.
pub fn render(grid: &Grid, form: TableForm) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect();
    let header: Vec<String> = cells(&grid.header);
    let rows = grid.rows.iter().map(cells).collect();
    let grid = Grid { header, rows, words: grid.words };
    match form {
        TableForm::Text(None) => aligned(&grid, WIDTH),
        TableForm::Text(Some(width)) => fitted(&grid, width),
        TableForm::Markdown => markdown(&grid),
        TableForm::Csv => csv(&grid),
    }
}

/// Formats the table without the columns that do not fit `width`, and a note that names them.
fn fitted(grid: &Grid, width: usize) -> String {
    let left_out = left_out(grid, width);
    let kept = |row: &Vec<String>| -> Vec<String> {
        let cells = row.iter().enumerate().filter(|(column, _)| !left_out.contains(column));
        cells.map(|(_, cell)| cell.clone()).collect()
    };
    let rows = grid.rows.iter().map(kept).collect();
    let rest = Grid { header: kept(&grid.header), rows, words: grid.words };
    let text = aligned(&rest, width);
    if left_out.is_empty() {
        return text;
    }
    let names: Vec<&str> = left_out.iter().map(|&column| grid.header[column].as_str()).collect();
    let note =
        format!("Left out, as the output is {width} columns wide: {}. --wide shows all columns.", names.join(", "));
    format!("{text}\n{}", wrapped(&note, width))
}

/// The columns to leave out so that the others fit `width`, in the order of [`LEFT_OUT_FIRST`] and [`LEFT_OUT_LAST`].
fn left_out(grid: &Grid, width: usize) -> Vec<usize> {
    let wanted: Vec<usize> = (0..grid.header.len()).map(|column| wanted(grid, column)).collect();
    // The names and the first figure stay.
    let figures = (grid.words.max(1) + 1).min(grid.header.len())..grid.header.len();
    let rank = |column: &usize| {
        let heading = grid.header[*column].as_str();
        let first = LEFT_OUT_FIRST.iter().position(|first| *first == heading);
        let last = LEFT_OUT_LAST.iter().position(|last| heading.starts_with(last));
        let place = first.or(last.map(|place| LEFT_OUT_FIRST.len() + 1 + place));
        (place.unwrap_or(LEFT_OUT_FIRST.len()), usize::MAX - column)
    };
    let mut order: Vec<usize> = figures.collect();
    order.sort_by_key(rank);
    let mut total: usize = wanted.iter().map(|width| width + 1).sum();
    let mut left_out = Vec::new();
    for column in order {
        if total <= width {
            break;
        }
        total -= wanted[column] + 1;
        left_out.push(column);
    }
    left_out
}

/// The cells of a column, its heading first.
fn texts(grid: &Grid, column: usize) -> impl Iterator<Item = &str> {
    let rows = grid.rows.iter().filter_map(move |row| row.get(column));
    std::iter::once(&grid.header[column]).chain(rows).map(String::as_str)
}

/// The width that a column needs so that no heading, word or figure with its interval is broken.
fn least(grid: &Grid, column: usize) -> usize {
    let word = |text: &str| text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
    let whole = |(row, text): (usize, &str)| {
        if row == 0 || column >= grid.words { text.width() } else { word(text) }
    };
    texts(grid, column).enumerate().map(whole).max().unwrap_or(0)
}

/// The width that a column needs to be read easily.
fn wanted(grid: &Grid, column: usize) -> usize {
    let natural = texts(grid, column).map(UnicodeWidthStr::width).max().unwrap_or(0);
    let narrow = if column < grid.words { NARROW } else { 0 };
    least(grid, column).max(natural.min(narrow))
}

/// Formats the table with a line under the header and figures aligned to the right. It exceeds `width` only if a word
/// does.
fn aligned(grid: &Grid, width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(&grid.header);
    for row in &grid.rows {
        table.add_row(row);
    }
    // Two spaces between columns if there is room.
    let words: usize = table.column_max_content_widths().iter().map(|&it| usize::from(it)).sum();
    let gap = if words + 2 * grid.header.len() <= width { 2 } else { 1 };
    let needed: usize = (0..grid.header.len()).map(|column| least(grid, column) + gap).sum();
    table.set_width(u16::try_from(width.max(needed)).unwrap_or(u16::MAX));
    for (number, column) in table.column_iter_mut().enumerate() {
        let least = u16::try_from(least(grid, number) + gap).unwrap_or(u16::MAX);
        column.set_padding((0, gap as u16));
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        if number >= grid.words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let rule = "-".repeat(lines.iter().map(|line| line.width()).max().unwrap_or(0));
    lines.insert(1.min(lines.len()), &rule);
    lines.join("\n")
}

/// Escapes characters that have a meaning in Markdown, and keeps leading spaces.
pub fn markdown_text(text: &str) -> String {
    let words = text.trim_start_matches(' ');
    let mut out = "&nbsp;".repeat(text.len() - words.len());
    for letter in words.chars() {
        if matches!(letter, '\\' | '`' | '*' | '[' | ']' | '<' | '|' | '#' | '~') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn markdown(grid: &Grid) -> String {
    let line = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| markdown_text(cell)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = |column| if column < grid.words { "---" } else { "---:" };
    let rules: Vec<&str> = (0..grid.header.len()).map(rule).collect();
    let head = [line(&grid.header), format!("| {} |", rules.join(" | "))];
    head.into_iter().chain(grid.rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn csv(grid: &Grid) -> String {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in std::iter::once(&grid.header).chain(&grid.rows) {
        let _ = writer.write_record(row.iter().map(|cell| cell.trim_start()));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(header: &[&str], words: usize, rows: &[&[&str]]) -> Grid {
        let row = |row: &[&str]| row.iter().map(ToString::to_string).collect();
        Grid { header: row(header), rows: rows.iter().map(|cells| row(cells)).collect(), words }
    }

    fn widest(text: &str) -> usize {
        text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    #[test]
    fn a_table_is_plain_and_no_wider_than_allowed() {
        let claim = "a claim with many words ".repeat(10);
        let text = render(&grid(&["what", "paper"], 1, &[&[&claim, "9.1"]]), TableForm::Text(None));
        assert!(widest(&text) <= WIDTH, "{text}");
        assert!(text.starts_with("what") && text.is_ascii(), "{text}");
    }

    #[test]
    fn keys_and_intervals_are_not_split_at_any_width() {
        let key = format!("group.{}.arrivals.load=0.5", "a".repeat(110));
        let names = format!("topology.senders=2 {key}");
        let table = grid(&["point", "scheme", "Gb/s"], 2, &[&[&names, "flashpass", "9.1 ± 0.25"]]);
        for form in [TableForm::Text(None), TableForm::Text(Some(40))] {
            let text = render(&table, form);
            for whole in [key.as_str(), "topology.senders=2", "flashpass", "9.1 ± 0.25"] {
                assert!(text.contains(whole), "{whole} is not in:\n{text}");
            }
        }
    }

    #[test]
    fn a_narrow_terminal_leaves_columns_out_in_the_documented_order() {
        let header = ["scheme", "Gb/s", "goodput", "loss %", "KB", "wall s", "Mhop/s", "last"];
        let row = ["flashpass", "9.123", "9.001", "0.000", "200.0", "12.5", "3.9", "1"];
        let table = grid(&header, 1, &[&row]);
        let shown = |width| render(&table, TableForm::Text(Some(width)));
        let all = shown(200);
        assert!(!all.contains("Left out"), "{all}");
        let note = |text: &str| text[text.find("Left out").unwrap_or_default()..].replace('\n', " ");
        assert!(note(&shown(46)).contains("46 columns wide: Mhop/s, wall s. --wide"), "{}", shown(46));
        let few = shown(20);
        let lost = "Mhop/s, wall s, KB, last, goodput, loss %.";
        assert!(note(&few).contains(lost), "{few}");
        assert!(few.lines().nth(2) == Some("flashpass 9.123") || few.contains("flashpass  9.123"), "{few}");
        for width in 20..80 {
            let text = shown(width);
            assert!(widest(&text) <= width, "{width}:\n{text}");
        }
        let note = shown(46).lines().filter(|line| line.starts_with("Left out")).count();
        assert_eq!(note, 1);
    }

    #[test]
    fn the_columns_that_sentences_quote_stay_at_80_columns() {
        let header = "scheme, Mb/s, goodput, loss %, max queue pkts, KB, RTT ms, RTT p99, Jain, resent, RTOs, FCT ms, \
                      FCT p99, small p99, open, wall s, Mhop/s";
        let row = std::iter::once("flashpass").chain(["896.580"; 16]).map(str::to_owned).collect();
        let text = render(&Grid::new(header, [row], 1), TableForm::Text(Some(80)));
        let shown = text.lines().next().unwrap_or_default();
        for quoted in ["Mb/s", "goodput", "loss %", "FCT ms", "FCT p99", "small p99"] {
            assert!(shown.contains(quoted), "{quoted} is not in:\n{text}");
        }
        assert!(widest(&text) <= 80, "{text}");
    }

    #[test]
    fn names_are_escaped_in_every_form() {
        let table = grid(&["scheme", "Gb/s"], 1, &[&["a\u{1b}[31m\nb\u{202e}", "1"]]);
        for form in [TableForm::Text(None), TableForm::Text(Some(80)), TableForm::Markdown, TableForm::Csv] {
            let text = render(&table, form);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
            assert_eq!(text.lines().count(), if form == TableForm::Csv { 2 } else { 3 }, "{text}");
        }
    }

    #[test]
    fn markdown_and_csv_are_read_back() {
        let table = grid(&["claim", "Gb/s"], 1, &[&["a | b, \"c\" *d*", "1"], &["  x", "2"]]);
        let text = render(&table, TableForm::Markdown);
        let wanted = "| claim | Gb/s |\n| --- | ---: |\n| a \\| b, \"c\" \\*d\\* | 1 |\n| &nbsp;&nbsp;x | 2 |";
        assert_eq!(text, wanted);
        let text = render(&table, TableForm::Csv);
        assert_eq!(text, "claim,Gb/s\n\"a | b, \"\"c\"\" *d*\",1\nx,2");
    }
}
