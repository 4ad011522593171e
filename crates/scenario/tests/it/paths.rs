//! Paths, and what follows from them for the traffic, against a search for every pair of hosts one by one; how many
//! searches a network takes; and a network of 100,000 hosts.

use proptest::prelude::*;
use shallop_core::{Bytes, Node, Seed, Span};
use shallop_plan::traffic_paths::{Crossings, PairRtt, PortTraffic, TrafficPaths};
use shallop_plan::{Plan, ResolvedNetwork, pairs};
use shallop_plan::{host_pairs::HostPairs, load, load::LoadTerms, network::Network, plan::Pattern};
use shallop_scenario::{Options, read};
use shallop_topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

fn plan(text: &str) -> Plan {
    let study = read(text, &Options::default()).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    study.points[0].plan.clone()
}

fn scenario(topology: &str, group: &str) -> String {
    format!(
        "title = \"paths\"\nduration = \"1s\"\nscheme = [{{ transport = \"cubic\" }}]\n\
         group = [{{ name = \"all\", {group} }}]\n[topology]\n{topology}"
    )
}

fn node_text(name: &str, kind: &str) -> String {
    format!("[[topology.node]]\nname = \"{name}\"\nkind = \"{kind}\"\n")
}

fn link_text(a: &str, b: &str, properties: &str) -> String {
    format!("[[topology.link]]\nbetween = [\"{a}\", \"{b}\"]\n{properties}\n")
}

type Cost = (Span, u32);

/// The searches of one destination at a time, through all nodes.
struct Reference<'a> {
    network: &'a Network,
    ports: Vec<Vec<u32>>,
}

struct Tree {
    to: Node,
    costs: Vec<Option<Cost>>,
}

impl<'a> Reference<'a> {
    fn of(network: &'a Network) -> Self {
        let mut ports = vec![Vec::new(); network.graph.nodes.len()];
        for port in 0..network.graph.ports() as u32 {
            ports[network.graph.near(port).0 as usize].push(port);
        }
        for ports in &mut ports {
            ports.sort_by_key(|&port| (network.graph.far(port), port));
        }
        Self { network, ports }
    }

    fn forwards(&self, node: Node, to: Node) -> bool {
        node == to || self.network.graph.kind(node) == NodeKind::Switch
    }

    /// Bellman-Ford: every port is looked at until nothing changes.
    fn tree(&self, to: Node) -> Tree {
        let graph = &self.network.graph;
        let mut costs: Vec<Option<Cost>> = vec![None; graph.nodes.len()];
        costs[to.0 as usize] = Some((Span::ZERO, 0));
        loop {
            let mut changed = false;
            for port in 0..graph.ports() as u32 {
                let (near, far) = (graph.near(port), graph.far(port));
                let Some((delay, hops)) = costs[far.0 as usize].filter(|_| self.forwards(far, to)) else {
                    continue;
                };
                let through = (delay + graph.link_of(port).delay, hops + 1);
                if near != to && costs[near.0 as usize].is_none_or(|known| through < known) {
                    costs[near.0 as usize] = Some(through);
                    changed = true;
                }
            }
            if !changed {
                return Tree { to, costs };
            }
        }
    }

    /// The equal-cost ports of a node.
    fn next(&self, tree: &Tree, node: Node) -> Vec<u32> {
        let graph = &self.network.graph;
        let lies_on = |&&port: &&u32| {
            let far = graph.far(port);
            let rest = tree.costs[far.0 as usize].filter(|_| self.forwards(far, tree.to));
            let through = rest.map(|(delay, hops)| (delay + graph.link_of(port).delay, hops + 1));
            node != tree.to && through.is_some() && through == tree.costs[node.0 as usize]
        };
        self.ports[node.0 as usize].iter().filter(lies_on).copied().collect()
    }

