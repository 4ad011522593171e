//! A parking lot (docs/topologies.md, "parking-lot"): a chain of switches with hosts at each.

use shallop_core::{BitsPerSec, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, SwitchNames};

options! {
    /// Switches `p0`, `p1` and so on in a row, with hosts `p0h0`, `p0h1` and so on at each.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ParkingLot {
        /// The rate of the links between switches.
        required rate: BitsPerSec [= RATE];
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of each link between switches.
        required delay: Span [= DELAY];
        /// The largest packet.
        part largest: Largest = ();
        /// The number of links between switches.
        required hops: usize [Integer(1, 256)];
        /// The number of hosts at each switch: `p0h0` and so on.
        required hosts: usize [= COUNT];
        /// The delay of the links to hosts.
        key access_delay: Span [= DELAY] = Span::ZERO;
    }
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
        let switches: Vec<Node> =
            (0..=hops).map(|number| builder.switch(format!("p{number}"), 0)).collect();
        let chain = LinkProperties { rate, delay, mtu };
        for pair in switches.windows(2) {
            builder.connect(chain.link(pair[0], pair[1]), &["chain"]);
        }
        let access = LinkProperties { rate: access_rate, delay: access_delay, mtu };
        for (number, &switch) in switches.iter().enumerate() {
            let hosts = access.attach(&mut builder, switch, hosts, &format!("p{number}"));
            builder.site(format!("at{number}"), hosts);
        }
        builder
    }
}
