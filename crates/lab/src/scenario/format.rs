//! The format of a scenario: its sections and their keys. Options of transports are in [`super::options`].
//!
//! Bounds keep sums and products of what is written within the simulator's 64 bits, with room to spare.

use shallop_core::form::{Form, Key, Keys, key, need};
use shallop_core::{BitsPerSec, Bytes, Span};

use super::options::SCHEMES;
use super::shapes::TOPOLOGY;

/// Hosts and switches in a network. The simulator keeps a path for every two switches, which takes their square
/// in memory: half a gigabyte for as many as this, without a host.
pub(super) const MOST_NODES: u64 = 5_000;
/// Ports in a network.
pub(super) const MOST_PORTS: u64 = 1_000_000;
/// Flows in a scenario. Those that are over take a few bytes each.
pub(super) const MOST_FLOWS: u64 = 100_000_000;
/// Rows of a series.
pub(super) const MOST_SAMPLES: u64 = 10_000_000;
/// The longest run.
pub(super) const DAY: Span = Span::from_secs(86_400);
/// The longest delay of a link.
pub(super) const MOST_DELAY: Span = Span::from_secs(10);
/// The slowest link: a jumbo frame takes about a second.
pub(super) const LEAST_RATE: BitsPerSec = BitsPerSec::at_least_one(100_000);
pub(super) const MOST_RATE: BitsPerSec = BitsPerSec::gbps(10_000);
const TICK: Span = Span::from_ps(1);

pub(super) const fn texts() -> Form {
    Form::List(&Form::Text)
}
pub(super) const fn rate() -> Form {
    Form::Rate(LEAST_RATE, MOST_RATE)
}
pub(super) const fn delay() -> Form {
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
    key(
        "levels",
        Form::List(&SOME),
        "How long queues and pools held more than each of these sizes is reported.",
    ),
    key("stack", Form::Choice(STACKS), "Whose TCP the hosts have. Default: \"linux\"."),
    key("nic", Form::Choice(&["fair", "fifo"]), "How hosts serve their flows. Default: \"fair\"."),
    key(
        "nic_buffer",
        Form::Buffer,
        "The queue of a host's link with \"fifo\". Default: \"1000pkt\".",
    ),
    key(
        "nic_credit_queue",
        Form::Buffer,
        "Depth of a host's queue of credits or emulation packets. Default: as switches; FlashPass \"2pkt\".",
    ),
    key(
        "nic_jitter",
        delay(),
        "Each packet takes up to this much longer to leave its host's link. Default: \"0s\".",
    ),
    need("topology", Form::Kinds(&TOPOLOGY), "The network."),
    key("switch", Form::Named(SWITCH), "What switches are like; \"default\" where none is named."),
    need("scheme", Form::KindsTables(&SCHEMES), "What is compared."),
    need("group", Form::Tables(GROUP), "The traffic."),
    key("capture", texts(), "Sets of links whose packets are recorded as pcapng, with --out."),
    key("capture_limit", Form::Count(1, 1_000_000_000), "Packets recorded. Default: 1,000,000."),
    key("classes", Form::Table(CLASSES), "Where small flows are told from large ones."),
    key("point", Form::Tables(POINT), "Variations that are all run."),
    key("quick", Form::Overrides, "What differs in a quick run."),
    key("claim", Form::Tables(CLAIM), "What is claimed of the results."),
]];

/// Names of the stacks.
pub(super) const STACKS: &[&str] = &["ns2", "ns3", "linux"];

