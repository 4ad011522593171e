//! The networks that `shallop new` can write.

/// Lines of a scenario that depend on the kind of its network.
pub(super) struct TopologyTemplate {
    /// The value of `kind` in `[topology]`.
    pub kind: &'static str,
    /// The lines below `[topology]`.
    pub text: &'static str,
    /// The lines with `from` and `to` of the group.
    pub ends: &'static str,
    /// The `pattern` of a group of flows without end; `None` for the default.
    pub long: Option<&'static str>,
    /// The set of links to which `load` of the group refers.
    pub links: &'static str,
    /// The number of hosts that send in one burst.
    pub at_once: u32,
}

const ANY: &str = "from = \"hosts\"                          # a set of hosts, or a list of names\nto = \"hosts\"\n";

pub(super) const TOPOLOGIES: &[TopologyTemplate] = &[
    TopologyTemplate {
        kind: "dumbbell",
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
    TopologyTemplate {
        kind: "parking-lot",
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
    TopologyTemplate {
        kind: "three-dc",
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
    TopologyTemplate {
        kind: "leaf-spine",
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
    TopologyTemplate {
        kind: "fat-tree",
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
    TopologyTemplate {
        kind: "cross-dc",
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
    TopologyTemplate {
        kind: "campus",
        text: r#"kind = "campus"
cloud_hosts = 10                        # hosts in the cloud
stations = 10                           # at the access point: ap0h0, ap0h1, ...
radio_rate = "850Mbps"
"#,
        ends: "from = \"cloud\"                          # a set of hosts, or a list of names\nto = \"stations\"\n",
        long: None,
        links: "radio",
        at_once: 10,
    },
    TopologyTemplate {
        kind: "file",
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
    TopologyTemplate {
        kind: "graph",
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
link = [                                # loss, jitter, down and so on can be added to any of these
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
