//! The trait of fabrics: topologies that are built from a few options. A fabric is a file with its options in scenarios,
//! and a line of the list in [`crate::any`].

use shallop_core::form::Key;
use shallop_core::options::{Options, Refused, Source};
use shallop_core::suggest::advice;
use shallop_core::{BitsPerSec, Bytes, MTU, Node, Seed, Span, options};

use crate::builder::NetworkBuilder;
use crate::graph::GraphLink;

/// A topology that is built from a few options.
pub trait Fabric: Sized {
    type Options: Options<Context = ()>;
    /// Name in scenarios: the `kind` of `[topology]`.
    const KIND: &'static str;
    /// Description in a few words, for lists of fabrics.
    const ABOUT: &'static str;
    /// Name in results.
    const LABEL: &'static str;

    /// Makes the fabric from options that were read from `section`.
    ///
    /// # Errors
    /// If options, each within its bounds, do not go together, or name a switch that is not described.
    fn new<S: Source>(options: Self::Options, section: &Section<'_, S>) -> Result<Self, S::Error>;

    /// Numbers of nodes and links.
    fn size(&self) -> (u64, u64);

    /// Builds the network. The seed draws random delays; names of nodes and links do not depend on it.
    fn build(&self, seed: Seed) -> NetworkBuilder;

    /// Whether the network depends on the seed.
    fn is_random(&self) -> bool {
        false
    }
}

/// The section that a fabric is read from.
#[derive(Debug)]
pub struct Section<'a, S> {
    pub source: &'a S,
    /// Names of the `[switch.NAME]` sections.
    pub switches: &'a [&'a str],
}

impl<S: Source> Section<'_, S> {
    /// Index of the `[switch.NAME]` that a key names; the index of "default" if the key is left out.
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

    /// Error for the value of a key, with a suggestion.
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkProperties {
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay of each direction, including the time that a host at its end takes to process a packet.
    pub delay: Span,
    /// Largest IP packet.
    pub mtu: Bytes,
}

impl LinkProperties {
    /// A link between two nodes.
    pub fn link(self, a: Node, b: Node) -> GraphLink {
        let Self { rate, delay, mtu } = self;
        GraphLink { a, b, rate, delay, mtu }
    }

    /// Adds hosts `NAMEh0` and so on, each with a link of these properties to a switch.
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
