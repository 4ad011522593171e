//! The format of a scenario: its sections and their keys. Options of transports are in [`super::options`].
//!
//! Bounds keep sums and products of what is written within the simulator's 64 bits, with room to spare.

use shallop_core::{BitsPerSec, Bytes, Span};

use super::form::{Form, Key, Keys, Kinds, key, need};
use super::options::SCHEMES;

/// Hosts and switches in a network. The simulator keeps a path for every two of them, which takes their square in
/// memory.
pub(super) const MOST_NODES: u64 = 5_000;
/// Ports in a network.
pub(super) const MOST_PORTS: u64 = 1_000_000;
/// Flows in a scenario.
pub(super) const MOST_FLOWS: u64 = 1_000_000;
/// Rows of a series.
pub(super) const MOST_SAMPLES: u64 = 10_000_000;
/// The longest run.
pub(super) const DAY: Span = Span::from_secs(86_400);
/// The longest delay of a link.
pub(super) const MOST_DELAY: Span = Span::from_secs(10);
/// The slowest link: a jumbo frame takes about a second.
const LEAST_RATE: BitsPerSec = BitsPerSec::at_least_one(100_000);
const MOST_RATE: BitsPerSec = BitsPerSec::gbps(10_000);
const TICK: Span = Span::from_ps(1);

const fn texts() -> Form {
    Form::List(&Form::Text)
}
const fn rate() -> Form {
    Form::Rate(LEAST_RATE, MOST_RATE)
}
const fn delay() -> Form {
    Form::Time(Span::ZERO, MOST_DELAY)
}
const fn any_number() -> Form {
    Form::Number(f64::MIN, f64::MAX)
}

/// The whole scenario.
pub(super) const SCENARIO: Keys = &[&[
    need("title", Form::Text, "What it is called in tables."),
    key("about", Form::Text, "A line on what it shows."),
    key("takes", texts(), "About how long it takes on one core: in full, and quick."),
    key("seed", Form::Count(0, i64::MAX as u64), "The run seed. Default: 1."),
    key("seeds", Form::List(&Form::Count(0, i64::MAX as u64)), "Run seeds, in place of `seed`."),
    need("duration", Form::Time(Span::from_us(1), DAY), "When a run ends at the latest."),
    key("sample", Form::Time(Span::from_ns(1), DAY), "Time between rows of the series: \"10ms\"."),
    key(
        "windows",
        Form::List(&Form::Between(Span::ZERO, DAY)),
        "Parts of the run reported by themselves. Default: each whole second.",
    ),
    key(
        "fairness_window",
        Form::Time(Span::from_us(1), DAY),
        "Fairness is followed in windows of this length. Default: \"100ms\".",
    ),
    key("stack", Form::Choice(STACKS), "Whose TCP the hosts have. Default: \"linux\"."),
    key("nic", Form::Choice(&["fair", "fifo"]), "How hosts serve their flows. Default: \"fair\"."),
    key(
        "nic_buffer",
        Form::Buffer,
        "The queue of a host's link with \"fifo\". Default: \"1000pkt\".",
    ),
    need("topology", Form::Kinds(&TOPOLOGY), "The network."),
    key("switch", Form::Named(SWITCH), "What switches are like; \"default\" where none is named."),
    need("scheme", Form::KindsTables(&SCHEMES), "What is compared."),
    need("group", Form::Tables(GROUP), "The traffic."),
    key("point", Form::Tables(POINT), "Variations that are all run."),
    key("quick", Form::Overrides, "What differs in a quick run."),
    key("claim", Form::Tables(CLAIM), "What is claimed of the results."),
]];

/// Names of the stacks.
pub(super) const STACKS: &[&str] = &["ns2", "ns3", "linux"];

const MTU: Form = Form::Size(Bytes::new(576), Bytes::new(9_216));

const EVERY_TOPOLOGY: &[Key] = &[
    need("kind", Form::Choice(&["dumbbell", "parking-lot", "graph"]), "The shape."),
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
    key("mtu", MTU, "The largest packet at IP. Default: \"1500B\"."),
];

/// The kinds of networks.
pub(super) const TOPOLOGY: Kinds = Kinds {
    tag: "kind",
    kinds: &[
        ("dumbbell", &[EVERY_TOPOLOGY, READY_MADE, DUMBBELL]),
        ("parking-lot", &[EVERY_TOPOLOGY, READY_MADE, PARKING_LOT]),
        ("graph", &[EVERY_TOPOLOGY, GRAPH]),
    ],
};

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

