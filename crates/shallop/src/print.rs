//! Tables and text on standard output, notes on standard error.

use std::io::{ErrorKind, Write};

use serde_json::Value;
use shallop_results::table::Grid;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::render;

/// Prints a line. A closed pipe is no error.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(plain(&format!("could not write to standard output: {why}")))
        }
        _ => Ok(()),
    }
}

/// Prints notes on standard error.
pub fn notes(notes: &[String]) {
    for note in notes {
        // There is nobody to tell if this cannot be written.
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
}

/// Prints a value as JSON.
pub fn json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value);
    line(&text.map_err(|why| plain(&format!("could not be put as JSON: {why}")))?)
}

/// Prints a table.
pub fn grid(grid: &Grid) -> Result<()> {
    line(&render(grid))
}

/// A JSON object from pairs, in their order.
pub fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
