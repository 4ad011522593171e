//! Lists of links: CSV with a header. `from` and `to` name the nodes; further columns say rates and delays. Lines that
//! begin with `#` are comments.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::facts::{DELAYS, RATES};
use super::{Drawing, Element, Wrong};

const HELP: &str = "the first line is a header: from,to and, if wanted, a column for the rate and one for the delay";

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let wrong = |error: &csv::Error| {
        let line = error.position().map(|at| at.line() as usize);
        Wrong { line, message: format!("this is no CSV: {error}"), help: HELP.into() }
    };
    let header = reader.headers().map_err(|error| wrong(&error))?.clone();
    let ends = columns(&header)?;
    let mut drawing = Drawing::default();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(&error))?;
        let line = record.position().map_or(1, |at| at.line() as usize);
        if record.len() != header.len() {
            let message = format!("{} values for {} columns", record.len(), header.len());
            return Err(Wrong::new(line, message, "one value, or an empty one, for each column"));
        }
        let ends = ends.map(|column| record.get(column).unwrap_or_default().to_owned());
        if ends.iter().any(String::is_empty) {
            let help = "each link leads `from` one node `to` another";
            return Err(Wrong::new(line, "a link lacks the name of a node", help));
        }
        let pairs = header.iter().zip(record.iter());
        let attributes = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        for end in &ends {
            drawing.nodes.push((end.clone(), Element { line, ..Element::default() }));
        }
        drawing.edges.push((ends, Element { line, attributes }));
    }
    let mut seen = std::collections::BTreeSet::new();
    drawing.nodes.retain(|(name, _)| seen.insert(name.clone()));
    Ok(drawing)
}

/// Where the ends of links stand. All columns must be known ones.
fn columns(header: &StringRecord) -> Result<[usize; 2], Wrong> {
    let known = || ["from", "to"].into_iter().chain(RATES).chain(DELAYS);
    let allowed = || format!("allowed: {}", known().collect::<Vec<_>>().join(", "));
    for (index, name) in header.iter().enumerate() {
        if !known().any(|known| known.eq_ignore_ascii_case(name)) {
            let message = format!("there is no column \"{name}\"");
            return Err(Wrong::new(1, message, format!("{HELP}; {}", allowed())));
        }
        if header.iter().take(index).any(|other| other.eq_ignore_ascii_case(name)) {
            let message = format!("the column \"{name}\" is there twice");
            return Err(Wrong::new(1, message, allowed()));
        }
    }
    let find = |name: &str| {
        let found = header.iter().position(|column| column.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Wrong::new(1, format!("there is no column `{name}`"), HELP))
    };
    Ok([find("from")?, find("to")?])
}
