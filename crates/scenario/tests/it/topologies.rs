//! Ready-made networks: as many parts as they should have, round trips as in the papers, and paths that spread and
//! return as they went.

use crate::malformed::check;
use shallop_core::{End, Node, Seed, Span};
use shallop_plan::{Study, network::Network};
use shallop_scenario::{Options, Problem, read};
use shallop_switch::Routes;
use shallop_topology::{NodeKind, Paths};
use std::{collections::BTreeMap, fmt::Write as _};

/// A scenario on this network, with one flow.
fn text(topology: &str) -> String {
    // A switch that no node has is refused.
    let big = if topology.contains("\"big\"") { "switch.big.buffer = \"1MB\"" } else { "" };
    format!(
        r#"
title = "a network"
duration = "1s"
{big}
topology = {{ {topology} }}
scheme = [{{ transport = "cubic" }}]
group = [{{ name = "one", {} }}]
"#,
        pair(topology)
    )
}

fn study(topology: &str) -> Result<Study, Problem> {
    read(&text(topology), &Options::default())
}

struct Net {
    network: Network,
    routes: Routes,
}

impl Net {
    fn of(topology: &str) -> Self {
        let study = study(topology).unwrap_or_else(|why| panic!("{why:?}"));
        let network = Network::build(&study.points[0].plan, Seed::new(1));
        let routes = Paths::new(&network.graph).routes(true, 99);
        Self { network, routes }
    }

    fn node(&self, name: &str) -> Node {
        let found = self.network.names.iter().position(|known| known == name);
        Node(found.unwrap_or_else(|| panic!("there is no {name}")) as u32)
    }

    fn walk(&self, from: Node, to: Node, end: End) -> Vec<u32> {
        Paths::walk(&self.network.graph, &self.routes, from, to, end)
    }

    fn round_trip(&self, from: &str, to: &str) -> Span {
        let (from, to) = (self.node(from), self.node(to));
        let delay = |from, to, end| -> Span {
            let ports = self.walk(from, to, end);
            ports.iter().map(|&port| self.network.graph.link_of(port).delay).sum()
        };
        delay(from, to, End::receiver(0)) + delay(to, from, End::sender(0))
    }

    /// Hosts, switches and links.
    fn counts(&self) -> (usize, usize, usize) {
        let graph = &self.network.graph;
        let hosts = graph.hosts().count();
        (hosts, graph.nodes.len() - hosts, graph.links.len())
    }

    fn set_names(&self) -> Vec<&str> {
        let host = |name: &&str| {
            let node = self.network.names.iter().position(|known| known == name);
            node.is_none_or(|node| self.network.graph.nodes[node] == NodeKind::Switch)
        };
        self.network.sets.keys().map(String::as_str).filter(host).collect()
    }

    /// Every host is at one site; every set of links has both ports of each.
    fn consistent(&self) {
        let mut at: Vec<Node> = self.network.sites.concat();
        at.sort_unstable();
        assert_eq!(at, self.network.graph.hosts().collect::<Vec<_>>());
        assert_eq!(at, self.network.sets["hosts"]);
        for ports in self.network.links.values() {
            assert!(ports.iter().all(|port| ports.contains(&(port ^ 1))), "{ports:?}");
        }
    }

    /// Every flow of `pairs` returns as it went; gives how many flows cross each port.
    fn symmetric(&self, pairs: &[(Node, Node)]) -> BTreeMap<u32, usize> {
        let mut crossed = BTreeMap::new();
        for (flow, &(from, to)) in pairs.iter().enumerate() {
            let there = self.walk(from, to, End::receiver(flow as u32));
            let mut back = self.walk(to, from, End::sender(flow as u32));
            back.reverse();
            assert!(!there.is_empty());
            let turned: Vec<u32> = there.iter().map(|port| port ^ 1).collect();
            assert_eq!(turned, back, "flow {flow} from {from:?} to {to:?}");
            there.iter().chain(&back).for_each(|&port| *crossed.entry(port).or_insert(0) += 1);
        }
        crossed
    }
}

/// Two hosts of a topology, as keys of a group.
fn pair(topology: &str) -> String {
    let names = [
        ("three-dc", "dc0h0", "dc1h0"),
        ("leaf-spine", "leaf0h0", "leaf1h0"),
        ("fat-tree", "tor0h0", "tor1h0"),
        ("cross-dc", "dc0s0h0", "dc1s0h0"),
        ("parking-lot", "p0h0", "p1h0"),
        ("campus", "cloud0", "ap0h0"),
        ("dumbbell", "s0", "r0"),
    ];
    let (_, from, to) = names.iter().find(|it| topology.contains(it.0)).expect("a known kind");
    format!("from = \"{from}\", to = \"{to}\"")
}

