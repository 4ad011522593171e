//! The keys of a `[[group]]` and of its subsections.

use super::bounds::{FLOW_SIZE, SOME};
use super::schemes::SCHEMES;
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_options::{
    Item, Options, RustType, Subsection, Unread, Value, ValueType, WrongValue, section_keys, string_enum,
};
use shallop_plan::bounds::{DAY, MAX_FLOWS};
use shallop_plan::plan::Connections;
use shallop_topology::bounds::{MAX_NODES, RATE};

const TICK: Span = Span::from_ps(1);
const PAIR: ValueType = ValueType::Section(section_keys::<PairOptions>());
const MATRIX: [ValueType; 2] = [ValueType::Text, ValueType::List(&PAIR)];
const STARTS: [ValueType; 3] = [
    ValueType::Time(Span::ZERO, DAY),
    ValueType::TimeRange(Span::ZERO, DAY),
    ValueType::Section(section_keys::<EveryOptions>()),
];

/// The keys of a `[[group]]`, a group of flows.
#[derive(Clone, Debug, Options)]
pub(super) struct GroupOptions {
    /// The name of the group.
    pub name: String,
    /// The transport of the group, with the keys of a `[[scheme]]`, if it differs from the transport of the scheme.
    #[key(Tagged(&SCHEMES))]
    pub transport: Option<Unread>,
    /// The hosts that send: a host, a set of hosts, or a list of either.
    #[key(shown = "the set `\"left\"`, in a dumbbell")]
    pub from: Option<Hosts>,
    /// The hosts that receive: a host, a set of hosts, or a list of either.
    #[key(shown = "the set `\"right\"`, in a dumbbell")]
    pub to: Option<Hosts>,
    /// The number of flows of the group.
    #[key(Integer(1, MAX_FLOWS), shown = "one for each host of `from`")]
    pub flows: Option<usize>,
    /// Which host sends to which (docs/workloads.md, "Pairs").
    #[key(default = PatternKind::Turn)]
    pub pattern: PatternKind,
    /// The number of senders in one incast. Requires `pattern = "incast"`.
    #[key(Integer(1, MAX_NODES), shown = "all hosts of `from`")]
    pub at_once: Option<usize>,
    /// Pairs of sets of hosts with their weights, or a file with them: `SNDlib`, or CSV with `from,to,weight`. Requires
    /// `pattern = "matrix"`.
    #[key(AnyOf(&MATRIX))]
    pub matrix: Option<Unread>,
    /// The payload of each flow.
    #[key(FLOW_SIZE, shown = "the flows do not end")]
    pub size: Option<Bytes>,
    /// A distribution of payloads, in place of `size`: a built-in one such as `"web-search"`, or a file.
    pub sizes: Option<String>,
    /// When the flows start: at one time (`"1s"`), each at a time drawn uniformly between two (`"0s..1s"`), or one
    /// after the other (`{ first = "0s", every = "10ms" }`).
    #[key(AnyOf(&STARTS), shown = "\"0s\"")]
    pub start: Option<Unread>,
    /// Random starts, or starts in bursts, in place of `start`.
    #[section]
    pub arrivals: Subsection<ArrivalsOptions>,
    /// A file with a row for each flow (start, source, destination and bytes), in place of all keys about hosts, sizes
    /// and starts.
    pub trace: Option<String>,
    /// A program of this machine with its arguments, in place of all keys about flows. It runs in each host of `from`;
    /// these hosts are kernels (docs/kernels.md, "Programs"). What the program sends to the hosts of `to` is counted.
    /// With `pattern = "turn"` each program has one host of `to`, whose name replaces `{to}` in the arguments.
    #[key(default = Vec::new())]
    pub command: Vec<String>,
    /// TCP: whether each flow opens a connection (`"new"`), or reuses an idle connection, with its state, that an
    /// earlier flow of the group between the same hosts has left (`"kept"`).
    #[key(default = Connections::New)]
    pub connections: Connections,
    /// An earlier group whose kept connections the flows of this group share: each takes what a flow of the other has
    /// left. Requires `connections = "kept"` in both groups, and one transport.
    #[key(shown = "connections of its own")]
    pub connections_of: Option<String>,
    /// TCP: the rate at which the application of each flow offers payload, such as a video of `"8Mbps"` (iperf3: `-b`).
    /// What TCP cannot send at once is sent later.
    #[key(RATE, shown = "as much as TCP sends")]
    pub rate: Option<BitsPerSec>,
    /// The bytes that the application with a `rate` offers at a time (iperf3: 128 KiB).
    #[key(SOME, shown = "a full segment")]
    pub write: Option<Bytes>,
    /// TCP: how long the application of each flow offers payload, from the start of the flow on (iperf3: `-t`). Then
    /// TCP delivers what it has taken over. The flow has no `size`.
    #[key(Time(TICK, DAY), shown = "until its `size`, or to the end of the run")]
    pub lasts: Option<Span>,
    /// The number of first flows of the group that results do not count.
    #[key(Integer(0, MAX_FLOWS), default = 0)]
    pub warm_up: usize,
    /// The number of last flows of the group that results do not count.
    #[key(Integer(0, MAX_FLOWS), default = 0)]
    pub cool_down: usize,
}

