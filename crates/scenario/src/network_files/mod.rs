//! Network files: `GraphML` and GML as in the Internet Topology Zoo, CSV with a line for each link, and the formats of
//! other tools (docs/topologies.md, "file"). Nodes become switches, to which the scenario adds hosts.
//!
//! Each format is parsed into a [`Drawing`] of nodes and links with attributes as text; `facts` interprets the
//! attributes of all formats.

mod columns;
mod edges;
mod facts;
mod gml;
mod graphml;
mod json;
mod others;
mod pairs;
mod places;
mod words;

use others::Sndlib;
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_options::{Key, Problem, Section};
use shallop_topology::imported::Origin;
use std::{collections::BTreeMap, ops::RangeInclusive};

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
    /// The unit of rates without a unit, in bit/s, if the scenario says it.
    pub unit: Option<f64>,
    /// Whether the largest part of a network in several parts is taken.
    pub largest: bool,
}

impl Defaults {
    /// The bit/s of a unit such as `Mbps` or `Mb/s`.
    pub fn unit_of(text: &str) -> Option<f64> {
        words::rate_unit(text)
    }
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

    /// The problem with the file that a key names.
    pub fn of(self, section: &Section<'_>, key: &'static Key, file: &str) -> Problem {
        let line = self.line.map_or_else(String::new, |line| format!(", line {line}"));
        section.reject(key, format!("\"{file}\"{line}: {}", self.message)).with_help(self.help)
    }
}

/// The nodes and links of a file, with attributes as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    nodes: Vec<(String, Element)>,
    /// Each link: the identifiers of both ends, and the attributes.
    edges: Vec<([String; 2], Element)>,
    /// Whether each edge is one direction of a link.
    directed: bool,
    /// What the format leaves open, with the lines of which it was guessed.
    guesses: BTreeMap<String, Vec<usize>>,
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
    /// JSON with nodes and links, as of networkx and D3.
    Json,
    SndlibNative,
    SndlibXml,
    Repetita,
    Hpcc,
    /// The tiers of a fat tree.
    Htsim,
    /// A list of links with delays in milliseconds, or with weights.
    Rocketfuel(bool),
}

impl Format {
    /// The format by the ending of a file's name, in any case, or by the beginning of its text; `None` if it is
    /// unknown.
    pub fn of(name: &str, text: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or("", |it| it.1);
        let formats = [("graphml", Self::GraphMl), ("gml", Self::Gml), ("csv", Self::Csv), ("tsv", Self::Csv)];
        let known = formats.into_iter().find(|(known, _)| ending == *known).map(|it| it.1);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let words: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
        let numbers = words.iter().filter(|word| word.parse::<usize>().is_ok()).count();
        known.or(match words[..] {
            _ if text.starts_with('<') && text.contains("<graphml") => Some(Self::GraphMl),
            _ if text.starts_with('<') && text.contains("<network") => Some(Self::SndlibXml),
            ["?SNDlib", ..] => Some(Self::SndlibNative),
            ["NODES", _] => Some(Self::Repetita),
            [_, _, _] if numbers == 3 => Some(Self::Hpcc),
            [_, _, _] if ending == "intra" => Some(Self::Rocketfuel(name.contains("latenc"))),
            _ if text.starts_with('{') => Some(Self::Json),
            _ if others::is_htsim(text) => Some(Self::Htsim),
            _ if edges::is_table(text) => Some(Self::Csv),
            _ => None,
        })
    }

    /// The formats, for error messages.
    pub const KNOWN: &str = "known: .graphml, .gml, .csv, .json; by their text: lists of links with a header, SNDlib \
                             (native, XML), REPETITA, topology.txt of HPCC, .topo of htsim; and weights.intra and \
                             latencies.intra of Rocketfuel";
}

/// A value in a file, and its line.
pub type Located = (String, usize);

/// A node of a network file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the node, unique in the network.
    pub name: String,
    /// The NAME of the `[switch.NAME]` with its settings, if the file has one.
    pub switch: Option<Located>,
    /// The name of its chip, if the file has one.
    pub chip: Option<Located>,
    /// Whether the file says that it is a host. Other nodes become switches.
    pub is_host: bool,
    /// The rates from and to each of its hosts, if the file has them.
    pub of_hosts: [Option<BitsPerSec>; 2],
}

