//! Network files: `GraphML` and GML as in the Internet Topology Zoo, and CSV with a line for each link
//! (docs/topologies.md, "file"). Nodes become switches, to which the scenario adds hosts.
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

/// The longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 1 << 24;

/// Rates and delays of links that have none in the file, and the allowed ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    pub rate: Option<BitsPerSec>,
    /// The delay of links with neither a delay nor coordinates.
    pub delay: Option<Span>,
    /// The length of a fibre divided by the great circle between its ends, at least 1.
    pub path_factor: f64,
    /// The allowed rates of links.
    pub rates: RangeInclusive<BitsPerSec>,
    /// The longest allowed delay of a link.
    pub longest: Span,
}

/// Why a network file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line of the error, counted from 1; `None` if it concerns the whole file.
    pub line: Option<usize>,
    /// What is wrong, with the text that was found.
    pub message: String,
    /// What is allowed instead.
    pub help: String,
}

impl Wrong {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into(), help: help.into() }
    }
}

/// The nodes and links of a file, with attributes as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    nodes: Vec<(String, Element)>,
    /// Each link: the identifiers of both ends, and the attributes.
    edges: Vec<([String; 2], Element)>,
}

/// The attributes of a node or link, and the line where it begins.
#[derive(Clone, Debug, Default, PartialEq)]
struct Element {
    line: usize,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The first of these attributes that is written and not empty: its name, in the spelling of the file, and its
    /// value. Case is ignored.
    fn get(&self, names: &[&str]) -> Option<(&str, &str)> {
        let find = |name: &&str| {
            let says = |(key, value): &&(String, String)| key.eq_ignore_ascii_case(name) && !value.trim().is_empty();
            self.attributes.iter().find(says)
        };
        names.iter().find_map(find).map(|(key, value)| (key.as_str(), value.trim()))
    }
}

/// The format of a network file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// XML, as defined at graphml.graphdrawing.org.
    GraphMl,
    /// Graph Modelling Language, text with brackets.
    Gml,
    /// CSV with a line for each link.
    Csv,
}

impl Format {
    /// The format by the ending of a file's name, in any case; `None` if it is unknown.
    pub fn of(name: &str) -> Option<Self> {
        let ending = name.rsplit_once('.')?.1;
        let formats = [("graphml", Self::GraphMl), ("gml", Self::Gml), ("csv", Self::Csv)];
        formats.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|it| it.1)
    }
}

/// A value in a file, and its line.
pub type Located = (String, usize);

/// A node of a network file, which becomes a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the switch, unique in the network.
    pub name: String,
    /// The NAME of the `[switch.NAME]` with its settings, if the file has one.
    pub switch: Option<Located>,
    /// The name of its chip, if the file has one.
    pub chip: Option<Located>,
}

/// The switches and links of a file, interpreted.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    pub nodes: Vec<Part>,
    /// Each link: the indices of both ends in `nodes`, the rate and the delay.
    pub links: Vec<(usize, usize, BitsPerSec, Span)>,
    /// How many rates and delays were written, computed or defaults.
    pub origin: Origin,
    /// The names of columns or attributes that were ignored, in alphabetical order.
    pub unread: Vec<String>,
}

/// Parses the text of a network file and interprets its attributes.
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
