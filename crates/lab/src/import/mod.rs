//! Networks from files: `GraphML` and GML as the Internet Topology Zoo has them, and lists of links as CSV
//! (docs/topologies.md, "file"). Nodes of a file become switches; hosts are hung at them.
//!
//! Each format is read into a [`Drawing`], nodes and links with attributes in words; what the attributes mean is the
//! same for all of them (`facts`).

mod edges;
mod facts;
mod gml;
mod graphml;

use std::fmt;
use std::ops::RangeInclusive;

use shallop_core::{BitsPerSec, Node, Span};

use crate::fabrics::Line;
use crate::shape::Shape;

/// The longest file, in bytes.
pub const MOST_BYTES: u64 = 1 << 24;

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

/// Switches and links from a file, with hosts at the switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The switches' names and how many hosts each has.
    pub nodes: Vec<(String, usize)>,
    /// The links between them, by number.
    pub links: Vec<(usize, usize, Line)>,
    /// The links of hosts.
    pub access: Line,
    /// What the switches are like.
    pub switch: usize,
    /// Where rates and delays come from.
    pub origin: Origin,
}

/// How many links have their rate and delay from where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Rates that the file says.
    pub rates: usize,
    /// Rates that are the default.
    pub default_rates: usize,
    /// Delays that the file says.
    pub delays: usize,
    /// Delays from the coordinates of both ends.
    pub distances: usize,
    /// Delays that are the default.
    pub default_delays: usize,
    /// Nodes that share their label with one before and were given a name of their own.
    pub renamed: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rates, default_rates, delays, distances, default_delays, renamed } = self;
        write!(f, "rates: {rates} from the file, {default_rates} by default; ")?;
        write!(f, "delays: {delays} from the file, {distances} from coordinates, ")?;
        write!(f, "{default_delays} by default")?;
        if *renamed > 0 {
            write!(f, "; {renamed} nodes renamed, as others have their labels")?;
        }
        Ok(())
    }
}

impl Imported {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let hosts = self.nodes.iter().map(|node| node.1 as u64).fold(0, u64::saturating_add);
        let size = |inner: usize| hosts.saturating_add(inner as u64);
        (size(self.nodes.len()), size(self.links.len()))
    }

    /// The network. Hosts `NODE.h0` and so on hang at switch `NODE`.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        for (name, _) in &self.nodes {
            shape.switch(name.clone(), self.switch);
        }
        for &(a, b, line) in &self.links {
            let [forth, back] =
                [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", self.nodes[a].0, self.nodes[b].0));
            let link = line.link(Node(a as u32), Node(b as u32));
            shape.join(link, &["core", &forth, &back]);
        }
        for (at, (name, hosts)) in self.nodes.iter().enumerate().filter(|(_, node)| node.1 > 0) {
            let add = |number| {
                let host = shape.host(format!("{name}.h{number}"));
                shape.join(self.access.link(host, Node(at as u32)), &["access"]);
                host
            };
            let hosts = (0..*hosts).map(add).collect();
            shape.site(name.clone(), hosts);
        }
        shape
    }
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

/// Switches and links of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Names of the switches, each its own.
    pub nodes: Vec<String>,
    /// Links between them: both ends, rate and delay.
    pub links: Vec<(usize, usize, BitsPerSec, Span)>,
    /// Where rates and delays come from.
    pub origin: Origin,
}

/// Reads the text of a file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(format: Format, text: &str, defaults: &Defaults) -> Result<Parts, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let drawing = match format {
        Format::GraphMl => graphml::read(text)?,
        Format::Gml => gml::read(text)?,
        Format::Csv => edges::read(text)?,
    };
    facts::resolve(&drawing, defaults)
}
