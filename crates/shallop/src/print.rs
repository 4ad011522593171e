//! Prints tables and text on standard output, and notes on standard error.

use crate::args::{Format, PrintOptions};
use crate::messages::{self, Message};
use serde_json::Value;
use shallop_results::table::Grid;
use shallop_workbench::diagnostic::{Report, Result, plain};
use shallop_workbench::printable::{printable_lines, wrapped};
use shallop_workbench::{TableForm, render};
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints a line. A closed pipe is not an error.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(plain(&format!("could not write to standard output: {why}")))
        }
        _ => Ok(()),
    }
}

/// The first word of a note with the derivation of a value.
pub const WHY: &str = "why: ";

/// Prints notes on standard error. On a terminal, their lines break at spaces.
pub fn notes(notes: &[String]) {
    for note in notes {
        let note = printable_lines(note);
        if messages::is_json() {
            stderr(&note);
            continue;
        }
        // A warning, and the place of one, has its own first word.
        let prefix = if ["warning: ", WHY, "  "].iter().any(|start| note.starts_with(start)) { "" } else { "note: " };
        let (terminal, note) = (console::Term::stderr(), format!("{prefix}{note}"));
        let size = terminal.is_term().then(|| terminal.size_checked()).flatten();
        let width = size.map_or(0, |(_, columns)| usize::from(columns));
        let note = if width > 0 { wrapped(&note, width) } else { note };
        stderr(&format!("{note}\n"));
    }
}

/// Prints text on standard error; with JSON messages, as a note.
pub fn stderr(text: &str) {
    if messages::is_json() {
        let text = text.trim_end();
        if !text.is_empty() {
            messages::send(&Message::Note { text });
        }
        return;
    }
    let _ = write!(std::io::stderr(), "{text}");
}

pub fn json(value: &impl serde::Serialize) -> Result<()> {
    line(&printable_lines(&serde_json::to_string_pretty(value).map_err(|why| no_json(&why))?))
}

/// Prints a value as one line of JSON.
pub fn json_line(value: &impl serde::Serialize) -> Result<()> {
    line(&serde_json::to_string(value).map_err(|why| no_json(&why))?)
}

fn no_json(why: &serde_json::Error) -> Report {
    plain(&format!("could not be written as JSON: {why}"))
}

pub fn grid(grid: &Grid, printed: PrintOptions) -> Result<()> {
    line(&render(grid, form(printed)))
}

/// The form of tables for these options. JSON is printed by [`json`] instead.
pub fn form(printed: PrintOptions) -> TableForm {
    match printed.format() {
        Format::Csv => TableForm::Csv,
        Format::Markdown => TableForm::Markdown,
        Format::Table | Format::Json if printed.wide => TableForm::Text(None),
        Format::Table | Format::Json => TableForm::Text(columns()),
    }
}

/// The width of the terminal, from COLUMNS or the terminal itself; `None` if standard output is not a terminal.
fn columns() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let asked = || Some(usize::from(console::Term::stdout().size_checked()?.1));
    said.filter(|&columns| columns > 0).or_else(asked).filter(|&columns| columns > 0)
}

/// Makes a JSON object that keeps the order of the pairs.
pub fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
