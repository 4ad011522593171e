//! Networks from files: `GraphML` and GML as the Internet Topology Zoo has them, and lists of links as CSV
//! (docs/topologies.md, "file"). Nodes of a file become switches; hosts are hung at them.
//!
//! Each format is read into a [`Drawing`], nodes and links with attributes in words; what the attributes mean is the
//! same for all of them (`facts`).

mod edges;
mod facts;
mod gml;
mod graphml;

use std::ops::RangeInclusive;

use shallop_core::{BitsPerSec, Span};

use shallop_topology::imported::Origin;

/// The longest file, in bytes.
pub const MAX_BYTES: u64 = 1 << 24;

/// What is assumed of links whose file does not say it.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// The rate.
    pub rate: Option<BitsPerSec>,
    /// The delay where there are no coordinates either.
    pub delay: Option<Span>,
    /// How much longer a fibre is than the great circle between its ends.
    pub path_factor: f64,
    /// Rates that are allowed.
    pub rates: RangeInclusive<BitsPerSec>,
    /// The longest delay that is allowed.
    pub longest: Span,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, counted from one; `None` for the whole file.
    pub line: Option<usize>,
    /// What is wrong, with what was found.
    pub message: String,
    /// What is allowed.
    pub help: String,
}

impl Wrong {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into(), help: help.into() }
    }
}

/// Nodes and links as a file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    nodes: Vec<(String, Element)>,
    /// From and to, by the nodes' identifiers.
    edges: Vec<([String; 2], Element)>,
}

/// Attributes in words, and the line they begin at.
#[derive(Clone, Debug, Default, PartialEq)]
struct Element {
    line: usize,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The first of these attributes that is there and not empty, with its name. Case does not matter.
    fn get(&self, names: &[&str]) -> Option<(&str, &str)> {
        let find = |name: &&str| {
            let says = |(key, value): &&(String, String)| {
                key.eq_ignore_ascii_case(name) && !value.trim().is_empty()
            };
            self.attributes.iter().find(says)
        };
        names.iter().find_map(find).map(|(key, value)| (key.as_str(), value.trim()))
    }
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// XML of graphml.graphdrawing.org.
    GraphMl,
    /// Graph Modelling Language.
    Gml,
    /// A list of links.
    Csv,
}

impl Format {
    /// The format of a file of this name, by its ending.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let ending = name.rsplit_once('.')?.1;
        let formats = [("graphml", Self::GraphMl), ("gml", Self::Gml), ("csv", Self::Csv)];
        formats.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|it| it.1)
    }
}

/// A word of a file, and its line.
pub type Located = (String, usize);

/// A switch of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name, which no other has.
    pub name: String,
    /// The `[switch.NAME]` that describes it, if the file says so.
    pub switch: Option<Located>,
    /// Its chip, likewise.
    pub chip: Option<Located>,
}

/// Switches and links of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The switches.
    pub nodes: Vec<Part>,
    /// Links between them: both ends, rate and delay.
    pub links: Vec<(usize, usize, BitsPerSec, Span)>,
    /// Where rates and delays come from.
    pub origin: Origin,
    /// The names of columns or attributes that mean nothing here, in alphabetical order.
    pub unread: Vec<String>,
}

/// Reads the text of a file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(format: Format, text: &str, defaults: &Defaults) -> Result<Parts, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        let help = match format {
            Format::Csv => edges::HELP,
            Format::GraphMl | Format::Gml => "it has one graph, with its nodes and edges",
        };
        return Err(Wrong { line: None, message: "the file is empty".into(), help: help.into() });
    }
    let drawing = match format {
        Format::GraphMl => graphml::read(text)?,
        Format::Gml => gml::read(text)?,
        Format::Csv => edges::read(text)?,
    };
    facts::resolve(&drawing, defaults)
}