/// Networks as in the papers and as they were before: hosts, switches and links; sets of links with their ports and the
/// rate of the first; sets of hosts; sites; the section of each kind of switch; round trips without frames.
#[test]
fn networks_are_those_of_their_snapshot() {
    let mut told = String::new();
    for (topology, pairs) in [
        (r#"kind = "campus", access_points = 2, stations = 3, cloud_hosts = 2"#, &["cloud0 ap1h2"][..]),
        (r#"kind = "fat-tree", tor_switch = "big""#, &["tor0h0 tor0h1", "tor0h0 tor3h0", "tor0h0 tor4h0"]),
        (r#"kind = "three-dc", border_switch = "big""#, &["dc0h0 dc0h1", "dc0h0 dc1h3", "dc1h0 dc2h19", "dc2h0 dc0h0"]),
        (r#"kind = "cross-dc""#, &["dc0s0h0 dc0s0h1", "dc0s0h0 dc1s1h11"]),
        (r#"kind = "dumbbell", senders = 3, receivers = 2, rate = "1Gbps", delay = "1ms""#, &["s0 r1"]),
        (r#"kind = "dumbbell", senders = 3, rate = "1Gbps", delay = "1ms""#, &["s0 r0"]),
        (r#"kind = "parking-lot", hops = 3, hosts = 2, rate = "1Gbps", delay = "1ms""#, &["p0h1 p3h0"]),
    ] {
        let net = Net::of(topology);
        net.consistent();
        let Network { graph, links, sets, sites, names, switch_of, .. } = &net.network;
        writeln!(told, "{topology}\n  hosts, switches, links: {:?}; sites: {}", net.counts(), sites.len()).unwrap();
        for (name, ports) in links {
            let rate = graph.link_of(ports[0]).rate;
            writeln!(told, "  links {name}: {} ports, {rate}, {}", ports.len(), net.network.port_name(ports[0]))
                .unwrap();
        }
        let sets: Vec<String> =
            net.set_names().into_iter().map(|name| format!("{name} {}", sets[name].len())).collect();
        writeln!(told, "  sets: {}", sets.join(", ")).unwrap();
        let big = names.iter().zip(switch_of).filter(|(_, switch)| **switch == 1).map(|(name, _)| name.as_str());
        writeln!(told, "  switches of the second section: {}", big.collect::<Vec<_>>().join(", ")).unwrap();
        for pair in pairs {
            let (from, to) = pair.split_once(' ').unwrap();
            let hops = net.walk(net.node(from), net.node(to), End::receiver(0)).len();
            let sites = [from, to].map(|name| net.network.site_of()[net.node(name).0 as usize]);
            writeln!(told, "  {pair}: {}, {hops} links, sites {sites:?}", net.round_trip(from, to)).unwrap();
        }
    }
    insta::assert_snapshot!(told);
    assert!(study(r#"kind = "campus", radio_frame = "0B""#).is_err());
}

#[test]
fn paths_of_the_fat_tree_go_no_higher_than_they_must() {
    let tree = Net::of(r#"kind = "fat-tree""#);
    let core = &tree.network.links["core"];
    for (other, hops, through_core) in [("tor0h1", 2, 0), ("tor3h5", 4, 0), ("tor4h0", 6, 2), ("tor31h5", 6, 2)] {
        for flow in 0..50 {
            let ports = tree.walk(tree.node("tor0h0"), tree.node(other), End::receiver(flow));
            let cores = ports.iter().filter(|port| core.contains(port)).count();
            assert_eq!((ports.len(), cores), (hops, through_core), "{other}");
        }
    }
}

/// So many flows, each between two hosts that are drawn.
fn drawn(net: &Net, flows: u64) -> Vec<(Node, Node)> {
    let hosts = &net.network.sets["hosts"];
    let mut stream = Seed::new(5).stream("pairs", 0);
    let mut pick = || hosts[(stream.unit() * hosts.len() as f64) as usize];
    let pairs = (0..flows).map(|_| (pick(), pick()));
    pairs.filter(|(from, to)| from != to).collect()
}

/// Each port of a set of links is crossed by about as many flows as any other.
fn even(net: &Net, crossed: &BTreeMap<u32, usize>, set: &str) {
    let counts = net.network.links[set].iter().map(|port| crossed.get(port).copied().unwrap_or(0));
    let counts: Vec<usize> = counts.collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    assert!(mean > 300.0, "{set}: {mean}");
    for count in counts {
        assert!((count as f64 / mean - 1.0).abs() < 0.25, "{set}: {count} of {mean} on average");
    }
}

#[test]
fn flows_return_as_they_went_and_spread_over_all_links_of_a_tier() {
    let tree = Net::of(r#"kind = "fat-tree""#);
    let crossed = tree.symmetric(&drawn(&tree, 40_000));
    for set in ["core", "uplinks", "access"] {
        even(&tree, &crossed, set);
    }
    let fabric = Net::of(r#"kind = "leaf-spine", spines = 4, leaves = 6, hosts = 8, rate = "40Gbps", delay = "1us""#);
    let crossed = fabric.symmetric(&drawn(&fabric, 12_000));
    even(&fabric, &crossed, "fabric");
    // Tiers that offer equally many choices must not choose alike: here two and two.
    let square = Net::of(r#"kind = "fat-tree", pods = 4, tors = 2, aggregations = 2, cores = 4"#);
    let crossed = square.symmetric(&drawn(&square, 20_000));
    even(&square, &crossed, "core");
}

#[test]
fn five_thousand_hosts_need_no_five_thousand_squared() {
    let net = Net::of(r#"kind = "leaf-spine", spines = 16, leaves = 64, hosts = 76, rate = "100Gbps", delay = "1us""#);
    assert_eq!(net.counts().0, 4864);
    net.symmetric(&drawn(&net, 2_000));
}

#[test]
fn what_cannot_be_wired_is_refused() {
    check(&text(r#"kind = "fat-tree""#), "networks of kinds");
}