/// What a switch is like.
pub(super) const SWITCH: Keys = &[&[
    key("chip", Form::Text, "A chip of `shallop chips`: its buffer per Gb/s."),
    key("buffer", Form::Buffer, "Data buffer of each port. Default: the chip's, or \"20KB/Gbps\"."),
    key("mark", Form::Table(MARK), "ECN marking of the data queue."),
    key("credit_queue", Form::Buffer, "Depth of the credit or emulation queue. Default: \"8pkt\"."),
    key("credit_burst", Form::Count(1, 10_000), "Credits that may leave back to back. Default: 2."),
    key(
        "select",
        Form::Buffer,
        "Selective-drop threshold of the emulation queue. Default: \"2pkt\".",
    ),
    key(
        "accounting",
        Form::Choice(&["per-link", "one-way", "two-way"]),
        "Which returning credits the emulation share leaves room for. Default: \"per-link\".",
    ),
    key(
        "emulation",
        Form::Truth,
        "Whether it meters emulation packets or credits. Without, they join the data. Default: true.",
    ),
    key(
        "legacy_weight",
        Form::Count(1, 1_000),
        "Weight of a queue of their own for transports without credits, beside others. Default: they join the data.",
    ),
    key("data_weight", Form::Count(1, 1_000), "Weight of the data queue then. Default: 1."),
]];

/// ECN marking.
pub(super) const MARK: Keys = &[&[
    need("above", Form::Buffer, "The threshold."),
    key("at", Form::Choice(&["enqueue", "dequeue"]), "When it is looked at. Default: \"enqueue\"."),
]];

const HOSTS: Form = Form::Either(&[Form::Text, Form::List(&Form::Text)]);

/// Some traffic.
pub(super) const GROUP: Keys = &[&[
    need("name", Form::Text, "Its name."),
    key(
        "transport",
        Form::Kinds(&SCHEMES),
        "Their transport, with the keys of a [[scheme]], if it is not that of the scheme.",
    ),
    key("from", HOSTS, "Hosts that send, or a set of them. Default: \"left\" of a dumbbell."),
    key("to", HOSTS, "Hosts that receive. Default: \"right\" of a dumbbell."),
    key("flows", Form::Count(1, MOST_FLOWS), "How many. Default: one for each host of `from`."),
    key(
        "size",
        Form::Size(Bytes::new(1), Bytes::new(1_000_000_000_000_000)),
        "Payload of each flow. Default: without end.",
    ),
    key(
        "start",
        Form::Either(&[
            Form::Time(Span::ZERO, DAY),
            Form::Between(Span::ZERO, DAY),
            Form::Table(EVERY),
        ]),
        "When they start: at once, drawn between two bounds, or in turn. Default: \"0s\".",
    ),
]];

/// Flows that start in turn.
pub(super) const EVERY: Keys = &[&[
    key("first", Form::Time(Span::ZERO, DAY), "The first. Default: \"0s\"."),
    need("every", Form::Time(TICK, DAY), "The time from each to the next."),
]];

/// A variation.
pub(super) const POINT: Keys = &[&[
    need("name", Form::Text, "Its name."),
    need("set", Form::Overrides, "What it changes."),
    key("full_only", Form::Truth, "Left out of a quick run. Default: false."),
]];

/// A claim.
pub(super) const CLAIM: Keys = &[&[
    need("what", Form::Text, "The claim in words."),
    need("scheme", Form::Text, "The label of the scheme it is about."),
    key("point", Form::Text, "The point it is about. Default: all together."),
    need("metric", Form::Text, "A field of a run in the summary, such as \"drops.data\"."),
    key("window", Form::Text, "One of `windows`, if it is a field of a window."),
    key("relative_to", Form::Text, "A scheme: the claim is of the ratio to its figure."),
    key("unit", Form::Choice(UNITS), "The unit of the figures. Default: none."),
    key("seeds", Form::Choice(&["each", "mean"]), "How figures of seeds count. Default: \"each\"."),
    key("paper", any_number(), "What the paper says, in `unit`."),
    need("source", Form::Text, "Where it says so."),
    key("low", any_number(), "The least that is accepted, in `unit`."),
    key("high", any_number(), "The most that is accepted, in `unit`."),
    key("differs", Form::Table(DIFFERS), "Where the figure is known to lie instead."),
    key("full_only", Form::Truth, "Not judged in a quick run. Default: false."),
]];

/// A known difference.
pub(super) const DIFFERS: Keys = &[&[
    key("low", any_number(), "The least it is expected to be, in `unit`."),
    key("high", any_number(), "The most."),
    need("why", Form::Text, "Why, in a line."),
]];

/// Units of claims.
pub(super) const UNITS: &[&str] =
    &["", "%", "Gb/s", "Mb/s", "packets", "MB", "KB", "B", "s", "ms", "us"];