/// The keys of an entry of `matrix`: two sets of hosts, and how often flows are between them.
#[derive(Clone, Debug, Options)]
pub(super) struct PairOptions {
    /// The hosts that send.
    pub from: Hosts,
    /// The hosts that receive.
    pub to: Hosts,
    /// How often a flow is between these two sets, relative to the weights of the other pairs.
    #[key(Number(0.0, 1e9))]
    pub weight: f64,
}

/// The keys of a `start` at equal intervals.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct EveryOptions {
    /// The time at which the first flow starts.
    #[key(Time(Span::ZERO, DAY), default = Span::ZERO)]
    pub first: Span,
    /// The time from one start to the next.
    #[key(Time(TICK, DAY))]
    pub every: Span,
}

/// The keys of `arrivals`: random starts (`load` or `per_second`), or bursts (`every`).
#[derive(Clone, Debug, Options)]
pub(super) struct ArrivalsOptions {
    /// Poisson process: the offered payload, as a fraction of the capacity of those links of the set `of` that the
    /// flows may take. Both directions of a link count (docs/workloads.md, "Load").
    #[key(Above(0.0, 100.0))]
    pub load: Option<f64>,
    /// The set of links to which `load` refers.
    #[key(default = "all".to_owned())]
    pub of: String,
    /// Poisson process: the mean number of flows that start per second, in place of `load`.
    #[key(Above(0.0, 1e12))]
    pub per_second: Option<f64>,
    /// On-off process: the mean length of on periods. Flows start in on periods only. Requires `off`.
    #[key(Time(TICK, DAY))]
    pub on: Option<Span>,
    /// On-off process: the mean length of off periods.
    #[key(Time(TICK, DAY))]
    pub off: Option<Span>,
    /// Bursts: the time from one burst to the next.
    #[key(Time(TICK, DAY))]
    pub every: Option<Span>,
    /// Bursts: the number of flows in one burst.
    #[key(Integer(1, MAX_NODES))]
    pub at_once: Option<u32>,
    /// The time before which no flow starts.
    #[key(Time(Span::ZERO, DAY), default = Span::ZERO)]
    pub begin: Span,
    /// Whether to run a load of more than twice the rate of a link, which is an error otherwise.
    #[key(default = false)]
    pub force: bool,
}

/// Names of hosts, or of sets of hosts: one text or a list.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    pub names: Vec<String>,
}

impl Value for Hosts {
    const RUST_TYPE: RustType = RustType::Any;
    const VALUE_TYPE: Option<ValueType> = Some(ValueType::AnyOf(&[ValueType::Text, ValueType::List(&ValueType::Text)]));

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        let names = match item.text() {
            Some(_) => vec![String::read(item, allowed)?],
            None => Vec::read(item, allowed)?,
        };
        Ok(Self { names })
    }

    fn show(&self) -> Option<String> {
        self.names.show()
    }
}

/// The rule by which hosts of a group send to each other: the values of the key `pattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternKind {
    Turn,
    Uniform,
    OtherSite,
    Incast,
    Permutation,
    AllToAll,
    Matrix,
}

string_enum! {
    PatternKind {
        Turn = "turn",
        Uniform = "uniform",
        OtherSite = "other-site",
        Incast = "incast",
        Permutation = "permutation",
        AllToAll = "all-to-all",
        Matrix = "matrix",
    }
}

/// The value of `start`: one time for all flows, or a range from which each start is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    One(Span),
    /// The ends of a range from which times are drawn uniformly.
    Drawn(Span, Span),
}

impl Value for Times {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if item.text().is_some_and(|text| text.contains("..")) {
            return <(Span, Span)>::read(item, allowed).map(|(low, high)| Self::Drawn(low, high));
        }
        Span::read(item, allowed).map(Self::One)
    }

    fn show(&self) -> Option<String> {
        match self {
            Self::One(time) => time.show(),
            Self::Drawn(low, high) => (*low, *high).show(),
        }
    }
}
