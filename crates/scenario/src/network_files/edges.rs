//! Network files in CSV, with a header and a line for each link. `from` and `to`, or other usual names, are the nodes;
//! other columns have rates and delays. A line without `to` describes the node `from`: its `kind`, its `switch`, its
//! `chip`, its coordinates. Lines that begin with `#` are comments. Semicolons, tabs or blanks may separate the
//! columns.

use super::columns::{USUAL, direction, meaning, plain};
use super::{Drawing, Element, Wrong};
use super::{facts::OF_NODES, words::as_a_whole};
use csv::{ReaderBuilder, StringRecord, Trim};
use shallop_core::Span;
use shallop_workload::trace::separator;
use std::collections::BTreeMap;

pub(super) const HELP: &str = "the first line is a header: from,to and, if wanted, columns for the rate and the delay";

/// Pairs of names for the two ends of a link, in order of preference.
const ENDS: [[&str; 2]; 13] = [
    ["from", "to"],
    ["source", "destination"],
    ["source", "target"],
    ["src", "dst"],
    ["src", "dest"],
    ["source", "dest"],
    ["1", "2"],
    ["a", "b"],
    ["a", "z"],
    ["u", "v"],
    ["sender", "receiver"],
    ["start", "end"],
    ["head", "tail"],
];
/// Words around these names, as in `node_a`, `Router 1`, `A-End` and `source_id`.
const AROUND: [&str; 12] =
    ["node", "site", "router", "switch", "device", "host", "endpoint", "end", "vertex", "city", "name", "id"];

/// The columns or attributes for the two ends of a link, if both are there.
pub(super) fn both_ends<'a>(names: impl Iterator<Item = &'a str>) -> Option<[usize; 2]> {
    let without = |name: &str| {
        let mut rest = plain(name);
        for word in AROUND {
            let other = rest.strip_prefix(word).or(rest.strip_suffix(word)).filter(|other| !other.is_empty());
            rest = other.map_or(rest.clone(), str::to_owned);
        }
        rest
    };
    let names: Vec<[String; 2]> = names.map(|name| [name.trim().to_lowercase(), without(name)]).collect();
    let at = |end: &str, as_is: usize| names.iter().position(|name| name[as_is] == end);
    let pair = |as_is| ENDS.iter().find_map(|[a, b]| Some([at(a, as_is)?, at(b, as_is)?]));
    pair(0).or_else(|| pair(1))
}

/// The byte between the columns of a table with this header; a blank if it has no other separator and names both ends.
fn separator_of(header: &str) -> u8 {
    let mark = separator(header);
    if header.contains(char::from(mark)) { mark } else { b' ' }
}

/// Whether a text is a table whose header names both ends of links, each by more than a letter.
pub(super) fn is_table(text: &str) -> bool {
    let header = header(text);
    let mark = char::from(separator_of(header));
    let names: Vec<&str> = header.split(mark).map(|name| name.trim().trim_matches('"')).collect();
    both_ends(names.iter().copied()).is_some_and(|ends| ends.iter().all(|&at| plain(names[at]).len() > 1))
}

/// The first line that is not empty, not a comment, and not the `sep=;` of spreadsheets.
fn header(text: &str) -> &str {
    let no_header = |line: &&str| line.trim().is_empty() || line.starts_with('#') || is_sep(line);
    text.lines().find(|line| !no_header(line)).unwrap_or_default()
}

fn is_sep(line: &str) -> bool {
    line.trim().trim_matches('"').to_lowercase().strip_prefix("sep=").is_some_and(|rest| rest.len() <= 1)
}