    fn longest(&self, tree: &Tree, node: Node) -> Option<(Span, u32)> {
        if node == tree.to {
            return Some((Span::ZERO, 0));
        }
        let through = |port| {
            let (rest, hops) = self.longest(tree, self.network.graph.far(port))?;
            Some((self.network.longest_transit(&[port], Bytes::new(84)) + rest, hops + 1))
        };
        self.next(tree, node).into_iter().filter_map(through).max()
    }

    fn crossed(&self, tree: &Tree, node: Node, into: &mut BTreeSet<u32>) {
        for port in self.next(tree, node) {
            if into.insert(port) {
                self.crossed(tree, self.network.graph.far(port), into);
            }
        }
    }

    fn mean(&self, tree: &Tree, node: Node, counts: &[bool]) -> f64 {
        let ports = self.next(tree, node);
        let each = ports.iter().map(|&port| {
            f64::from(u8::from(counts[port as usize])) + self.mean(tree, self.network.graph.far(port), counts)
        });
        each.sum::<f64>() / ports.len().max(1) as f64
    }

    /// The paths of the traffic between these hosts, in order of receivers and then senders.
    fn traffic(&self, pairs: &BTreeSet<(Node, Node)>) -> TrafficPaths {
        let ports = vec![PortTraffic::default(); self.network.graph.ports()];
        let mut traffic = TrafficPaths { ports, ..TrafficPaths::default() };
        for &(to, from) in pairs {
            let (there, back) = (self.tree(to), self.tree(from));
            let (mut data, mut returns) = (BTreeSet::new(), BTreeSet::new());
            self.crossed(&there, from, &mut data);
            self.crossed(&back, to, &mut returns);
            for port in data {
                traffic.ports[port as usize].data = true;
            }
            for port in returns {
                traffic.ports[port as usize].returns = true;
            }
            let (transit, hops) = self.longest(&there, from).expect("all hosts are joined");
            let pair = PairRtt { base_rtt: transit * 2, from, to };
            traffic.hops = traffic.hops.max(hops);
            if traffic.longest.is_none_or(|known| pair.base_rtt > known.base_rtt) {
                traffic.longest = Some(pair);
            }
            if traffic.shortest.is_none_or(|known| pair.base_rtt < known.base_rtt) {
                traffic.shortest = Some(pair);
            }
        }
        traffic
    }
}

/// A random network as text: switches in a row, so that all are joined, with more links; hosts with one to three links.
fn network() -> impl Strategy<Value = String> {
    let link = (0usize..7, 0usize..7, 0usize..3);
    let host = prop::collection::vec((0usize..7, 0usize..4), 1..4);
    (3usize..8, any::<bool>(), prop::collection::vec(link, 0..14), prop::collection::vec(host, 3..8)).prop_map(
        |(switches, hub, links, hosts)| {
            let kinds = [
                "rate = \"1Gbps\", delay = \"1us\"", "rate = \"1Gbps\", delay = \"2us\"",
                "rate = \"2Gbps\", delay = \"1us\"",
            ];
            let mut text = String::new();
            let mut node = |name: String, kind: &str| {
                text += &node_text(&name, kind);
            };
            (0..switches).for_each(|number| node(format!("s{number}"), "switch"));
            (0..hosts.len()).for_each(|number| node(format!("h{number}"), "host"));
            let mut link = |a: String, b: String, kind: usize| {
                let properties = kinds[kind.min(2)].replace(", ", "\n");
                text += &link_text(&a, &b, &properties);
            };
            for number in 1..switches {
                // Around a hub there are many twins.
                link(format!("s{}", if hub { 0 } else { number - 1 }), format!("s{number}"), 0);
            }
            for (a, b, kind) in links.into_iter().filter(|(a, b, _)| a % switches != b % switches) {
                link(format!("s{}", a % switches), format!("s{}", b % switches), kind);
            }
            for (number, links) in hosts.iter().enumerate() {
                for &(at, kind) in links {
                    link(format!("h{number}"), format!("s{}", at % switches), kind);
                }
            }
            format!("kind = \"graph\"\n{text}")
        },
    )
}

