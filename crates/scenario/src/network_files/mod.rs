//! Network files: `GraphML` and GML as in the Internet Topology Zoo, and lists of links as CSV (docs/topologies.md,
//! "file"). Nodes of a file become switches; hosts are attached to them.
//!
//! Each format is parsed into a [`Drawing`] of nodes and links with attributes as text; `facts` interprets the
//! attributes of all formats.

mod edges;
mod facts;
mod gml;
mod graphml;

use std::ops::RangeInclusive;

use shallop_core::{BitsPerSec, Span};

use shallop_topology::imported::Origin;

/// The longest file, in bytes.
pub const MAX_BYTES: u64 = 1 << 24;

/// Values for links whose file has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    pub rate: Option<BitsPerSec>,
    /// The delay of links without a delay and without coordinates.
    pub delay: Option<Span>,
    /// The length of a fibre divided by the great circle between its ends, at least 1.
    pub path_factor: f64,
    /// The allowed rates.
    pub rates: RangeInclusive<BitsPerSec>,
    /// The longest allowed delay.
    pub longest: Span,
}

/// The reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, counted from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// The reason, with the text that was found.
    pub message: String,
    /// The allowed values.
    pub help: String,
}

impl Wrong {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into(), help: help.into() }
    }
}

/// Nodes and links of a file, not interpreted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    nodes: Vec<(String, Element)>,
    /// The identifiers of both ends, and the attributes.
    edges: Vec<([String; 2], Element)>,
}

/// The attributes of a node or link as text, and the line where they begin.
#[derive(Clone, Debug, Default, PartialEq)]
struct Element {
    line: usize,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The first of these attributes that is present and not empty, with its name. Case is ignored.
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
    /// A CSV list of links.
    Csv,
}

impl Format {
    /// The format of a file by the ending of its name.
    pub fn of(name: &str) -> Option<Self> {
        let ending = name.rsplit_once('.')?.1;
        let formats = [("graphml", Self::GraphMl), ("gml", Self::Gml), ("csv", Self::Csv)];
        formats.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|it| it.1)
    }
}

/// A text of a file, and its line.
pub type Located = (String, usize);

/// A switch in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The unique name.
    pub name: String,
    /// The `[switch.NAME]` that describes the switch, if the file names one.
    pub switch: Option<Located>,
    /// The chip of the switch, if the file names one.
    pub chip: Option<Located>,
}

/// Switches and links of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    pub nodes: Vec<Part>,
    /// The links between them: indices of both ends, rate and delay.
    pub links: Vec<(usize, usize, BitsPerSec, Span)>,
    /// The origins of rates and delays.
    pub origin: Origin,
    /// The names of columns or attributes that are not used, in alphabetical order.
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
