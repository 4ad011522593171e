//! A parking lot (docs/topologies.md, "parking-lot"): a chain of switches with hosts at each.

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Node, Seed, Span};
use shallop_options::Options;

/// Switches `p0`, `p1` and so on in a row, with hosts `p0h0`, `p0h1` and so on at each.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
pub struct ParkingLot {
    /// The rate of the links between switches.
    #[key(RATE)]
    pub rate: BitsPerSec,
    /// The rate of the links to hosts.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub access_rate: BitsPerSec,
    /// The delay of each link between switches.
    #[key(DELAY)]
    pub delay: Span,
    #[part]
    pub largest: Largest,
    /// The number of links between switches.
    #[key(Integer(1, 256))]
    pub hops: usize,
    /// The number of hosts at each switch: `p0h0` and so on.
    #[key(COUNT)]
    pub hosts: usize,
    /// The delay of the links to hosts.
    #[key(DELAY, default = Span::ZERO)]
    pub access_delay: Span,
}

impl Fabric for ParkingLot {
    const KIND: &'static str = "parking-lot";
    const ABOUT: &'static str = "several bottlenecks in a row";
    const LABEL: &'static str = "parking lot";

    fn size(&self) -> (u64, u64) {
        let (hops, hosts) = (self.hops as u64, self.hosts as u64);
        let hosts = (hops + 1).saturating_mul(hosts);
        (hosts + hops + 1, hosts + hops)
    }

    fn build(&self, _: Seed, _: &SwitchNames<'_>) -> NetworkBuilder {
        let Self { rate, access_rate, delay, access_delay, hops, hosts, largest } = *self;
        let mtu = largest.mtu;
        let mut builder = NetworkBuilder::default();
        let switches: Vec<Node> = (0..=hops).map(|number| builder.switch(format!("p{number}"), 0)).collect();
        let chain = Way { rate, delay, mtu };
        for pair in switches.windows(2) {
            builder.connect(chain.link(pair[0], pair[1]), &["chain"]);
        }
        let access = Way { rate: access_rate, delay: access_delay, mtu };
        for (number, &switch) in switches.iter().enumerate() {
            let hosts = access.attach(&mut builder, switch, hosts, &format!("p{number}"));
            builder.site(format!("at{number}"), hosts);
        }
        builder
    }
}
