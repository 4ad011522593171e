//! Racks in two tiers (docs/topologies.md, "leaf-spine").

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Node, Seed, Span};
use shallop_options::Options;

/// Leaf switches `leaf0` and so on, each joined to every spine switch `spine0` and so on, with hosts `leaf0h0`
/// and so on.
#[derive(Clone, Debug, PartialEq, Options)]
pub struct LeafSpine {
    /// The rate of the links between leaves and spines.
    #[key(RATE)]
    pub rate: BitsPerSec,
    /// The rate of the links to hosts.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub access_rate: BitsPerSec,
    /// The delay of the links between leaves and spines.
    #[key(DELAY)]
    pub delay: Span,
    /// The delay of the links to hosts.
    #[key(DELAY, default = delay, shown = "`delay`")]
    pub access_delay: Span,
    /// The number of spine switches.
    #[key(COUNT)]
    pub spines: usize,
    /// The number of leaf switches, each joined to every spine.
    #[key(COUNT)]
    pub leaves: usize,
    /// The number of hosts at each leaf: `leaf0h0` and so on.
    #[key(COUNT)]
    pub hosts: usize,
    /// The `[switch.NAME]` that describes the leaves.
    #[key(shown = "\"default\"")]
    pub leaf_switch: Option<String>,
    /// The `[switch.NAME]` that describes the spines.
    #[key(shown = "\"default\"")]
    pub spine_switch: Option<String>,
    #[part]
    pub largest: Largest,
}

impl Fabric for LeafSpine {
    const KIND: &'static str = "leaf-spine";
    const ABOUT: &'static str = "racks in two tiers";
    const LABEL: &'static str = "leaf-spine";

    fn size(&self) -> (u64, u64) {
        let [spines, leaves, hosts] = [self.spines, self.leaves, self.hosts].map(|n| n as u64);
        let hosts = leaves.saturating_mul(hosts);
        (hosts + leaves + spines, hosts.saturating_add(leaves.saturating_mul(spines)))
    }

    fn build(&self, _: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
        let [leaf_switch, spine_switch] =
            [&self.leaf_switch, &self.spine_switch].map(|name| switches.index(name.as_deref()));
        let mtu = self.largest.mtu;
        let fabric = Way { rate: self.rate, delay: self.delay, mtu };
        let access = Way { rate: self.access_rate, delay: self.access_delay, mtu };
        let mut builder = NetworkBuilder::default();
        let spines: Vec<Node> =
            (0..self.spines).map(|spine| builder.switch(format!("spine{spine}"), spine_switch)).collect();
        for number in 0..self.leaves {
            let leaf = builder.switch(format!("leaf{number}"), leaf_switch);
            for &spine in &spines {
                builder.connect(fabric.link(leaf, spine), &["fabric"]);
            }
            let name = format!("leaf{number}");
            let hosts = access.attach(&mut builder, leaf, self.hosts, &name);
            builder.site(format!("rack{number}"), hosts);
        }
        builder
    }
}
