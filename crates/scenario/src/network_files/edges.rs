//! Network files in CSV, with a header and a line for each link. `from` and `to`, or other usual names, are the nodes;
//! other columns have rates and delays. A line without `to` describes the node `from`: its `kind`, its `switch`, its
//! `chip`, its coordinates. Lines that begin with `#` are comments. Semicolons or tabs may separate the columns.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::columns::{USUAL, meaning};
use super::facts::OF_NODES;
use super::{Drawing, Element, Wrong};
use shallop_workload::trace::{FROM, TO, separator};

pub(super) const HELP: &str = "the first line is a header: from,to and, if wanted, columns for the rate and the delay";

/// The names of the columns for the two ends of a link.
const ENDS: [&[&str]; 2] = [&FROM, &TO];

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    // The reader counts a line that ends in CRLF as ended with the next one.
    let text = text.replace("\r\n", "\n");
    let head = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let mut builder = ReaderBuilder::new();
    let builder = builder.flexible(true).trim(Trim::All).comment(Some(b'#')).delimiter(separator(head));
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
        let columns = header.iter().zip(record.iter()).enumerate();
        let attributes = columns.filter(|(column, _)| !ends.contains(column));
        let attributes = attributes.map(|(_, (key, value))| (key.to_owned(), value.to_owned())).collect();
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
            let help = "a line of its own says it of a node: one in which `to` is empty";
            return Err(Wrong::new(line, "a link has no switch, chip or coordinates", help));
        } else {
            nodes.mention(from, line);
            nodes.mention(to, line);
            edges.push(([from.to_owned(), to.to_owned()], element));
        }
    }
    Ok(Drawing { nodes: nodes.all, edges, ..Drawing::default() })
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
    let groups: [&[&str]; 3] = [ENDS[0], ENDS[1], &USUAL];
    for (index, name) in header.iter().enumerate() {
        let of_link = groups.iter().any(|group| is_one_of(name, group)) || meaning(name).is_some();
        let known = of_link || is_one_of(name, &OF_NODES);
        if header.iter().take(index).any(|other| other.eq_ignore_ascii_case(name)) {
            let message = format!("the column \"{name}\" is there twice");
            return Err(Wrong::new(1, message, "each column once"));
        }
        let near = |known: &&&str| {
            let kind = |name: &str| meaning(name).map(|it| std::mem::discriminant(&it));
            let same = |other: &str| kind(known).is_some() && kind(other) == kind(known);
            let ends = groups[..2].iter().find(|group| group.contains(known));
            let there = |other: &str| ends.map_or_else(|| same(other), |group| is_one_of(other, group));
            let far = strsim::osa_distance(&name.to_ascii_lowercase(), known);
            let long = known.len().min(name.len()) > if ends.is_some() { 1 } else { 3 };
            far <= 1 && long && !header.iter().any(there)
        };
        let meant = groups.iter().flat_map(|group| group.iter()).find(near);
        if let Some(meant) = meant.filter(|_| !known) {
            let allowed: Vec<&str> = groups.iter().flat_map(|group| group.iter().copied()).collect();
            let help = format!("did you mean `{meant}`? {HELP}; known: {}", allowed.join(", "));
            return Err(Wrong::new(1, format!("there is no column \"{name}\""), help));
        }
    }
    // A file with `source` and `destination` may have a column `from` of other things.
    let at = |name: &&str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    if let Some(both) = (0..FROM.len()).find_map(|pair| at(&FROM[pair]).zip(at(&TO[pair]))) {
        return Ok([both.0, both.1]);
    }
    let find = |names: &[&str]| {
        let found = names.iter().find_map(at);
        found.ok_or_else(|| Wrong::new(1, format!("there is no column `{}`", names[0]), HELP))
    };
    Ok([find(ENDS[0])?, find(ENDS[1])?])
}
