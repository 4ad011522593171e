//! What can be chosen: the networks, each with the lines it takes, and the transports.

use super::Item;

/// A network.
pub(super) struct Shape {
    /// Its name and what it is.
    pub item: Item,
    /// What stands under `[topology]`.
    pub text: &'static str,
    /// Who sends, who receives.
    pub ends: &'static str,
    /// The pattern of flows without end; as they stand if there is none.
    pub long: Option<&'static str>,
    /// The links that load is of.
    pub links: &'static str,
    /// Hosts of a burst.
    pub at_once: u32,
}

const ANY: &str = "from = \"hosts\"                          # a set of hosts, or a list of names\nto = \"hosts\"\n";

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        item: Item { name: "dumbbell", about: "hosts behind one bottleneck" },
        text: r#"kind = "dumbbell"
senders = 10                            # hosts s0 to s9
rate = "1Gbps"                          # of the bottleneck
delay = "5ms"                           # of the bottleneck, one way
sender_delay = "0ms..10ms"              # of the senders' own links: drawn between these, by the seed
"#,
        ends: "from = \"left\"                           # a set of hosts, or a list of names\nto = \"right\"\n",
        long: None,
        links: "bottleneck",
        at_once: 8,
    },
    Shape {
        item: Item { name: "parking-lot", about: "several bottlenecks in a row" },
        text: r#"kind = "parking-lot"
hops = 4                                # links in the row
hosts = 2                               # at each switch: p0h0, p0h1, ...
rate = "1Gbps"
delay = "1ms"                           # of each link of the row
access_rate = "10Gbps"                  # of hosts' links
"#,
        ends: ANY,
        long: Some("permutation"),
        links: "chain",
        at_once: 6,
    },
    Shape {
        item: Item { name: "three-dc", about: "three data centres joined over 40 to 80 ms" },
        text: r#"kind = "three-dc"
hosts = 10                              # in each data centre: dc0h0, dc0h1, ...
wan_rate = "10Gbps"                     # between border routers
wan_delay = ["20ms", "30ms", "40ms"]    # of b0-b1, b1-b2 and b0-b2
access_rate = "1Gbps"                   # of hosts' links
"#,
        ends: ANY,
        long: Some("other-site"),
        links: "wan",
        at_once: 10,
    },
    Shape {
        item: Item { name: "leaf-spine", about: "racks in two tiers" },
        text: r#"kind = "leaf-spine"
spines = 2
leaves = 4
hosts = 4                               # at each leaf: leaf0h0, leaf0h1, ...
rate = "10Gbps"                         # between leaves and spines
delay = "5us"                           # of every link
"#,
        ends: ANY,
        long: Some("permutation"),
        links: "fabric",
        at_once: 10,
    },
    Shape {
        item: Item { name: "fat-tree", about: "pods in three tiers" },
        text: r#"kind = "fat-tree"
pods = 2
tors = 2                                # top-of-rack switches in a pod
aggregations = 2                        # aggregation switches in a pod
cores = 2                               # a multiple of them
hosts = 4                               # at each top-of-rack switch: tor0h0, tor0h1, ...
rate = "10Gbps"                         # between switches
delay = "4us"                           # of every link
"#,
        ends: ANY,
        long: Some("permutation"),
        links: "core",
        at_once: 10,
    },
    Shape {
        item: Item { name: "cross-dc", about: "two data centres joined by one long link" },
        text: r#"kind = "cross-dc"
switches = 2                            # in each data centre
hosts = 4                               # at each switch: dc0s0h0, dc0s0h1, ...
rate = "1Gbps"                          # within data centres
wan_rate = "1Gbps"                      # between border routers
wan_delay = "4.8ms"
"#,
        ends: ANY,
        long: Some("other-site"),
        links: "wan",
        at_once: 6,
    },
    Shape {
        item: Item {
            name: "campus",
            about: "from the cloud over a campus to an access point's stations",
        },
        text: r#"kind = "campus"
clouds = 10                             # hosts in the cloud
stations = 10                           # at the access point: ap0h0, ap0h1, ...
radio_rate = "850Mbps"
"#,
        ends: "from = \"cloud\"                          # a set of hosts, or a list of names\nto = \"stations\"\n",
        long: None,
        links: "radio",
        at_once: 10,
    },
    Shape {
        item: Item {
            name: "file",
            about: "a network of yours: GraphML, GML, or a CSV of links (--network FILE)",
        },
        text: r#"kind = "file"
file = NETWORK                          # beside this file
hosts = 2                               # at each node: NODE.h0, NODE.h1
access_delay = "50us"                   # of hosts' links, which are as fast as the fastest link of the file
default_rate = "1Gbps"                  # of links for which the file says none
default_delay = "1ms"                   # of links with neither a delay nor coordinates
"#,
        ends: ANY,
        long: Some("permutation"),
        links: "core",
        at_once: 3,
    },
    Shape {
        item: Item { name: "graph", about: "nodes and links one by one" },
        text: r#"kind = "graph"
node = [                                # hosts and switches
  { name = "near", kind = "switch" },
  { name = "far", kind = "switch" },
  { name = "a0", kind = "host" },
  { name = "a1", kind = "host" },
  { name = "a2", kind = "host" },
  { name = "a3", kind = "host" },
  { name = "b0", kind = "host" },
]
link = [                                # loss, jitter and changes can be added to any of these
  { between = ["near", "far"], rate = "1Gbps", delay = "5ms" },
  { between = ["a0", "near"], rate = "1Gbps", delay = "0ms" },
  { between = ["a1", "near"], rate = "1Gbps", delay = "1ms" },
  { between = ["a2", "near"], rate = "1Gbps", delay = "2ms" },
  { between = ["a3", "near"], rate = "1Gbps", delay = "3ms" },
  { between = ["b0", "far"], rate = "1Gbps", delay = "0ms" },
]
"#,
        ends: "from = [\"a0\", \"a1\", \"a2\", \"a3\"]         # a set of hosts, or a list of names\nto = \"b0\"\n",
        long: None,
        links: "near-far",
        at_once: 4,
    },
];

const fn item(name: &'static str, about: &'static str) -> Item {
    Item { name, about }
}

pub(super) const TRANSPORTS: &[Item] = &[
    item("newreno", "losses: half of the window at each"),
    item("cubic", "losses: a curve of time; the default of most hosts"),
    item("vegas", "its own queueing delay: 2 to 4 packets a flow"),
    item("copa", "its own queueing delay: a target rate"),
    item("bbr", "delivery rate and shortest round trip, version 1"),
    item("dctcp", "marks: as much as the part that is marked"),
    item("ecn-star", "marks: half of the window"),
    item("gemini", "marks in the data centre, delay in the wide area"),
    item("expresspass", "receivers' credits, the public code's rule"),
    item("expresspass-paper", "receivers' credits, the 2017 paper's rule"),
    item("expresspass-aeolus", "the public code's, with data before the first credit"),
    item("expresspass-ideal", "the same with credits a round trip ahead: cannot be built"),
    item("flashpass", "emulation packets ahead of the data, our law"),
    item("flashpass-mimd", "the same by Algorithm 1 of the paper"),
    item("flashpass-aeolus", "our law, with data before the first credit"),
    item("flashpass-mimd-aeolus", "Algorithm 1, with data before the first credit"),
    item("udp", "a constant rate, whatever happens"),
];