/// What a switch is like.
pub(super) const SWITCH: Keys = &[&[
    key("chip", Form::Text, "A chip of `shallop chips`: its buffer per Gb/s."),
    key("buffer", Form::Buffer, "Data buffer of each port. Default: the chip's, or \"20KB/Gbps\"."),
    key(
        "shared",
        Form::Table(SHARED),
        "Memory that ports share, instead of a buffer each. With `chip`, as that chip shares it.",
    ),
    key("bcc", Form::Table(BCC), "Shared memory marks by how full it is, by the rules of BCC."),
    key("mark", Form::Table(MARK), "ECN marking of the data queue."),
    key("credit_queue", Form::Buffer, "Depth of the credit or emulation queue. Default: \"8pkt\"."),
    key("credit_burst", Form::Count(1, 10_000), "Credits that may leave back to back. Default: 2."),
    key(
        "select",
        Form::Either(&[Form::Choice(&["off"]), Form::Buffer]),
        "Selective-drop threshold of the emulation queue. Default: \"2pkt\".",
    ),
    key(
        "unscheduled_above",
        Form::Buffer,
        "Data sent without a credit (Aeolus) is dropped above this queue. Default: \"2pkt\".",
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

const SOME: Form = Form::Size(Bytes::new(1), Bytes::new(1_000_000_000_000));

/// Memory that ports share.
pub(super) const SHARED: Keys = &[&[
    key(
        "size",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "All of a pool. Default: the chip's.",
    ),
    key(
        "ports",
        Form::Count(1, 100_000),
        "So many ports draw on a pool, the next on another. Default: the chip's, or all on one.",
    ),
    key(
        "pools",
        Form::List(&Form::List(&Form::Text)),
        "Pools of their own for the ports to these nodes, or of these sets of links.",
    ),
    key(
        "alpha",
        ALPHA,
        "A queue may have this times what is free (Dynamic Thresholds). Default: 1.",
    ),
    key("legacy_alpha", ALPHA, "The same of the queue with a `legacy_weight`. Default: `alpha`."),
    key(
        "private",
        Form::Size(Bytes::ZERO, Bytes::new(1_000_000_000)),
        "What each queue may hold besides. Default: the chip's, or \"0B\".",
    ),
    key(
        "cell",
        Form::Either(&[Form::Choice(&["chip"]), Form::Size(Bytes::new(1), Bytes::new(65_536))]),
        "Packets take whole cells of this size, or of the chip's. Default: \"1B\".",
    ),
    key("mark", Form::Table(SHARED_MARK), "ECN marking by how full a pool is."),
]];

const ALPHA: Form = Form::Above(0.0, 1_024.0);

/// ECN marking of a queue: a step, or at random.
pub(super) const MARK: Keys = &[
    &[
        key("above", Form::Buffer, "The threshold of a step."),
        key("min", Form::Buffer, "Nothing is marked up to here, in place of `above`."),
        key("max", Form::Buffer, "Everything is marked above."),
        key(
            "weight",
            Form::Count(0, 15),
            "The length is averaged with a weight of 2 to the minus this. Default: 0, not at all.",
        ),
    ],
    MARKING,
];

/// ECN marking of a pool.
pub(super) const SHARED_MARK: Keys = &[
    &[
        key("above", SOME, "The threshold of a step."),
        key("min", SOME, "Nothing is marked up to here, in place of `above`."),
        key("max", SOME, "Everything is marked above."),
    ],
    MARKING,
];

const MARKING: &[Key] = &[
    key("probability", PROBABILITY, "That of a mark at `max`. Default: 1."),
    AT,
    key(
        "not_ect",
        Form::Choice(&["keep", "drop"]),
        "What becomes of packets that are not ECN-capable where others are marked. Default: \"keep\".",
    ),
];

const AT: Key =
    key("at", Form::Choice(&["enqueue", "dequeue"]), "When it is looked at. Default: \"enqueue\".");

const PROBABILITY: Form = Form::Above(0.0, 1.0);

/// BCC: thresholds of a pool from what the network is like.
pub(super) const BCC: Keys = &[&[
    need("rtt", Form::Time(Span::from_ns(1), MOST_DELAY), "The base round-trip time."),
    need(
        "lambda",
        Form::Above(0.0, 100.0),
        "The part of C RTT that senders need queued: 1 for ECN*, 0.72 for DCTCP in the paper.",
    ),
    key(
        "h",
        Form::Time(Span::ZERO, MOST_DELAY),
        "From Kmin to Kmax the ports of a pool take so long. Default: \"8us\".",
    ),
    key("probability", PROBABILITY, "That of a mark at Kmax. Default: 0.1."),
    AT,
    key(
        "required",
        Form::Size(Bytes::ZERO, Bytes::new(1_000_000_000_000)),
        "B_R, what a queue needs of the pool. Default: C RTT (1 + lambda) less private bytes.",
    ),
    key("max", SOME, "Kmax. Default: B - B_R / alpha."),
    key("min", SOME, "Kmin. Default: Kmax - C N h, N ports a pool."),
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
    key("pattern", Form::Choice(PATTERNS), "Who of them sends to whom. Default: \"turn\"."),
    key("at_once", Form::Count(1, MOST_NODES), "Incast: how many send to one. Default: all."),
    key("matrix", Form::List(&Form::Table(MATRIX)), "Pairs of sets with their weights."),
    key("size", Form::Size(Bytes::new(1), MOST_SIZE), "Payload of each. Default: without end."),
    key(
        "sizes",
        Form::Text,
        "A distribution of payloads: a built-in table such as \"web-search\", or a file.",
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
    key("arrivals", Form::Table(ARRIVALS), "Starts at random or in bursts, in place of `start`."),
    key("trace", Form::Text, "A file of flows (start,source,destination,bytes) says it all."),
    key(
        "connections",
        Form::Choice(&["new", "kept"]),
        "TCP: each flow opens one, or takes one that an earlier one of the group between the same hosts has left idle, \
         with all it learnt. Default: \"new\".",
    ),
    key("warm_up", Form::Count(0, MOST_FLOWS), "So many first flows are not judged. Default: 0."),
    key("cool_down", Form::Count(0, MOST_FLOWS), "So many last ones are not. Default: 0."),
]];

const MOST_SIZE: Bytes = Bytes::new(1_000_000_000_000_000);

/// Who of a group sends to whom.
const PATTERNS: &[&str] =
    &["turn", "uniform", "other-site", "incast", "permutation", "all-to-all", "matrix"];

/// A pair of sets.
pub(super) const MATRIX: Keys = &[&[
    need("from", HOSTS, "Hosts that send, or a set of them."),
    need("to", HOSTS, "Hosts that receive."),
    need("weight", Form::Number(0.0, 1e9), "How often, in proportion to the other weights."),
]];

/// Starts at random, or in bursts.
pub(super) const ARRIVALS: Keys = &[&[
    key("load", Form::Above(0.0, 100.0), "Poisson: offered payload over the capacity of `of`."),
    key("of", Form::Text, "The set of links that `load` is of. Default: \"all\"."),
    key("per_second", Form::Above(0.0, 1e12), "Poisson: flows in a second, in place of `load`."),
    key("on", Form::Time(TICK, DAY), "Only in periods of this mean length, and with silences."),
    key("off", Form::Time(TICK, DAY), "Mean length of the silences."),
    key("every", Form::Time(TICK, DAY), "Bursts: from each to the next."),
    key("at_once", Form::Count(1, MOST_NODES), "Bursts: flows in each."),
    key("begin", Form::Time(Span::ZERO, DAY), "From when on. Default: \"0s\"."),
]];

/// Classes of flows.
pub(super) const CLASSES: Keys = &[&[
    need("small", Form::Size(Bytes::new(1), MOST_SIZE), "Small flows have up to this."),
    key(
        "large",
        Form::Size(Bytes::new(1), MOST_SIZE),
        "Large ones more than this. Default: `small`.",
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
    key("relative_point", Form::Text, "A point: the claim is of the ratio to the figure there."),
    key(
        "relative_metric",
        Form::Text,
        "A field: the claim is of the ratio to it, in the same run.",
    ),
    key("difference", Form::Truth, "It is of the difference, not of the ratio. Default: false."),
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