const GROUPS: [&str; 6] = [
    "from = \"hosts\", to = \"hosts\", pattern = \"uniform\"",
    "from = [\"h0\", \"h1\"], to = [\"h1\", \"h2\"], pattern = \"uniform\"",
    "from = \"hosts\", to = \"hosts\", pattern = \"permutation\"",
    "from = [\"h0\", \"h1\"], to = [\"h2\"], flows = 2",
    "from = \"hosts\", to = \"h0\", pattern = \"incast\", at_once = 2",
    "from = [\"h1\", \"h2\"], to = \"hosts\", pattern = \"all-to-all\"",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn shared_searches_find_what_a_search_for_every_pair_finds(
        topology in network(), group in 0usize..6, marked in any::<u64>(),
    ) {
        let plan = plan(&scenario(&topology, GROUPS[group]));
        let seed = Seed::new(1);
        let network = Network::build(&plan, seed);
        let reference = Reference::of(&network);
        let paths = network.paths();
        let hosts: Vec<Node> = network.graph.hosts().collect();
        for &to in &hosts {
            let tree = reference.tree(to);
            for node in (0..network.graph.nodes.len() as u32).map(Node) {
                let (at, end) = (paths.inner(node), paths.inner(to));
                if paths.access_link(node).is_none() && at != end {
                    prop_assert_eq!(paths.ports(at, end), &reference.next(&tree, node)[..]);
                }
            }
        }
        let index = &plan.groups[0];
        let all: BTreeSet<(Node, Node)> = if index.pattern == Pattern::RoundRobin {
            [(Node(index.to[0]), Node(index.from[0])), (Node(index.to[0]), Node(index.from[1]))].into()
        } else {
            let pairs = pairs::pairs(index, 0, &network, seed).unwrap();
            pairs.weights().map(|((from, to), _)| (to, from)).collect()
        };
        let pairs = HostPairs::from_plan(&plan, &network, &paths, seed, |_| true);
        let got = TrafficPaths::between(&network, &paths, &pairs).unwrap();
        let expected = reference.traffic(&all);
        prop_assert_eq!(&got.ports, &expected.ports);
        prop_assert_eq!((got.longest, got.shortest), (expected.longest, expected.shortest));
        let counts: Vec<bool> =
            (0..network.graph.ports()).map(|port| marked >> (port % 61) & 1 == 1).collect();
        let mut crossings = Crossings::new(&network, &paths, &counts);
        let mut means = BTreeMap::new();
        for &(to, from) in &all {
            let mean = reference.mean(&reference.tree(to), from, &counts);
            prop_assert_eq!(crossings.mean(from, to).to_bits(), mean.to_bits());
            means.insert((from, to), mean);
        }
        if index.pattern != Pattern::RoundRobin {
            let pairs = pairs::pairs(index, 0, &network, seed).unwrap();
            let mut by_receiver = BTreeMap::new();
            for (pair, weight) in pairs.weights() {
                *by_receiver.entry(pair.1).or_insert(0.0) += weight * means[&pair];
            }
            let sum: f64 = by_receiver.into_values().sum();
            prop_assert_eq!(load::crossings(&pairs, &network, &paths, &counts).to_bits(), sum.to_bits());
        }
    }
}

#[test]
fn hosts_take_no_searches() {
    let searches = |topology: &str, group: &str| {
        let plan = plan(&scenario(topology, group));
        Network::build(&plan, Seed::new(1)).paths().searches()
    };
    let dumbbell = "kind = \"dumbbell\"\nsenders = 2000\nreceivers = 2000\nrate = \"10Gbps\"\ndelay = \"5ms\"";
    assert_eq!(searches(dumbbell, "flows = 1"), 2);
    let leaf_spine = "kind = \"leaf-spine\"\nspines = 4\nleaves = 9\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"1us\"";
    assert_eq!(searches(leaf_spine, "from = \"hosts\", to = \"hosts\", pattern = \"uniform\""), 1);
}