/// A number with a decimal point and without marks of thousands, and what is behind it; other text as it is. `Err` if a
/// comma could be either.
fn with_point(text: &str, separator: u8) -> Result<String, ()> {
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '\u{a0}' | '\'');
    let end = text.find(|c| !of_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.trim_end();
    let thousands = |mark: char, number: &str| {
        let mut groups = number.split(mark);
        let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        let groups: Vec<&str> = groups.collect();
        let three = |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
        (first && !groups.is_empty() && groups.iter().all(three)).then_some(groups.len())
    };
    let whole = number.split_once('.').map_or(number, |it| it.0);
    let marked = [' ', '\u{a0}', '\'', ','].into_iter().find_map(|mark| Some((mark, thousands(mark, whole)?)));
    let plain = match (marked, number.split_once(',')) {
        (Some((',', 1)), _) if separator != b',' && whole == number => return Err(()),
        (Some((mark, _)), _) => number.replace(mark, ""),
        (None, Some((before, behind)))
            if thousands('.', before).is_some() && behind.bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{}.{behind}", before.replace('.', ""))
        }
        (None, Some((before, behind))) if !(before.contains('.') || behind.contains([',', '.'])) => {
            format!("{before}.{behind}")
        }
        _ => return Ok(text.to_owned()),
    };
    Ok(format!("{plain}{unit}"))
}

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    // The reader counts a line that ends in CRLF as ended with the next one.
    let text = text.replace("\r\n", "\n");
    let head = header(&text);
    let mark = separator_of(head);
    // A line `sep=;` is left out, and several blanks count as one.
    let lines = text.split_inclusive('\n').map(|line| match mark {
        _ if is_sep(line) => "\n".into(),
        b' ' => line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n",
        _ => line.to_owned(),
    });
    let text: String = lines.collect();
    table(&text, mark)
}

/// Parses a table whose columns are separated by `mark`.
fn table(text: &str, mark: u8) -> Result<Drawing, Wrong> {
    let mut builder = ReaderBuilder::new();
    let builder = builder.flexible(true).trim(Trim::All).comment(Some(b'#')).delimiter(mark);
    let mut reader = builder.from_reader(text.as_bytes());
    let wrong = |error: &csv::Error| {
        let line = error.position().map(|at| at.line() as usize);
        Wrong { line, message: format!("this is no CSV: {error}"), help: HELP.into() }
    };
    let header = reader.headers().map_err(|error| wrong(&error))?.clone();
    let ends = columns(&header)?;
    let mut nodes = Nodes::default();
    let mut edges = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(&error))?;
        let line = record.position().map_or(1, |at| at.line() as usize);
        if record.len() != header.len() {
            let values = if record.len() == 1 { "value" } else { "values" };
            let message = format!("{} {values} for {} columns", record.len(), header.len());
            let help = if record.iter().any(|value| value.contains('\n')) {
                "a quote is opened in this line and closed in another: close it in the same line"
            } else {
                "one value, or an empty one, for each column; a name with a comma stands in quotes"
            };
            return Err(Wrong::new(line, message, help));
        }
        let [from, to] = ends.map(|column| record.get(column).unwrap_or_default());
        let cells = header.iter().zip(record.iter()).enumerate().filter(|(column, _)| !ends.contains(column));
        let attributes = cells.map(|(_, cell)| attribute(cell, mark, line)).collect::<Result<_, Wrong>>()?;
        let element = Element { line, attributes };
        let describes = element.get(&OF_NODES).is_some();
        if from.is_empty() || to.is_empty() && !describes {
            let help = "each link leads `from` one node `to` another; a line without `to` says the `switch` or \
                        `chip` of a node";
            return Err(Wrong::new(line, "a link lacks the name of a node", help));
        }
        if to.is_empty() {
            nodes.describe(from, element)?;
        } else if describes {
            let help = "write it in a line of the node, in which `to` is empty";
            return Err(Wrong::new(line, "a link has no switch, chip or coordinates", help));
        } else {
            nodes.mention(from, line);
            nodes.mention(to, line);
            edges.push(([from.to_owned(), to.to_owned()], element));
        }
    }
    if let Some(name) = ends.iter().filter_map(|&at| header.get(at)).find(|name| nodes.numbers.contains_key(*name)) {
        let message = format!("the first line has the node \"{name}\", and no names of columns");
        return Err(Wrong::new(1, message, HELP));
    }
    Ok(Drawing { nodes: nodes.all, edges, ..Drawing::default() })
}

/// The cell of a column, with a decimal point where a number is meant.
fn attribute((key, value): (&str, &str), mark: u8, line: usize) -> Result<(String, String), Wrong> {
    let is_number = meaning(key).is_some() || direction(key).is_some() || is_one_of(key, &OF_NODES[2..8]);
    let text = if is_number { with_point(value, mark) } else { Ok(value.to_owned()) };
    let wrong = |()| {
        let message = format!("`{key}` is \"{value}\", whose comma is a decimal point or a mark of thousands");
        Wrong::new(line, message, "write it without a comma")
    };
    Ok((key.to_owned(), text.map_err(wrong)?))
}

