//! Ready-made networks of several sites or tiers: what they are like, and how they are wired (docs/topologies.md).
//!
//! Links have one delay for both directions. What an end host takes to process a packet is part of the delay of its
//! link.

use shallop_core::{BitsPerSec, Bytes, Node, Span};
use shallop_sim::GraphLink;

use crate::shape::Shape;

/// What links have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Span,
    /// The largest packet at IP.
    pub mtu: Bytes,
}

impl Line {
    /// A link between two nodes.
    #[must_use]
    pub fn link(self, a: Node, b: Node) -> GraphLink {
        let Self { rate, delay, mtu } = self;
        GraphLink { a, b, rate, delay, mtu }
    }
}

/// Three data centres whose border routers are joined pairwise (Figure 13 of flashpass-icnp21). Hosts `dc0h0` and so on
/// hang at border routers `b0`, `b1`, `b2`.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreeDc {
    /// Hosts in each data centre.
    pub hosts: usize,
    /// The links between border routers: b0-b1, b1-b2, b0-b2.
    pub wan: [Line; 3],
    /// The links of hosts.
    pub access: Line,
    /// What border routers are like.
    pub border: usize,
}

impl ThreeDc {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let hosts = 3u64.saturating_mul(self.hosts as u64);
        (hosts + 3, hosts + 3)
    }

    /// The network.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        let borders: Vec<Node> =
            (0..3).map(|dc| shape.switch(format!("b{dc}"), self.border)).collect();
        for (line, (a, b)) in self.wan.iter().zip([(0, 1), (1, 2), (0, 2)]) {
            let link = line.link(borders[a], borders[b]);
            shape.join(link, &["wan", &format!("b{a}-b{b}"), &format!("b{b}-b{a}")]);
        }
        for (dc, &border) in borders.iter().enumerate() {
            let hosts = attach(&mut shape, border, self.hosts, (&format!("dc{dc}"), self.access));
            shape.site(format!("dc{dc}"), hosts);
        }
        shape
    }
}

/// Adds hosts at a switch, named after `name`.
fn attach(shape: &mut Shape, at: Node, count: usize, (name, line): (&str, Line)) -> Vec<Node> {
    let add = |number| {
        let host = shape.host(format!("{name}h{number}"));
        shape.join(line.link(host, at), &["access"]);
        host
    };
    (0..count).map(add).collect()
}

/// Two tiers: every leaf is joined to every spine. Hosts `leaf0h0` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Switches of the upper tier.
    pub spines: usize,
    /// Switches of the lower tier.
    pub leaves: usize,
    /// Hosts at each leaf.
    pub hosts: usize,
    /// The links between the tiers.
    pub fabric: Line,
    /// The links of hosts.
    pub access: Line,
    /// What leaves and spines are like.
    pub like: (usize, usize),
}

impl LeafSpine {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let [spines, leaves, hosts] = [self.spines, self.leaves, self.hosts].map(|n| n as u64);
        let hosts = leaves.saturating_mul(hosts);
        (hosts + leaves + spines, hosts.saturating_add(leaves.saturating_mul(spines)))
    }

    /// The network.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        let spines: Vec<Node> = (0..self.spines)
            .map(|spine| shape.switch(format!("spine{spine}"), self.like.1))
            .collect();
        for number in 0..self.leaves {
            let leaf = shape.switch(format!("leaf{number}"), self.like.0);
            for &spine in &spines {
                shape.join(self.fabric.link(leaf, spine), &["fabric"]);
            }
            let name = format!("leaf{number}");
            let hosts = attach(&mut shape, leaf, self.hosts, (&name, self.access));
            shape.site(format!("rack{number}"), hosts);
        }
        shape
    }
}

/// Three tiers (section 4 of aeolus-apnet18). In a pod every top-of-rack switch is joined to every aggregation switch.
/// The core switches are dealt out evenly to the aggregation switches of a pod: the first of each pod to the first core
/// switches, the second to those after them. Hosts `tor0h0` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Pods.
    pub pods: usize,
    /// Top-of-rack switches in a pod.
    pub tors: usize,
    /// Aggregation switches in a pod.
    pub aggregations: usize,
    /// Core switches: as many for every aggregation switch of a pod.
    pub cores: usize,
    /// Hosts at each top-of-rack switch.
    pub hosts: usize,
    /// The links between tiers.
    pub fabric: Line,
    /// The links of hosts.
    pub access: Line,
    /// What top-of-rack, aggregation and core switches are like.
    pub like: (usize, usize, usize),
}

