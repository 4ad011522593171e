//! Three data centres (docs/topologies.md, "three-dc").

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Node, Seed, Span};
use shallop_options::{Options, Problem, Section};

/// Three data centres whose border routers `b0`, `b1` and `b2` are joined pairwise (Figure 13 of flashpass-icnp21).
/// Hosts `dc0h0` and so on have links to the border router.
#[derive(Clone, Debug, PartialEq, Options)]
#[options(check)]
pub struct ThreeDc {
    /// The number of hosts in each data centre: `dc0h0` and so on.
    #[key(COUNT, default = 20)]
    pub hosts: usize,
    /// The rate of the links between border routers.
    #[key(RATE, default = BitsPerSec::gbps(10))]
    pub wan_rate: BitsPerSec,
    /// The delays of the links b0-b1, b1-b2 and b0-b2.
    #[key(List(&DELAY), default = [20, 30, 40].map(Span::from_ms).to_vec())]
    pub wan_delay: Vec<Span>,
    /// The rate of the links to hosts.
    #[key(RATE, default = BitsPerSec::gbps(1))]
    pub access_rate: BitsPerSec,
    /// The delay of the links to hosts.
    #[key(DELAY, default = Span::from_us(10))]
    pub access_delay: Span,
    /// The `[switch.NAME]` that describes the border routers.
    #[key(shown = "\"default\"")]
    pub border_switch: Option<String>,
    #[part]
    pub largest: Largest,
}

impl ThreeDc {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        if self.wan_delay.len() == 3 {
            return Ok(());
        }
        let help = "the delays of b0-b1, b1-b2 and b0-b2";
        Err(section.reject(Self::KEY.wan_delay, "three delays are needed").with_help(help))
    }
}

impl Fabric for ThreeDc {
    const KIND: &'static str = "three-dc";
    const ABOUT: &'static str = "three data centres joined over 40 to 80 ms";
    const LABEL: &'static str = "three data centres";

    fn size(&self) -> (u64, u64) {
        let hosts = 3u64.saturating_mul(self.hosts as u64);
        (hosts + 3, hosts + 3)
    }

    fn build(&self, _: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
        let (border_switch, mtu) = (switches.index(self.border_switch.as_deref()), self.largest.mtu);
        let access = Way { rate: self.access_rate, delay: self.access_delay, mtu };
        let mut builder = NetworkBuilder::default();
        let borders: Vec<Node> = (0..3).map(|dc| builder.switch(format!("b{dc}"), border_switch)).collect();
        for (&delay, (a, b)) in self.wan_delay.iter().zip([(0, 1), (1, 2), (0, 2)]) {
            let wan = Way { rate: self.wan_rate, delay, mtu };
            let link = wan.link(borders[a], borders[b]);
            builder.connect(link, &["wan", &format!("b{a}-b{b}"), &format!("b{b}-b{a}")]);
        }
        for (dc, &border) in borders.iter().enumerate() {
            let hosts = access.attach(&mut builder, border, self.hosts, &format!("dc{dc}"));
            builder.site(format!("dc{dc}"), hosts);
        }
        builder
    }
}
