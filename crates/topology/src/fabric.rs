//! What a fabric is: a topology that is built from a few options. Each is one file, with its options in scenarios, and
//! one line of the list in [`crate::any`].

use shallop_core::form::Key;
use shallop_core::options::{Options, Refused, Source};
use shallop_core::suggest::advice;
use shallop_core::{BitsPerSec, Bytes, MTU, Node, Seed, Span, options};

use crate::builder::NetworkBuilder;
use crate::graph::GraphLink;

/// A topology that is built from a few options.
pub trait Fabric: Sized {
    /// Its options in scenarios.
    type Options: Options<Context = ()>;
    /// Its name in scenarios: the `kind` of `[topology]`.
    const KIND: &'static str;
    /// What it is, in a few words, for whoever chooses among fabrics.
    const ABOUT: &'static str;
    /// What results call it.
    const LABEL: &'static str;

    /// The fabric with these options, which were read from this section.
    ///
    /// # Errors
    /// If options, each within its bounds, do not go together, or name a switch that is not described.
    fn new<S: Source>(options: Self::Options, section: &Section<'_, S>) -> Result<Self, S::Error>;

    /// How many nodes and links there are.
    #[must_use]
    fn size(&self) -> (u64, u64);

    /// The network. What is random follows from the seed; names of nodes and links do not depend on it.
    #[must_use]
    fn build(&self, seed: Seed) -> NetworkBuilder;

    /// Whether anything depends on the seed.
    #[must_use]
    fn is_random(&self) -> bool {
        false
    }
}

/// The section that a fabric is read from, and what it may refer to.
#[derive(Debug)]
pub struct Section<'a, S> {
    /// The section.
    pub source: &'a S,
    /// The names of the switches that are described.
    pub switches: &'a [&'a str],
}

impl<S: Source> Section<'_, S> {
    /// The index of the switch that a key names; that of "default" where the key is left out.
    ///
    /// # Errors
    /// If there is no such switch.
    pub fn switch(&self, key: &'static Key, name: Option<&str>) -> Result<usize, S::Error> {
        let name = name.unwrap_or("default");
        self.switches.iter().position(|known| *known == name).ok_or_else(|| {
            let help = advice(name, self.switches.iter().copied());
            self.refuse(key, format!("there is no [switch.{name}]"), help)
        })
    }

    /// That what a key says is wrong here, and what would be right.
    pub fn refuse(
        &self,
        key: &'static Key,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> S::Error {
        self.source.refuse(Refused::new(key, message, help))
    }
}

options! {
    /// The largest packet of all links.
    #[derive(Clone, Copy, Debug)]
    pub struct Largest {
        /// The largest IP packet.
        key mtu: Bytes [Size(Bytes::new(576), Bytes::new(9_216))] = Bytes::new(MTU);
    }
}

/// What links have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay of both directions. What an end host takes to process a packet is part of it.
    pub delay: Span,
    /// The largest packet at IP.
    pub mtu: Bytes,
}

impl Line {
    /// A link between two nodes.
    #[must_use]
    pub fn link(self, a: Node, b: Node) -> GraphLink {
        let Self { rate, delay, mtu } = self;
        GraphLink { a, b, rate, delay, mtu }
    }

    /// Adds hosts at a switch by such links, named after `name`: `NAMEh0` and so on.
    pub(crate) fn attach(
        self,
        builder: &mut NetworkBuilder,
        at: Node,
        count: usize,
        name: &str,
    ) -> Vec<Node> {
        let add = |number| {
            let host = builder.host(format!("{name}h{number}"));
            builder.connect(self.link(host, at), &["access"]);
            host
        };
        (0..count).map(add).collect()
    }
}
