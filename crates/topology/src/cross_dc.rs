//! Two data centres (docs/topologies.md, "cross-dc").

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Seed, Span};
use shallop_options::Options;

/// Two data centres whose border routers `b0` and `b1` are joined by one link (Figure 3.3 of
/// gemini-flashpass-thesis). Switches `dc0s0` and so on are joined to a border router, and have hosts `dc0s0h0` and
/// so on.
#[derive(Clone, Debug, PartialEq, Options)]
pub struct CrossDc {
    /// The number of switches in each data centre.
    #[key(COUNT, default = 2)]
    pub switches: usize,
    /// The number of hosts at each switch: `dc0s0h0` and so on.
    #[key(COUNT, default = 12)]
    pub hosts: usize,
    /// The rate of the links between switches and border routers.
    #[key(RATE, default = BitsPerSec::gbps(1))]
    pub rate: BitsPerSec,
    /// The delay of the links between switches and border routers.
    #[key(DELAY, default = Span::from_us(50))]
    pub delay: Span,
    /// The rate of the link between the border routers.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub wan_rate: BitsPerSec,
    /// The delay of the link between the border routers.
    #[key(DELAY, default = Span::from_us(4_800))]
    pub wan_delay: Span,
    /// The rate of the links to hosts.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub access_rate: BitsPerSec,
    /// The delay of the links to hosts.
    #[key(DELAY, default = Span::from_us(50))]
    pub access_delay: Span,
    /// The `[switch.NAME]` that describes the switches of the data centres.
    #[key(shown = "\"default\"")]
    pub dc_switch: Option<String>,
    /// The `[switch.NAME]` that describes the border routers.
    #[key(shown = "\"default\"")]
    pub border_switch: Option<String>,
    #[part]
    pub largest: Largest,
}

impl Fabric for CrossDc {
    const KIND: &'static str = "cross-dc";
    const ABOUT: &'static str = "two data centres joined by one long link";
    const LABEL: &'static str = "two data centres";

    fn size(&self) -> (u64, u64) {
        let switches = 2u64.saturating_mul(self.switches as u64);
        let below = switches.saturating_add(switches.saturating_mul(self.hosts as u64));
        (below.saturating_add(2), below.saturating_add(1))
    }

    fn build(&self, _: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
        let [dc_switch, border_switch] =
            [&self.dc_switch, &self.border_switch].map(|name| switches.index(name.as_deref()));
        let mtu = self.largest.mtu;
        let wan = Way { rate: self.wan_rate, delay: self.wan_delay, mtu };
        let fabric = Way { rate: self.rate, delay: self.delay, mtu };
        let access = Way { rate: self.access_rate, delay: self.access_delay, mtu };
        let mut builder = NetworkBuilder::default();
        let borders = [0, 1].map(|dc| builder.switch(format!("b{dc}"), border_switch));
        builder.connect(wan.link(borders[0], borders[1]), &["wan"]);
        for (dc, &border) in borders.iter().enumerate() {
            let mut all = Vec::new();
            for number in 0..self.switches {
                let name = format!("dc{dc}s{number}");
                let switch = builder.switch(name.clone(), dc_switch);
                builder.connect(fabric.link(switch, border), &["fabric"]);
                let hosts = access.attach(&mut builder, switch, self.hosts, &name);
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
