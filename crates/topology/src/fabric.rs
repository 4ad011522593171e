//! The trait of fabrics: topologies that are built from a few options. A new fabric needs a file with its options in
//! scenarios, and a line in the list of [`crate::any`].

use crate::builder::NetworkBuilder;
use crate::graph::{GraphLink, Way};
use shallop_core::{Bytes, MTU, Node, Seed};
use shallop_options::suggest::advice;
use shallop_options::{Options, Problem, Section, ValueType};

/// A topology that is built from a few options, which are the fields of the implementing type. An option whose value is
/// a text names a `[switch.NAME]`; without the option, the name is "default".
pub trait Fabric: Options<Context = ()> {
    /// Name of the fabric in scenarios: the value of `kind` in `[topology]`.
    const KIND: &'static str;
    /// Description of the fabric in a few words, for lists of fabrics.
    const ABOUT: &'static str;
    /// Name of the fabric in results, for readers.
    const LABEL: &'static str;

    /// Numbers of nodes and links, computed without building the network.
    fn size(&self) -> (u64, u64);

    /// Builds the network. The seed determines random delays, but not names of nodes and links.
    fn build(&self, seed: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder;

    /// Whether the network depends on the seed, because delays are random.
    fn is_random(&self) -> bool {
        false
    }
}

/// Names of the `[switch.NAME]` sections, in the order of `Plan::switches`.
#[derive(Clone, Debug, Default)]
pub struct SwitchNames<'a>(pub Vec<&'a str>);

impl SwitchNames<'_> {
    /// Index of the named switch configuration, or of "default" if there is no name. An unknown name, which
    /// [`SwitchNames::check`] refuses, has index 0.
    pub(crate) fn index(&self, name: Option<&str>) -> usize {
        let name = name.unwrap_or("default");
        self.0.iter().position(|known| *known == name).unwrap_or(0)
    }

    /// Checks that the switches exist that the options of a fabric name in a section.
    pub(crate) fn check<F: Fabric>(&self, section: &Section<'_>) -> Result<(), Problem> {
        for key in F::keys().into_iter().filter(|key| matches!(key.value_type, ValueType::Text)) {
            let name = section.value(key)?.unwrap_or_else(|| "default".to_owned());
            if !self.0.contains(&name.as_str()) {
                let help = advice(&name, self.0.iter().copied());
                let reason = format!("there is no [switch.{name}]");
                return Err(section.reject(key, reason).with_help(help));
            }
        }
        Ok(())
    }
}

/// Options for the largest packet, common to all links of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
pub struct Largest {
    /// The largest IP packet.
    #[key(Size(Bytes::new(576), Bytes::new(9_216)), default = Bytes::new(MTU))]
    pub mtu: Bytes,
}

impl Way {
    /// A link whose directions are alike.
    pub fn link(self, a: Node, b: Node) -> GraphLink {
        GraphLink { a, b, ways: [self; 2] }
    }

    /// Adds hosts `NAMEh0`, `NAMEh1` and so on, each with a link of these properties to a switch.
    pub(crate) fn attach(self, builder: &mut NetworkBuilder, at: Node, count: usize, name: &str) -> Vec<Node> {
        let add = |number| {
            let host = builder.host(format!("{name}h{number}"));
            builder.connect(self.link(host, at), &["access"]);
            host
        };
        (0..count).map(add).collect()
    }
}
