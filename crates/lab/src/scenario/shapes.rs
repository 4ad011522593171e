//! The format of `[topology]`: its kinds and their keys.

use shallop_core::form::{Form, Key, Keys, Kinds, Part, key, need};
use shallop_core::{Bytes, Span};

use super::format::{DAY, MOST_DELAY, MOST_NODES, delay, rate, texts};

const fn count() -> Form {
    Form::Count(1, MOST_NODES)
}

const MTU: Form = Form::Size(Bytes::new(576), Bytes::new(9_216));

const KINDS: &[&str] = &[
    "dumbbell",
    "parking-lot",
    "three-dc",
    "leaf-spine",
    "fat-tree",
    "cross-dc",
    "campus",
    "file",
    "graph",
];

const EVERY_TOPOLOGY: &[Key] = &[
    need("kind", Form::Choice(KINDS), "The shape."),
    key(
        "ecmp",
        Form::Choice(&["symmetric", "asymmetric"]),
        "Whether both directions of a flow choose alike among equal paths. Default: \"symmetric\".",
    ),
];

const READY_MADE: &[Key] = &[
    need("rate", rate(), "Rate of the bottleneck, or of the chain."),
    key("access_rate", rate(), "Rate of the links to hosts. Default: `rate`."),
    need("delay", delay(), "Delay of the bottleneck, or of each link of the chain."),
    LARGEST,
];

const LARGEST: Key = key("mtu", MTU, "The largest packet at IP. Default: \"1500B\".");

/// The kinds of networks.
pub(super) const TOPOLOGY: Kinds = Kinds { tag: "kind", all: shapes };

fn shapes() -> Vec<(&'static str, Vec<Part>)> {
    SHAPES.iter().map(|(name, keys)| (*name, [&[EVERY_TOPOLOGY], *keys].concat())).collect()
}

const SHAPES: &[(&str, Keys)] = &[
    ("dumbbell", &[READY_MADE, DUMBBELL]),
    ("parking-lot", &[READY_MADE, PARKING_LOT]),
    ("three-dc", &[THREE_DC]),
    ("leaf-spine", &[LEAF_SPINE]),
    ("fat-tree", &[FAT_TREE]),
    ("cross-dc", &[CROSS_DC]),
    ("campus", &[CAMPUS]),
    ("file", &[FILE]),
    ("graph", &[GRAPH]),
];

const DUMBBELL: &[Key] = &[
    need("senders", Form::Count(1, MOST_NODES), "Hosts on the left, `s0` and so on."),
    key("receivers", Form::Count(1, MOST_NODES), "Hosts on the right, `r0` and so on. Default: 1."),
    key(
        "sender_delay",
        Form::Either(&[
            delay(),
            Form::Between(Span::ZERO, MOST_DELAY),
            Form::List(&Form::Time(Span::ZERO, MOST_DELAY)),
        ]),
        "Delay of the senders' links: one, two bounds to draw between, or a list. Default: \"0s\".",
    ),
];

const PARKING_LOT: &[Key] = &[
    need("hops", Form::Count(1, 256), "Links in the chain."),
    need("hosts", Form::Count(1, MOST_NODES), "Hosts at each switch, `p0h0` and so on."),
    key("access_delay", delay(), "Delay of the links to hosts. Default: \"0s\"."),
];

const GRAPH: &[Key] = &[
    need("node", Form::Tables(NODE), "A host or a switch."),
    need("link", Form::Tables(LINK), "A link between two nodes."),
];

/// A node of a graph.
pub(super) const NODE: Keys = &[&[
    need("name", Form::Text, "Its name."),
    need("kind", Form::Choice(&["host", "switch"]), "What it is."),
    key("switch", Form::Text, "For a switch: which [switch.NAME]. Default: \"default\"."),
]];

/// A link of a graph.
pub(super) const LINK: Keys = &[&[
    need("between", texts(), "The two nodes it joins."),
    need("rate", rate(), "Rate of each direction."),
    need("delay", delay(), "Propagation delay."),
    key("mtu", MTU, "The largest packet at IP. Default: \"1500B\"."),
    key("loss", Form::Number(0.0, 1.0), "Probability that a packet is lost. Default: 0."),
    key("jitter", delay(), "Each packet takes up to this much longer. Default: \"0s\"."),
    key("changes", Form::List(&Form::Table(CHANGE)), "What it becomes, and when."),
]];

/// What a link becomes.
pub(super) const CHANGE: Keys = &[&[
    need("at", Form::Time(Span::ZERO, DAY), "From when on."),
    key("rate", rate(), "The new rate."),
    key("delay", delay(), "The new delay."),
]];

const THREE_DC: &[Key] = &[
    key("hosts", count(), "Hosts in each data centre, `dc0h0` and so on. Default: 20."),
    key("wan_rate", rate(), "Rate of the links between border routers. Default: \"10Gbps\"."),
    key(
        "wan_delay",
        Form::List(&Form::Time(Span::ZERO, MOST_DELAY)),
        "Delays of b0-b1, b1-b2 and b0-b2. Default: [\"20ms\", \"30ms\", \"40ms\"].",
    ),
    key("access_rate", rate(), "Rate of the links to hosts. Default: \"1Gbps\"."),
    key("access_delay", delay(), "Delay of the links to hosts. Default: \"10us\"."),
    key("border_switch", Form::Text, "Which [switch.NAME] border routers are like."),
    LARGEST,
];