impl FatTree {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let all = [self.pods, self.tors, self.aggregations, self.cores, self.hosts];
        let [pods, tors, aggregations, cores, hosts] = all.map(|n| n as u64);
        let product = |factors: &[u64]| factors.iter().fold(1u64, |a, &b| a.saturating_mul(b));
        let ends = product(&[pods, tors, hosts]);
        let nodes = [ends, product(&[pods, tors]), product(&[pods, aggregations]), cores];
        let links = [ends, product(&[pods, tors, aggregations]), product(&[pods, cores])];
        let sum = |parts: &[u64]| parts.iter().fold(0u64, |a, &b| a.saturating_add(b));
        (sum(&nodes), sum(&links))
    }

    /// The network.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        let cores: Vec<Node> =
            (0..self.cores).map(|core| shape.switch(format!("core{core}"), self.like.2)).collect();
        let add = |shape: &mut Shape, name: &str, number, like| {
            shape.switch(format!("{name}{number}"), like)
        };
        for pod in 0..self.pods {
            let first = pod * self.aggregations;
            let above: Vec<Node> = (first..first + self.aggregations)
                .map(|number| add(&mut shape, "agg", number, self.like.1))
                .collect();
            let each = self.cores / self.aggregations.max(1);
            for (&aggregation, cores) in above.iter().zip(cores.chunks(each.max(1))) {
                for &core in cores {
                    shape.join(self.fabric.link(aggregation, core), &["core"]);
                }
            }
            for number in pod * self.tors..(pod + 1) * self.tors {
                let tor = add(&mut shape, "tor", number, self.like.0);
                for &aggregation in &above {
                    shape.join(self.fabric.link(tor, aggregation), &["uplinks"]);
                }
                let name = format!("tor{number}");
                let hosts = attach(&mut shape, tor, self.hosts, (&name, self.access));
                shape.put(format!("pod{pod}"), &hosts);
                shape.site(format!("rack{number}"), hosts);
            }
        }
        shape
    }
}

/// Two data centres, each of switches at a border router, joined by one link (Figure 3.3 of gemini-flashpass-thesis).
/// Hosts `dc0s0h0` and so on at switches `dc0s0`, border routers `b0` and `b1`.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossDc {
    /// Switches in each data centre.
    pub switches: usize,
    /// Hosts at each switch.
    pub hosts: usize,
    /// The link between the border routers.
    pub wan: Line,
    /// The links from switches to border routers.
    pub fabric: Line,
    /// The links of hosts.
    pub access: Line,
    /// What switches and border routers are like.
    pub like: (usize, usize),
}

impl CrossDc {
    /// How many nodes and links there are.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let switches = 2u64.saturating_mul(self.switches as u64);
        let below = switches.saturating_add(switches.saturating_mul(self.hosts as u64));
        (below.saturating_add(2), below.saturating_add(1))
    }

    /// The network.
    #[must_use]
    pub fn build(&self) -> Shape {
        let mut shape = Shape::default();
        let borders = [0, 1].map(|dc| shape.switch(format!("b{dc}"), self.like.1));
        shape.join(self.wan.link(borders[0], borders[1]), &["wan"]);
        for (dc, &border) in borders.iter().enumerate() {
            let mut all = Vec::new();
            for number in 0..self.switches {
                let name = format!("dc{dc}s{number}");
                let switch = shape.switch(name.clone(), self.like.0);
                shape.join(self.fabric.link(switch, border), &["fabric"]);
                let hosts = attach(&mut shape, switch, self.hosts, (&name, self.access));
                shape.put(format!("rack{}", dc * self.switches + number), &hosts);
                all.extend(hosts);
            }
            shape.site(format!("dc{dc}"), all);
        }
        let inside = ["fabric", "access"].iter().filter_map(|set| shape.links.get(*set));
        let inside = inside.flatten().copied().collect();
        shape.links.insert("inside".into(), inside);
        shape
    }
}
