//! A network that was read from a file: its switches and links, the hosts attached to each switch, and where rates and
//! delays came from.

use std::fmt;

use shallop_core::Node;

use crate::builder::NetworkBuilder;
use crate::fabric::Line;

/// Switches and links from a file, with hosts at the switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The switches' names and how many hosts each has.
    pub nodes: Vec<(String, usize)>,
    /// The links between them, by number.
    pub links: Vec<(usize, usize, Line)>,
    /// The links of hosts.
    pub access: Line,
    /// What each switch is like, by number: an index into `Plan::switches`.
    pub switches: Vec<usize>,
    /// Where rates and delays come from.
    pub origin: Origin,
    /// The file, and the names of its columns or attributes that mean nothing here.
    pub unread: (String, Vec<String>),
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
    /// Delays from lengths of cables that the file says.
    pub lengths: usize,
    /// Delays from the coordinates of both ends.
    pub distances: usize,
    /// Delays that are the default.
    pub default_delays: usize,
    /// Nodes that share their label with one before and were given a name of their own.
    pub renamed: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rates, default_rates, delays, lengths, distances, default_delays, renamed } =
            self;
        write!(f, "rates: {rates} from the file, {default_rates} by default; ")?;
        write!(f, "delays: {delays} from the file, ")?;
        if *lengths > 0 {
            write!(f, "{lengths} from lengths, ")?;
        }
        write!(f, "{distances} from coordinates, ")?;
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
    pub fn build(&self) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        for ((name, _), &switch) in self.nodes.iter().zip(&self.switches) {
            builder.switch(name.clone(), switch);
        }
        for &(a, b, line) in &self.links {
            let [forth, back] =
                [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", self.nodes[a].0, self.nodes[b].0));
            let link = line.link(Node(a as u32), Node(b as u32));
            builder.connect(link, &["core", &forth, &back]);
        }
        for (at, (name, hosts)) in self.nodes.iter().enumerate().filter(|(_, node)| node.1 > 0) {
            let add = |number| {
                let host = builder.host(format!("{name}.h{number}"));
                builder.connect(self.access.link(host, Node(at as u32)), &["access"]);
                host
            };
            let hosts = (0..*hosts).map(add).collect();
            builder.site(name.clone(), hosts);
        }
        builder
    }
}