/// Nodes in the order in which lines first name them.
#[derive(Default)]
pub(super) struct Nodes {
    pub all: Vec<(String, Element)>,
    numbers: BTreeMap<String, usize>,
}

impl Nodes {
    pub fn mention(&mut self, name: &str, line: usize) -> &mut Element {
        let next = self.all.len();
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.all.push((name.to_owned(), Element { line, ..Element::default() }));
        }
        &mut self.all[number].1
    }

    fn describe(&mut self, name: &str, element: Element) -> Result<(), Wrong> {
        let known = self.mention(name, element.line);
        if !known.attributes.is_empty() {
            let help = format!("one line for each node; the first is line {}", known.line);
            return Err(Wrong::new(element.line, format!("a second line about \"{name}\""), help));
        }
        *known = element;
        Ok(())
    }
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The indices of the two columns for the ends of a link. Unknown columns are ignored, unless the name is one letter
/// away from a known one.
fn columns(header: &StringRecord) -> Result<[usize; 2], Wrong> {
    let value = |cell: &&str| {
        let begins = cell.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        begins && (cell.parse::<f64>().is_ok() || as_a_whole(cell).is_some() || cell.parse::<Span>().is_ok())
    };
    if let Some(value) = header.iter().find(value) {
        return Err(Wrong::new(1, format!("the first line has a value, \"{value}\", and no names of columns"), HELP));
    }
    let found = both_ends(header.iter());
    let ends = if found.is_some() { &[][..] } else { &ENDS[..6] };
    let known: Vec<&str> = ends.iter().flatten().chain(&USUAL).copied().collect();
    for (index, name) in header.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if header.iter().take(index).any(|other| other.eq_ignore_ascii_case(name)) {
            let message = format!("the column \"{name}\" is there twice");
            return Err(Wrong::new(1, message, "each column once"));
        }
        let near = |known: &&&str| {
            let kind = |name: &str| meaning(name).map(|it| std::mem::discriminant(&it));
            let there = |other: &str| kind(known).map_or(other == **known, |is| kind(other) == Some(is));
            let long = known.len().min(name.len()) > if kind(known).is_some() { 3 } else { 1 };
            long && strsim::osa_distance(&name.to_ascii_lowercase(), known) <= 1 && !header.iter().any(there)
        };
        let is_known = meaning(name).is_some() || direction(name).is_some() || is_one_of(name, &OF_NODES);
        if let Some(meant) = known.iter().find(near).filter(|_| !is_known && !is_one_of(name, &known)) {
            let help = format!("did you mean `{meant}`? {HELP}; known: {}", known.join(", "));
            return Err(Wrong::new(1, format!("no column is named \"{name}\""), help));
        }
    }
    let missing = || {
        let end =
            if header.iter().any(|name| ENDS.iter().any(|pair| is_one_of(name, &pair[..1]))) { "to" } else { "from" };
        let names: Vec<&str> = header.iter().take(12).collect();
        Wrong::new(1, format!("no column is named `{end}`; there are: {}", names.join(", ")), HELP)
    };
    found.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_blanks_in_numbers_are_read_as_far_as_they_are_clear() {
        for (text, comma, semicolon) in [
            ("1,000", Ok("1000"), Err(())),
            ("1,000,000", Ok("1000000"), Ok("1000000")),
            ("1,000.5", Ok("1000.5"), Ok("1000.5")),
            ("2,5", Ok("2.5"), Ok("2.5")),
            ("2,5 Gbps", Ok("2.5Gbps"), Ok("2.5Gbps")),
            ("1.000,5", Ok("1000.5"), Ok("1000.5")),
            ("10 000", Ok("10000"), Ok("10000")),
            ("10.25", Ok("10.25"), Ok("10.25")),
            ("10 Gbps", Ok("10 Gbps"), Ok("10 Gbps")),
            ("1,2,3", Ok("1,2,3"), Ok("1,2,3")),
        ] {
            assert_eq!(with_point(text, b',').as_deref(), comma.as_ref().copied(), "{text}");
            assert_eq!(with_point(text, b';').as_deref(), semicolon.as_ref().copied(), "{text}");
        }
    }
}