const LEAF_SPINE: &[Key] = &[
    need("spines", count(), "Switches of the upper tier."),
    need("leaves", count(), "Switches of the lower tier, each joined to every spine."),
    need("hosts", count(), "Hosts at each leaf, `leaf0h0` and so on."),
    need("rate", rate(), "Rate of the links between leaves and spines."),
    key("access_rate", rate(), "Rate of the links to hosts. Default: `rate`."),
    need("delay", delay(), "Delay of the links between leaves and spines."),
    key("access_delay", delay(), "Delay of the links to hosts. Default: `delay`."),
    key("leaf_switch", Form::Text, "Which [switch.NAME] leaves are like."),
    key("spine_switch", Form::Text, "Which [switch.NAME] spines are like."),
    LARGEST,
];

const FAT_TREE: &[Key] = &[
    key("pods", count(), "Pods. Default: 8."),
    key("tors", count(), "Top-of-rack switches in a pod. Default: 4."),
    key("aggregations", count(), "Aggregation switches in a pod. Default: 2."),
    key("cores", count(), "Core switches, a multiple of `aggregations`. Default: 8."),
    key("hosts", count(), "Hosts at each top-of-rack switch, `tor0h0` and so on. Default: 6."),
    key("rate", rate(), "Rate of the links between switches. Default: \"100Gbps\"."),
    key("access_rate", rate(), "Rate of the links to hosts. Default: `rate`."),
    key("delay", delay(), "Delay of every link. Default: \"4us\"."),
    key("host_delay", delay(), "What a host takes for each packet, in and out. Default: \"1us\"."),
    key("tor_switch", Form::Text, "Which [switch.NAME] top-of-rack switches are like."),
    key("aggregation_switch", Form::Text, "Which [switch.NAME] aggregation switches are like."),
    key("core_switch", Form::Text, "Which [switch.NAME] core switches are like."),
    LARGEST,
];

const CROSS_DC: &[Key] = &[
    key("switches", count(), "Switches in each data centre. Default: 2."),
    key("hosts", count(), "Hosts at each switch, `dc0s0h0` and so on. Default: 12."),
    key("wan_rate", rate(), "Rate of the link between the border routers. Default: `rate`."),
    key("wan_delay", delay(), "Its delay. Default: \"4.8ms\"."),
    key("rate", rate(), "Rate of the links of switches to border routers. Default: \"1Gbps\"."),
    key("delay", delay(), "Their delay. Default: \"50us\"."),
    key("access_rate", rate(), "Rate of the links to hosts. Default: `rate`."),
    key("access_delay", delay(), "Delay of the links to hosts. Default: \"50us\"."),
    key("dc_switch", Form::Text, "Which [switch.NAME] the switches are like."),
    key("border_switch", Form::Text, "Which [switch.NAME] border routers are like."),
    LARGEST,
];

const CAMPUS: &[Key] = &[
    key("clouds", count(), "Hosts in the cloud, `cloud0` and so on. Default: 1."),
    key("points", count(), "Access points, `ap0` and so on. Default: 1."),
    key("stations", count(), "Stations at each, `ap0h0` and so on. Default: 1."),
    key("cloud_rate", rate(), "Rate of the links of the cloud's hosts. Default: \"100Gbps\"."),
    key("cloud_delay", delay(), "Their delay. Default: \"4.945ms\", a round trip of 10 ms."),
    key("core_rate", rate(), "Rate from core to aggregation. Default: \"40Gbps\"."),
    key("aggregation_rate", rate(), "Rate from aggregation to access. Default: \"10Gbps\"."),
    key("access_rate", rate(), "Rate of the links to access points. Default: \"1Gbps\"."),
    key("delay", delay(), "Delay of these three. Default: \"10us\"."),
    key("radio_rate", rate(), "Rate of the radio. Default: \"850Mbps\"."),
    key("radio_delay", delay(), "Its delay. Default: \"10us\"."),
    key(
        "radio_overhead",
        Form::Time(Span::ZERO, Span::from_ms(100)),
        "What each frame takes of the radio besides its bytes. Default: packets leave one by one.",
    ),
    key(
        "radio_frame",
        Form::Size(Bytes::new(1), Bytes::new(10_000_000)),
        "Bytes that a frame holds at most, if they do not. Default: \"65535B\".",
    ),
    key("core_switch", Form::Text, "Which [switch.NAME] the core switch is like."),
    key("aggregation_switch", Form::Text, "Which [switch.NAME] the aggregation switch is like."),
    key("access_switch", Form::Text, "Which [switch.NAME] the access switch is like."),
    key("point_switch", Form::Text, "Which [switch.NAME] access points are like."),
    LARGEST,
];

const FILE: &[Key] = &[
    need("file", Form::Text, "A .graphml, .gml or .csv file beside the scenario."),
    key("hosts", count(), "Hosts at each node, `NODE.h0` and so on. Default: 1."),
    key("hosts_at", texts(), "The nodes that have hosts. Default: all."),
    key("access_rate", rate(), "Rate of the links to hosts. Default: that of the fastest link."),
    key("access_delay", delay(), "Delay of the links to hosts. Default: \"0s\"."),
    key("default_rate", rate(), "Rate of links for which the file says none."),
    key("default_delay", delay(), "Delay of links with neither a delay nor coordinates."),
    key(
        "path_factor",
        Form::Number(1.0, 10.0),
        "How much longer fibres are than great circles. Default: 1.",
    ),
    key("switch", Form::Text, "Which [switch.NAME] the nodes are like. Default: \"default\"."),
    LARGEST,
];
