//! Networks that are read from files: switches and links, the number of hosts at each switch, and where the rates and
//! delays come from.

use crate::builder::NetworkBuilder;
use crate::graph::{GraphLink, Way};
use shallop_core::{BitsPerSec, Node};
use std::fmt;

/// Nodes and links from a file, with hosts at the switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Name of each node, and the number of hosts that are attached to it.
    pub nodes: Vec<(String, usize)>,
    /// Links: the indices of both ends in `nodes`, and the properties of both directions.
    pub links: Vec<(usize, usize, [Way; 2])>,
    /// Properties of the links to hosts.
    pub access: Way,
    /// Rates of the links of each node's hosts, from the host and to it.
    pub speeds: Vec<[BitsPerSec; 2]>,
    /// Index into `Plan::switches` of each switch's configuration; `None` for a node that is a host.
    pub switches: Vec<Option<usize>>,
    /// Where the rates and delays of links come from.
    pub origin: Origin,
    /// Name of the file, and the names of its columns or attributes that are not used.
    pub unread: (String, Vec<String>),
    /// What was joined, left out, guessed or a default, with its lines.
    pub notes: Vec<String>,
}

/// Where the rates and delays of links come from, for `check` to report: numbers of links, and of links whose value is
/// not in the file the lines there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Links whose rate is in the file.
    pub rates: usize,
    /// Lines of the links with the default rate.
    pub default_rates: Vec<usize>,
    /// Links whose delay is in the file.
    pub delays: usize,
    /// Links whose delay is computed from a cable length in the file.
    pub lengths: usize,
    /// Lines of the links whose delay is computed from the coordinates of both ends.
    pub distances: Vec<usize>,
    /// Lines of the links with the default delay.
    pub default_delays: Vec<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rates, default_rates, delays, lengths, distances, default_delays } = self;
        write!(f, "rates: {rates} from the file")?;
        guessed(f, default_rates, "by default")?;
        write!(f, "; delays: {delays} from the file")?;
        if *lengths > 0 {
            write!(f, ", {lengths} from lengths")?;
        }
        guessed(f, distances, "from coordinates")?;
        guessed(f, default_delays, "by default")?;
        Ok(())
    }
}

/// The most ranges of lines that are printed.
const MAX_RANGES: usize = 8;

/// Writes how many links have a value of this source, and their lines in the file, which are in ascending order.
fn guessed(f: &mut fmt::Formatter<'_>, lines: &[usize], source: &str) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    let ranges: Vec<&[usize]> = lines.chunk_by(|line, next| *next <= line + 1).collect();
    let shown = ranges.iter().take(MAX_RANGES).map(|range| match (range[0], range[range.len() - 1]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let more = if ranges.len() > MAX_RANGES { ", …" } else { "" };
    write!(f, ", {} {source} ({noun} {shown}{more})", lines.len())
}

impl Imported {
    /// Numbers of nodes and links, computed without building the network.
    pub fn size(&self) -> (u64, u64) {
        let hosts = self.nodes.iter().map(|node| node.1 as u64).fold(0, u64::saturating_add);
        let size = |inner: usize| hosts.saturating_add(inner as u64);
        (size(self.nodes.len()), size(self.links.len()))
    }

    /// Builds the network. A switch `NODE` has hosts `NODE.h0`, `NODE.h1` and so on. Hosts of the file have their
    /// names, and the switch to which one is linked first is its site.
    pub fn build(&self) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        for ((name, _), switch) in self.nodes.iter().zip(&self.switches) {
            match *switch {
                Some(switch) => builder.switch(name.clone(), switch),
                None => builder.host(name.clone()),
            };
        }
        let mut sites: Vec<Vec<Node>> = vec![Vec::new(); self.nodes.len()];
        let mut placed = vec![false; self.nodes.len()];
        for &(a, b, ways) in &self.links {
            let [forth, back] = [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", self.nodes[a].0, self.nodes[b].0));
            let is_host = [a, b].map(|node| self.switches[node].is_none());
            let set = if is_host.contains(&true) { "access" } else { "core" };
            let link = GraphLink { a: Node(a as u32), b: Node(b as u32), ways };
            builder.connect(link, &[set, &forth, &back]);
            for (host, switch) in [(a, b), (b, a)] {
                if self.switches[host].is_none() && self.switches[switch].is_some() && !placed[host] {
                    placed[host] = true;
                    sites[switch].push(Node(host as u32));
                }
            }
        }
        for (at, (name, hosts)) in self.nodes.iter().enumerate() {
            let add = |number| {
                let host = builder.host(format!("{name}.h{number}"));
                let ways = self.speeds[at].map(|rate| Way { rate, ..self.access });
                builder.connect(GraphLink { a: host, b: Node(at as u32), ways }, &["access"]);
                host
            };
            sites[at].extend((0..*hosts).map(add).collect::<Vec<_>>());
            if !sites[at].is_empty() {
                builder.site(name.clone(), std::mem::take(&mut sites[at]));
            }
        }
        builder
    }
}
