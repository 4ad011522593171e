//! Pods in three tiers (docs/topologies.md, "fat-tree").

use shallop_core::form::Key;
use shallop_core::options::Refused;
use shallop_core::{BitsPerSec, Node, Seed, Span, options};

use crate::bounds::{COUNT, DELAY, RATE};
use crate::builder::NetworkBuilder;
use crate::fabric::{Fabric, Largest, LinkProperties, SwitchNames};

options! {
    /// Three tiers (section 4 of aeolus-apnet18). In a pod, every top-of-rack switch `tor0` and so on is joined to every
    /// aggregation switch. Each of a pod's aggregation switches is joined to an equal number of core switches: switch 0
    /// of every pod to the first core switches, switch 1 to the next, and so on. Hosts are `tor0h0` and so on.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FatTree {
        /// The number of pods.
        key pods: usize [= COUNT] = 8;
        /// The number of top-of-rack switches in a pod.
        key tors: usize [= COUNT] = 4;
        /// The number of aggregation switches in a pod.
        key aggregations: usize [= COUNT] = 2;
        /// The number of core switches, a multiple of `aggregations`.
        key cores: usize [= COUNT] = 8;
        /// The number of hosts at each top-of-rack switch: `tor0h0` and so on.
        key hosts: usize [= COUNT] = 6;
        /// The rate of the links between switches.
        key rate: BitsPerSec [= RATE] = BitsPerSec::gbps(100);
        /// The rate of the links to hosts.
        key access_rate: BitsPerSec [= RATE] = rate, "`rate`";
        /// The delay of every link.
        key delay: Span [= DELAY] = Span::from_us(4);
        /// The time that a host takes for each packet that it sends or receives.
        key host_delay: Span [= DELAY] = Span::from_us(1);
        /// The `[switch.NAME]` that describes the top-of-rack switches.
        key tor_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the aggregation switches.
        key aggregation_switch: Option<String> = None, "\"default\"";
        /// The `[switch.NAME]` that describes the core switches.
        key core_switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}

impl Fabric for FatTree {
    const KIND: &'static str = "fat-tree";
    const ABOUT: &'static str = "pods in three tiers";
    const LABEL: &'static str = "fat-tree";

    fn switches(&self) -> Vec<(&'static Key, Option<&str>)> {
        let keys = Self::KEY;
        vec![
            (keys.tor_switch, self.tor_switch.as_deref()),
            (keys.aggregation_switch, self.aggregation_switch.as_deref()),
            (keys.core_switch, self.core_switch.as_deref()),
        ]
    }

    fn check(&self) -> Result<(), Refused> {
        let Self { cores, aggregations, .. } = self;
        if cores.is_multiple_of(*aggregations) {
            return Ok(());
        }
        let message = format!("{cores} core switches for {aggregations} aggregation switches");
        let help = "as many for each: a multiple of `aggregations`";
        Err(Refused::new(Self::KEY.cores, message, help))
    }

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
            [&self.tor_switch, &self.aggregation_switch, &self.core_switch]
                .map(|name| switches.index(name.as_deref()));
        let (delay, mtu) = (self.delay, self.largest.mtu);
        let fabric = LinkProperties { rate: self.rate, delay, mtu };
        let access = LinkProperties { rate: self.access_rate, delay: delay + self.host_delay, mtu };
        let mut builder = NetworkBuilder::default();
        let cores: Vec<Node> = (0..self.cores)
            .map(|core| builder.switch(format!("core{core}"), core_switch))
            .collect();
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
