//! Ready-made networks: as many parts as they should have, round trips as in the papers, and paths that spread and
//! return as they went.

use shallop_core::{End, Node, Seed, Span};
use shallop_plan::{Study, network::Network};
use shallop_scenario::{Options, Problem, read};
use shallop_switch::Routes;
use shallop_topology::{NodeKind, Paths};
use std::collections::BTreeMap;

/// A scenario on this network, with one flow.
fn study(topology: &str) -> Result<Study, Problem> {
    // A switch that no node has is refused.
    let big = if topology.contains("\"big\"") { "switch.big.buffer = \"1MB\"" } else { "" };
    let text = format!(
        r#"
title = "a network"
duration = "1s"
{big}
topology = {{ {topology} }}
scheme = [{{ transport = "cubic" }}]
group = [{{ name = "one", {} }}]
"#,
        pair(topology)
    );
    read(&text, &Options::default())
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

    fn links(&self) -> Vec<(&str, usize)> {
        self.network.links.iter().map(|(name, ports)| (name.as_str(), ports.len())).collect()
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

fn us(us: u64) -> Span {
    Span::from_us(us)
}

#[test]
fn the_campus_is_that_of_the_paper() {
    let campus = Net::of(r#"kind = "campus", access_points = 2, stations = 3, cloud_hosts = 2"#);
    campus.consistent();
    assert_eq!(campus.counts(), (8, 7, 14));
    let links =
        [("access", 4), ("aggregation", 2), ("all", 28), ("cloud", 4), ("core", 2), ("radio", 4), ("stations", 12)];
    assert_eq!(campus.links(), links);
    assert_eq!(campus.network.sites.len(), 3);
    // Delays; 30 us of frames on their way there and 2 us of acknowledgements make it 10 ms.
    assert_eq!(campus.round_trip("cloud0", "ap1h2"), us(9_970));
    let rates = ["cloud", "core", "aggregation", "access", "radio"]
        .map(|set| campus.network.graph.link_of(campus.network.links[set][0]).rate.get() / 1_000_000);
    assert_eq!(rates, [100_000, 40_000, 10_000, 1_000, 850]);
    assert!(study(r#"kind = "campus", radio_frame = "0B""#).is_err());
}

#[test]
fn the_fat_tree_is_that_of_the_paper() {
    let tree = Net::of(r#"kind = "fat-tree", tor_switch = "big""#);
    tree.consistent();
    assert_eq!(tree.counts(), (192, 56, 192 + 64 + 64));
    assert_eq!(tree.network.sites.len(), 32);
    let links = [("access", 384), ("all", 640), ("core", 128), ("uplinks", 128)];
    assert_eq!(tree.links(), links);
    assert_eq!((tree.network.sets["pod3"].len(), tree.network.sets["rack31"].len()), (24, 6));
    assert_eq!(tree.set_names().len(), 1 + 8 + 32);
    let round_trips = ["tor0h1", "tor3h0", "tor4h0"].map(|other| tree.round_trip("tor0h0", other));
    assert_eq!(round_trips, [us(20), us(36), us(52)]);
    let like = |name| tree.network.switch_of[tree.node(name).0 as usize];
    assert_eq!((like("tor5"), like("agg5"), like("core5")), (1, 0, 0));
    let site_of = tree.network.site_of();
    assert_eq!(site_of[tree.node("tor7h2").0 as usize], Some(7));
    assert_eq!(site_of[tree.node("tor7").0 as usize], None);
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
fn three_data_centres_are_as_far_apart_as_in_the_paper() {
    let net = Net::of(r#"kind = "three-dc", border_switch = "big""#);
    net.consistent();
    assert_eq!(net.counts(), (60, 3, 63));
    assert_eq!(net.set_names(), ["dc0", "dc1", "dc2", "hosts"]);
    assert_eq!(net.links()[..2], [("access", 120), ("all", 126)]);
    assert_eq!((net.network.links["wan"].len(), net.network.links["b2-b1"].len()), (6, 2));
    let trip = |from, to| net.round_trip(from, to) - us(40);
    let trips = [trip("dc0h0", "dc1h3"), trip("dc1h0", "dc2h19"), trip("dc2h0", "dc0h0")];
    assert_eq!(trips, [40, 60, 80].map(Span::from_ms));
    assert_eq!(net.round_trip("dc0h0", "dc0h1"), us(40));
    assert_eq!(net.network.switch_of[net.node("b1").0 as usize], 1);
    let rates = [&net.network.links["wan"], &net.network.links["access"]]
        .map(|ports| net.network.graph.link_of(ports[0]).rate.get());
    assert_eq!(rates, [10_000_000_000, 1_000_000_000]);
}

#[test]
fn two_data_centres_are_as_far_apart_as_in_the_thesis() {
    let net = Net::of(r#"kind = "cross-dc""#);
    net.consistent();
    assert_eq!(net.counts(), (48, 6, 48 + 4 + 1));
    assert_eq!(net.network.sets["dc1"].len(), 24);
    let sets = ["dc0", "dc1", "hosts", "rack0", "rack1", "rack2", "rack3"];
    assert_eq!(net.set_names(), sets);
    assert_eq!(net.links(), [("access", 96), ("all", 106), ("fabric", 8), ("inside", 104), ("wan", 2)]);
    assert_eq!(net.round_trip("dc0s0h0", "dc0s0h1"), us(200));
    assert_eq!(net.round_trip("dc0s0h0", "dc1s1h11"), Span::from_ms(10));
}

#[test]
fn older_networks_have_sites_and_links_too() {
    let net = Net::of(r#"kind = "dumbbell", senders = 3, receivers = 2, rate = "1Gbps", delay = "1ms""#);
    net.consistent();
    assert_eq!(net.links(), [("access", 10), ("all", 12), ("bottleneck", 2)]);
    assert_eq!(net.set_names(), ["hosts", "left", "right"]);
    assert_eq!(net.network.site_of()[net.node("r1").0 as usize], Some(1));
    let lone = Net::of(r#"kind = "dumbbell", senders = 3, rate = "1Gbps", delay = "1ms""#);
    lone.consistent();
    let near = |port: &u32| lone.network.port_name(*port);
    let names: Vec<String> = lone.network.links["bottleneck"].iter().map(near).collect();
    assert_eq!(names, ["left>r0", "r0>left"]);
    let net = Net::of(r#"kind = "parking-lot", hops = 3, hosts = 2, rate = "1Gbps", delay = "1ms""#);
    net.consistent();
    assert_eq!(net.links(), [("access", 16), ("all", 22), ("chain", 6)]);
    assert_eq!(net.set_names(), ["at0", "at1", "at2", "at3", "hosts"]);
    assert_eq!(net.walk(net.node("p0h1"), net.node("p3h0"), End(0)).len(), 5);
}

#[test]
fn five_thousand_hosts_need_no_five_thousand_squared() {
    let net = Net::of(r#"kind = "leaf-spine", spines = 16, leaves = 64, hosts = 76, rate = "100Gbps", delay = "1us""#);
    assert_eq!(net.counts().0, 4864);
    net.symmetric(&drawn(&net, 2_000));
}

#[test]
fn what_cannot_be_wired_is_refused() {
    for (topology, words) in [
        (r#"kind = "fat-tree", cores = 7"#, "`cores` in [topology]: 7 core switches for 2"),
        (r#"kind = "fat-tree", pods = 7000"#, "has 210008 nodes"),
        (r#"kind = "fat-tree", tor_switch = "bg""#, "there is no [switch.bg]"),
        (r#"kind = "three-dc", wan_delay = ["1ms", "2ms"]"#, "three delays are needed"),
        (r#"kind = "three-dc", wan_delay = "1ms""#, "expected a list, each value a time"),
        (r#"kind = "cross-dc", hosts = 0"#, "0 is out of range"),
        (r#"kind = "cross-dc", switches = 5000, hosts = 5000"#, "has 50010002 nodes"),
        (r#"kind = "leaf-spine", spines = 2, leaves = 2, rate = "1Gbps""#, "lacks the key `delay`"),
        (r#"kind = "three-dc", pods = 3"#, "unknown key `pods`"),
    ] {
        let problem = study(topology).expect_err(topology);
        assert!(problem.message().contains(words) && problem.span.is_some(), "{problem:?}");
    }
}
