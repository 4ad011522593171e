//! Pods in three tiers (docs/topologies.md, "fat-tree").

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, SwitchNames};
use crate::graph::Way;
use shallop_core::{BitsPerSec, Node, Seed, Span};
use shallop_options::{Options, Problem, Section};

/// Three tiers (section 4 of aeolus-apnet18). In a pod, every top-of-rack switch `tor0` and so on is joined to every
/// aggregation switch. Each of a pod's aggregation switches is joined to an equal number of core switches: switch 0
/// of every pod to the first core switches, switch 1 to the next, and so on. Hosts are `tor0h0` and so on.
#[derive(Clone, Debug, PartialEq, Options)]
#[options(check)]
pub struct FatTree {
    /// The number of pods.
    #[key(COUNT, default = 8)]
    pub pods: usize,
    /// The number of top-of-rack switches in a pod.
    #[key(COUNT, default = 4)]
    pub tors: usize,
    /// The number of aggregation switches in a pod.
    #[key(COUNT, default = 2)]
    pub aggregations: usize,
    /// The number of core switches, a multiple of `aggregations`.
    #[key(COUNT, default = 8)]
    pub cores: usize,
    /// The number of hosts at each top-of-rack switch: `tor0h0` and so on.
    #[key(COUNT, default = 6)]
    pub hosts: usize,
    /// The rate of the links between switches.
    #[key(RATE, default = BitsPerSec::gbps(100))]
    pub rate: BitsPerSec,
    /// The rate of the links to hosts.
    #[key(RATE, default = rate, shown = "`rate`")]
    pub access_rate: BitsPerSec,
    /// The delay of every link.
    #[key(DELAY, default = Span::from_us(4))]
    pub delay: Span,
    /// The time that a host takes for each packet that it sends or receives.
    #[key(DELAY, default = Span::from_us(1))]
    pub host_delay: Span,
    /// The `[switch.NAME]` that describes the top-of-rack switches.
    #[key(shown = "\"default\"")]
    pub tor_switch: Option<String>,
    /// The `[switch.NAME]` that describes the aggregation switches.
    #[key(shown = "\"default\"")]
    pub aggregation_switch: Option<String>,
    /// The `[switch.NAME]` that describes the core switches.
    #[key(shown = "\"default\"")]
    pub core_switch: Option<String>,
    #[part]
    pub largest: Largest,
}

impl FatTree {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let Self { cores, aggregations, .. } = self;
        if cores.is_multiple_of(*aggregations) {
            return Ok(());
        }
        let message = format!("{cores} core switches for {aggregations} aggregation switches");
        let help = "as many for each: a multiple of `aggregations`";
        Err(section.reject(Self::KEY.cores, message).with_help(help))
    }
}

impl Fabric for FatTree {
    const KIND: &'static str = "fat-tree";
    const ABOUT: &'static str = "pods in three tiers";
    const LABEL: &'static str = "fat-tree";

    fn size(&self) -> (u64, u64) {
        let all = [self.pods, self.tors, self.aggregations, self.cores, self.hosts];
        let [pods, tors, aggregations, cores, hosts] = all.map(|n| n as u64);
        let product = |factors: &[u64]| factors.iter().fold(1u64, |a, &b| a.saturating_mul(b));
        let ends = product(&[pods, tors, hosts]);
        let nodes = [ends, product(&[pods, tors]), product(&[pods, aggregations]), cores];
        let links = [ends, product(&[pods, tors, aggregations]), product(&[pods, cores])];
        let sum = |parts: &[u64]| parts.iter().fold(0u64, |a, &b| a.saturating_add(b));
        (sum(&nodes), sum(&links))
    }

    fn build(&self, _: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
        let [tor_switch, aggregation_switch, core_switch] =
            [&self.tor_switch, &self.aggregation_switch, &self.core_switch].map(|name| switches.index(name.as_deref()));
        let (delay, mtu) = (self.delay, self.largest.mtu);
        let fabric = Way { rate: self.rate, delay, mtu };
        let access = Way { rate: self.access_rate, delay: delay + self.host_delay, mtu };
        let mut builder = NetworkBuilder::default();
        let cores: Vec<Node> = (0..self.cores).map(|core| builder.switch(format!("core{core}"), core_switch)).collect();
        for pod in 0..self.pods {
            let first = pod * self.aggregations;
            let above: Vec<Node> = (first..first + self.aggregations)
                .map(|number| builder.switch(format!("agg{number}"), aggregation_switch))
                .collect();
            let each = self.cores / self.aggregations.max(1);
            for (&aggregation, cores) in above.iter().zip(cores.chunks(each.max(1))) {
                for &core in cores {
                    builder.connect(fabric.link(aggregation, core), &["core"]);
                }
            }
            for number in pod * self.tors..(pod + 1) * self.tors {
                let name = format!("tor{number}");
                let tor = builder.switch(name.clone(), tor_switch);
                for &aggregation in &above {
                    builder.connect(fabric.link(tor, aggregation), &["uplinks"]);
                }
                let hosts = access.attach(&mut builder, tor, self.hosts, &name);
                builder.add_to_set(format!("pod{pod}"), &hosts);
                builder.site(format!("rack{number}"), hosts);
            }
        }
        builder
    }
}