#[test]
fn links_with_impairments_make_no_twins() {
    let link = |a: &str, b: &str, more: &str| {
        format!("[[topology.link]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"1Gbps\"\ndelay = \"1us\"\n{more}")
    };
    let star = |more: &str| {
        let mut text = "kind = \"graph\"\n".to_owned();
        for (name, kind) in [("hub", "switch"), ("x", "switch"), ("y", "switch"), ("a", "host"), ("b", "host")] {
            text += &node_text(name, kind);
        }
        text += &link("hub", "x", more);
        text + &link("hub", "y", "") + &link("x", "a", "") + &link("y", "b", "")
    };
    let of = |more: &str| {
        let plan = plan(&scenario(&star(more), "from = [\"a\", \"b\"], to = [\"b\", \"a\"]"));
        let common = ResolvedNetwork::new(&plan, 1).unwrap();
        let setup = common.scheme(0).unwrap();
        (setup.paths.searches(), setup.traffic_paths.longest.unwrap().base_rtt)
    };
    let ((plain, short), (jittery, long)) = (of(""), of("jitter = \"7us\"\n"));
    assert_eq!((plain, jittery), (1, 2));
    assert_eq!(long - short, Span::from_us(14));
}

/// 74 pods of 37 top-of-rack switches with 37 hosts each: 101,306 hosts and 6,845 switches.
const LARGE: &str = "kind = \"fat-tree\"\npods = 74\ntors = 37\naggregations = 37\ncores = 1369\nhosts = 37";

#[test]
fn a_fat_tree_of_100_000_hosts_is_set_up_with_a_search_for_each_pod() {
    let group = "from = \"hosts\", to = \"hosts\", pattern = \"uniform\", size = \"10KB\", flows = 100, \
                 arrivals = { load = 0.5, of = \"access\" }";
    let plan = plan(&scenario(LARGE, group));
    let setup = ResolvedNetwork::new(&plan, 1).unwrap().scheme(0).unwrap();
    let hosts = setup.network.graph.hosts().count();
    assert_eq!((hosts, setup.paths.searches()), (101_306, 74));
    assert_eq!(setup.traffic_paths.hops, 6);
    assert!(setup.traffic_paths.ports.iter().all(|port| port.data && port.returns));
    // Every flow crosses two access links, of which each host has both directions.
    let offered =
        LoadTerms::for_group(&plan.groups[0], 0, &setup.network, &setup.paths, "access", Seed::new(1)).unwrap();
    assert!((offered.crossings - 2.0).abs() < 1e-9, "{}", offered.crossings);
    let every = LoadTerms::for_group(&plan.groups[0], 0, &setup.network, &setup.paths, "all", Seed::new(1));
    // Of the other hosts, 36 are two hops away, 36 * 37 four and all others six.
    let (near, pod, all) = (36.0, 36.0 * 37.0, 101_305.0);
    let mean = (2.0 * near + 4.0 * pod + 6.0 * (all - near - pod)) / all;
    assert!((every.unwrap().crossings - mean).abs() < 1e-9);
}

#[test]
fn more_routes_than_fit_are_refused() {
    // Rings of 8,000 switches with a host each: no two switches are twins.
    let mut text = "kind = \"graph\"\n".to_owned();
    for number in 0..8_000 {
        text += &node_text(&format!("s{number}"), "switch");
        text += &node_text(&format!("h{number}"), "host");
    }
    for number in 0..8_000 {
        for other in [format!("h{number}"), format!("s{}", (number + 1) % 8_000)] {
            text += &link_text(&format!("s{number}"), &other, "rate = \"1Gbps\"\ndelay = \"1us\"");
        }
    }
    let text = scenario(&text, "from = \"h0\", to = \"h1\"");
    let problem = read(&text, &Options::default()).unwrap_err();
    assert!(problem.message().contains("has 64000000 entries"), "{problem:?}");
    assert!(problem.span.is_some());
}