/// One direction of a link of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileWay {
    pub rate: BitsPerSec,
    pub delay: Span,
    /// The largest IP packet, if the file has it.
    pub mtu: Option<Bytes>,
    /// The probability that a packet is lost.
    pub loss: f64,
    /// The largest random delay.
    pub jitter: Span,
}

impl FileWay {
    /// All values, as numbers that can be compared.
    fn order(&self) -> (u64, Span, Option<Bytes>, u64, Span) {
        (self.rate.get(), self.delay, self.mtu, self.loss.to_bits(), self.jitter)
    }
}

/// A link of a file: the indices of both ends in the nodes, both directions, and its first line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileLink {
    pub between: (usize, usize),
    pub ways: [FileWay; 2],
    pub line: usize,
}

impl FileLink {
    /// All values, those of the direction `first` first.
    fn order(&self, first: usize) -> [(u64, Span, Option<Bytes>, u64, Span); 2] {
        [self.ways[first].order(), self.ways[1 - first].order()]
    }
}

/// The nodes and links of a file, interpreted.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    pub nodes: Vec<Part>,
    pub links: Vec<FileLink>,
    /// How many rates and delays were written, computed or defaults.
    pub origin: Origin,
    /// The names of columns or attributes that were ignored, in alphabetical order.
    pub unread: Vec<String>,
    /// What was joined, left out, guessed or a default, with its lines.
    pub notes: Vec<String>,
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
            _ => "it has one graph, with its nodes and edges",
        };
        return Err(Wrong { line: None, message: "the file is empty".into(), help: help.into() });
    }
    let drawing = match format {
        Format::GraphMl => graphml::read(text)?,
        Format::Gml => gml::read(text)?,
        Format::Csv => edges::read(text)?,
        Format::SndlibNative => Sndlib::native(text)?.drawing(defaults),
        Format::SndlibXml => Sndlib::xml(text)?.drawing(defaults),
        Format::Repetita => others::repetita(text, defaults)?,
        Format::Hpcc => others::hpcc(text)?,
        Format::Htsim => others::htsim(text)?,
        Format::Json => json::read(text)?,
        Format::Rocketfuel(delays) => others::rocketfuel(text, if delays { "delay_ms" } else { "weight" })?,
    };
    facts::resolve(&drawing, defaults)
}

/// What is to be sent from one node or host to another.
pub struct Demand {
    pub ends: [String; 2],
    pub value: f64,
    pub line: usize,
}

/// Parses the demands in a file of `SNDlib`, or in CSV with a column for them.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn demands(name: &str, text: &str) -> Result<Vec<Demand>, Wrong> {
    const VALUES: [&str; 6] = ["weight", "demand", "value", "traffic", "bandwidth", "rate"];
    let help = "demands are read from SNDlib (native, XML), and from CSV: from,to,weight";
    let rows = match Format::of(name, text) {
        Some(Format::SndlibNative) => Sndlib::native(text)?.demands,
        Some(Format::SndlibXml) => Sndlib::xml(text)?.demands,
        Some(Format::Csv) => {
            let value = |element: &Element| {
                let missing = || Wrong::new(element.line, "there is no value of a demand", help);
                element.get(&VALUES).map(|it| it.1.to_owned()).ok_or_else(missing)
            };
            let edges = edges::read(text)?.edges.into_iter();
            let row = |(ends, element): (_, Element)| Ok((ends, value(&element)?, element.line));
            edges.map(row).collect::<Result<_, Wrong>>()?
        }
        _ => return Err(Wrong { line: None, message: "there are no demands in it".into(), help: help.into() }),
    };
    let demand = |(ends, text, line): ([String; 2], String, usize)| {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
        let wrong = || Wrong::new(line, format!("a demand of \"{text}\""), "write a number, 0 or more");
        Ok(Demand { ends, value: value.ok_or_else(wrong)?, line })
    };
    rows.into_iter().map(demand).collect()
}
