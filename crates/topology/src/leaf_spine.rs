//! Racks in two tiers (docs/topologies.md, "leaf-spine").

use shallop_core::options::Source;
use shallop_core::{BitsPerSec, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, Section};

options! {
    /// Two tiers of switches.
    #[derive(Clone, Debug)]
    pub struct LeafSpineOptions {
        /// The rate of the links between leaves and spines.
        required rate: BitsPerSec [= RATE];
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of the links between leaves and spines.
        required delay: Span [= DELAY];
        /// The delay of the links to hosts.
        key access_delay: Span [= DELAY] = delay, "`delay`";
        /// The number of spine switches.
        required spines: usize [= COUNT];
        /// The number of leaf switches, each joined to every spine.
        required leaves: usize [= COUNT];
        /// The number of hosts at each leaf: `leaf0h0` and so on.
        required hosts: usize [= COUNT];
        /// The `[switch.NAME]` that describes the leaves.
        key leaf_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the spines.
        key spine_switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}

/// Leaf switches `leaf0` and so on, each joined to every spine switch `spine0` and so on, with hosts `leaf0h0` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Number of switches of the upper tier.
    pub spines: usize,
    /// Number of switches of the lower tier.
    pub leaves: usize,
    /// Number of hosts at each leaf.
    pub hosts: usize,
    /// Links between the tiers.
    pub fabric: LinkProperties,
    /// Links of hosts.
    pub access: LinkProperties,
    /// Configuration of leaves: an index into `Plan::switches`.
    pub leaf_switch: usize,
    /// Configuration of spines: an index into `Plan::switches`.
    pub spine_switch: usize,
}

impl Fabric for LeafSpine {
    type Options = LeafSpineOptions;
    const KIND: &'static str = "leaf-spine";
    const ABOUT: &'static str = "racks in two tiers";
    const LABEL: &'static str = "leaf-spine";

    fn new<S: Source>(
        options: LeafSpineOptions,
        section: &Section<'_, S>,
    ) -> Result<Self, S::Error> {
        let keys = LeafSpineOptions::KEY;
        let mtu = options.largest.mtu;
        Ok(Self {
            spines: options.spines,
            leaves: options.leaves,
            hosts: options.hosts,
            fabric: LinkProperties { rate: options.rate, delay: options.delay, mtu },
            access: LinkProperties { rate: options.access_rate, delay: options.access_delay, mtu },
            leaf_switch: section.switch(keys.leaf_switch, options.leaf_switch.as_deref())?,
            spine_switch: section.switch(keys.spine_switch, options.spine_switch.as_deref())?,
        })
    }

    fn size(&self) -> (u64, u64) {
        let [spines, leaves, hosts] = [self.spines, self.leaves, self.hosts].map(|n| n as u64);
        let hosts = leaves.saturating_mul(hosts);
        (hosts + leaves + spines, hosts.saturating_add(leaves.saturating_mul(spines)))
    }

    fn build(&self, _: Seed) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        let spines: Vec<Node> = (0..self.spines)
            .map(|spine| builder.switch(format!("spine{spine}"), self.spine_switch))
            .collect();
        for number in 0..self.leaves {
            let leaf = builder.switch(format!("leaf{number}"), self.leaf_switch);
            for &spine in &spines {
                builder.connect(self.fabric.link(leaf, spine), &["fabric"]);
            }
            let name = format!("leaf{number}");
            let hosts = self.access.attach(&mut builder, leaf, self.hosts, &name);
            builder.site(format!("rack{number}"), hosts);
        }
        builder
    }
}
