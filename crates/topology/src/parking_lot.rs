//! A parking lot (docs/topologies.md, "parking-lot"): switches `p0`, `p1` and so on in a row, with hosts `p0h0`, `p0h1`
//! and so on at each.

use shallop_core::options::Source;
use shallop_core::{BitsPerSec, Bytes, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, Section};
use crate::topo::{LinkSpec, parking_lot};

options! {
    /// Switches in a row.
    #[derive(Clone, Copy, Debug)]
    pub struct ParkingLotOptions {
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

/// What it is like.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// Rate of the chain, and of the links to hosts.
    pub rate: (BitsPerSec, BitsPerSec),
    /// Delay of each link of the chain, and of the links to hosts.
    pub delay: (Span, Span),
    /// Links in the chain.
    pub hops: usize,
    /// Hosts at each switch.
    pub hosts: usize,
    /// The largest packet at IP.
    pub mtu: Bytes,
}

impl Fabric for ParkingLot {
    type Options = ParkingLotOptions;
    const KIND: &'static str = "parking-lot";
    const ABOUT: &'static str = "several bottlenecks in a row";
    const LABEL: &'static str = "parking lot";

    fn new<S: Source>(options: ParkingLotOptions, _: &Section<'_, S>) -> Result<Self, S::Error> {
        Ok(Self {
            rate: (options.rate, options.access_rate),
            delay: (options.delay, options.access_delay),
            hops: options.hops,
            hosts: options.hosts,
            mtu: options.largest.mtu,
        })
    }

    fn size(&self) -> (u64, u64) {
        let (hops, hosts) = (self.hops as u64, self.hosts as u64);
        let hosts = (hops + 1).saturating_mul(hosts);
        (hosts + hops + 1, hosts + hops)
    }

    fn build(&self, _: Seed) -> NetworkBuilder {
        let Self { rate, delay, hops, hosts, mtu } = self;
        let trunk = LinkSpec { rate: rate.0, access: rate.1, delay: delay.0, mtu: *mtu };
        let lot = parking_lot(&trunk, *hops, *hosts, delay.1);
        let switches = *hops as u32 + 1;
        let name = |node: Node| match node.0.checked_sub(switches) {
            None => format!("p{}", node.0),
            Some(host) => format!("p{}h{}", host as usize / hosts, host as usize % hosts),
        };
        let mut builder = NetworkBuilder::named(lot.graph, name);
        let chain: Vec<u32> = lot.chain.iter().flat_map(|port| [port & !1, port | 1]).collect();
        let access = chain.len() as u32..builder.graph.ports() as u32;
        builder.links.insert("access".into(), access.collect());
        builder.links.insert("chain".into(), chain);
        for (at, hosts) in lot.hosts.into_iter().enumerate() {
            builder.site(format!("at{at}"), hosts);
        }
        builder
    }
}
