//! Two data centres (docs/topologies.md, "cross-dc").

use shallop_core::options::Source;
use shallop_core::{BitsPerSec, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, Section};

options! {
    /// Two data centres and one link between them.
    #[derive(Clone, Debug)]
    pub struct CrossDcOptions {
        /// The number of switches in each data centre.
        key switches: usize [= COUNT] = 2;
        /// The number of hosts at each switch: `dc0s0h0` and so on.
        key hosts: usize [= COUNT] = 12;
        /// The rate of the links between switches and border routers.
        key rate: BitsPerSec [= RATE] = BitsPerSec::gbps(1);
        /// The delay of the links between switches and border routers.
        key delay: Span [= DELAY] = Span::from_us(50);
        /// The rate of the link between the border routers.
        key wan_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of the link between the border routers.
        key wan_delay: Span [= DELAY] = Span::from_us(4_800);
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of the links to hosts.
        key access_delay: Span [= DELAY] = Span::from_us(50);
        /// The `[switch.NAME]` that describes the switches of the data centres.
        key dc_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the border routers.
        key border_switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}

/// Two data centres whose border routers `b0` and `b1` are joined by one link (Figure 3.3 of gemini-flashpass-thesis).
/// Switches `dc0s0` and so on are joined to a border router, and have hosts `dc0s0h0` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossDc {
    /// Number of switches in each data centre.
    pub switches: usize,
    /// Number of hosts at each switch.
    pub hosts: usize,
    /// Link between the border routers.
    pub wan: LinkProperties,
    /// Links from switches to border routers.
    pub fabric: LinkProperties,
    /// Links of hosts.
    pub access: LinkProperties,
    /// Configuration of switches: an index into `Plan::switches`.
    pub dc_switch: usize,
    /// Configuration of border routers: an index into `Plan::switches`.
    pub border_switch: usize,
}

impl Fabric for CrossDc {
    type Options = CrossDcOptions;
    const KIND: &'static str = "cross-dc";
    const ABOUT: &'static str = "two data centres joined by one long link";
    const LABEL: &'static str = "two data centres";

    fn new<S: Source>(options: CrossDcOptions, section: &Section<'_, S>) -> Result<Self, S::Error> {
        let keys = CrossDcOptions::KEY;
        let mtu = options.largest.mtu;
        Ok(Self {
            switches: options.switches,
            hosts: options.hosts,
            wan: LinkProperties { rate: options.wan_rate, delay: options.wan_delay, mtu },
            fabric: LinkProperties { rate: options.rate, delay: options.delay, mtu },
            access: LinkProperties { rate: options.access_rate, delay: options.access_delay, mtu },
            dc_switch: section.switch(keys.dc_switch, options.dc_switch.as_deref())?,
            border_switch: section.switch(keys.border_switch, options.border_switch.as_deref())?,
        })
    }

    fn size(&self) -> (u64, u64) {
        let switches = 2u64.saturating_mul(self.switches as u64);
        let below = switches.saturating_add(switches.saturating_mul(self.hosts as u64));
        (below.saturating_add(2), below.saturating_add(1))
    }

    fn build(&self, _: Seed) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        let borders = [0, 1].map(|dc| builder.switch(format!("b{dc}"), self.border_switch));
        builder.connect(self.wan.link(borders[0], borders[1]), &["wan"]);
        for (dc, &border) in borders.iter().enumerate() {
            let mut all = Vec::new();
            for number in 0..self.switches {
                let name = format!("dc{dc}s{number}");
                let switch = builder.switch(name.clone(), self.dc_switch);
                builder.connect(self.fabric.link(switch, border), &["fabric"]);
                let hosts = self.access.attach(&mut builder, switch, self.hosts, &name);
                builder.add_to_set(format!("rack{}", dc * self.switches + number), &hosts);
                all.extend(hosts);
            }
            builder.site(format!("dc{dc}"), all);
        }
        let inside = ["fabric", "access"].iter().filter_map(|set| builder.links.get(*set));
        let inside = inside.flatten().copied().collect();
        builder.links.insert("inside".into(), inside);
        builder
    }
}
