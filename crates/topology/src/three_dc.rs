//! Three data centres (docs/topologies.md, "three-dc").

use shallop_core::options::Source;
use shallop_core::{BitsPerSec, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, Section};

options! {
    /// Three data centres, joined pairwise.
    #[derive(Clone, Debug)]
    pub struct ThreeDcOptions {
        /// The number of hosts in each data centre: `dc0h0` and so on.
        key hosts: usize [= COUNT] = 20;
        /// The rate of the links between border routers.
        key wan_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(10);
        /// The delays of the links b0-b1, b1-b2 and b0-b2.
        key wan_delay: Vec<Span> [List(&DELAY)] = [20, 30, 40].map(Span::from_ms).to_vec();
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = BitsPerSec::gbps(1);
        /// The delay of the links to hosts.
        key access_delay: Span [= DELAY] = Span::from_us(10);
        /// The `[switch.NAME]` that describes the border routers.
        key border_switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}

/// Three data centres whose border routers `b0`, `b1` and `b2` are joined pairwise (Figure 13 of flashpass-icnp21). Hosts
/// `dc0h0` and so on have links to the border router.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreeDc {
    /// Number of hosts in each data centre.
    pub hosts: usize,
    /// Links b0-b1, b1-b2 and b0-b2.
    pub wan: [LinkProperties; 3],
    /// Links of hosts.
    pub access: LinkProperties,
    /// Configuration of border routers: an index into `Plan::switches`.
    pub border_switch: usize,
}

impl Fabric for ThreeDc {
    type Options = ThreeDcOptions;
    const KIND: &'static str = "three-dc";
    const ABOUT: &'static str = "three data centres joined over 40 to 80 ms";
    const LABEL: &'static str = "three data centres";

    fn new<S: Source>(options: ThreeDcOptions, section: &Section<'_, S>) -> Result<Self, S::Error> {
        let keys = ThreeDcOptions::KEY;
        let Ok(delays) = <[Span; 3]>::try_from(options.wan_delay) else {
            let help = "the delays of b0-b1, b1-b2 and b0-b2";
            return Err(section.refuse(keys.wan_delay, "three delays are needed", help));
        };
        let (rate, mtu) = (options.wan_rate, options.largest.mtu);
        Ok(Self {
            hosts: options.hosts,
            wan: delays.map(|delay| LinkProperties { rate, delay, mtu }),
            access: LinkProperties { rate: options.access_rate, delay: options.access_delay, mtu },
            border_switch: section.switch(keys.border_switch, options.border_switch.as_deref())?,
        })
    }

    fn size(&self) -> (u64, u64) {
        let hosts = 3u64.saturating_mul(self.hosts as u64);
        (hosts + 3, hosts + 3)
    }

    fn build(&self, _: Seed) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        let borders: Vec<Node> =
            (0..3).map(|dc| builder.switch(format!("b{dc}"), self.border_switch)).collect();
        for (line, (a, b)) in self.wan.iter().zip([(0, 1), (1, 2), (0, 2)]) {
            let link = line.link(borders[a], borders[b]);
            builder.connect(link, &["wan", &format!("b{a}-b{b}"), &format!("b{b}-b{a}")]);
        }
        for (dc, &border) in borders.iter().enumerate() {
            let hosts = self.access.attach(&mut builder, border, self.hosts, &format!("dc{dc}"));
            builder.site(format!("dc{dc}"), hosts);
        }
        builder
    }
}
