//! The keys of a `[[group]]` and of the sections in it.

use shallop_core::form::{Form, Reads};
use shallop_core::options::{Natural, Value, Written, keys};
use shallop_core::{Bytes, Span, options, words};
use shallop_plan::bounds::{DAY, MAX_FLOWS};
use shallop_topology::bounds::MAX_NODES;

use super::bounds::FLOW_SIZE;
use super::schemes::SCHEMES;

const TICK: Span = Span::from_ps(1);
const PAIR: Form = Form::Section(keys::<PairOptions>());
const STARTS: [Form; 3] = [
    Form::Time(Span::ZERO, DAY),
    Form::TimeRange(Span::ZERO, DAY),
    Form::Section(keys::<EveryOptions>()),
];

options! {
    /// A group of flows.
    #[derive(Clone, Debug)]
    pub(super) struct GroupOptions {
        /// The name of the group.
        required name: String;
        /// The transport of the group with the keys of a `[[scheme]]`, if it is not that of the scheme.
        other transport [Tagged(&SCHEMES)];
        /// The hosts that send: a host, a set of hosts, or a list of either.
        key from: Option<Hosts> = None, "the set `\"left\"`, in a dumbbell";
        /// The hosts that receive.
        key to: Option<Hosts> = None, "the set `\"right\"`, in a dumbbell";
        /// The number of flows.
        key flows: Option<usize> [Integer(1, MAX_FLOWS)] = None, "one for each host of `from`";
        /// Which host sends to which (docs/workloads.md, "Pairs").
        key pattern: PatternKind = PatternKind::Turn;
        /// The number of senders in one incast, with `pattern = "incast"`.
        key at_once: Option<usize> [Integer(1, MAX_NODES)] = None, "all hosts of `from`";
        /// Pairs of sets of hosts with their weights, with `pattern = "matrix"`.
        other matrix [List(&PAIR)];
        /// The payload of each flow.
        key size: Option<Bytes> [= FLOW_SIZE] = None, "the flows do not end";
        /// A distribution of payloads, in place of `size`: a built-in one such as `"web-search"`, or a file.
        key sizes: Option<String> = None;
        /// When the flows start: at one time (`"1s"`), each at a time drawn uniformly between two (`"0s..1s"`), or one
        /// after the other (`{ first = "0s", every = "10ms" }`).
        other start [AnyOf(&STARTS)], "\"0s\"";
        /// Starts at random or in bursts, in place of `start`.
        section arrivals: ArrivalsOptions;
        /// A file of flows with the columns start, source, destination and bytes, in place of all keys about hosts,
        /// sizes and starts.
        key trace: Option<String> = None;
        /// A program of this machine with its arguments, in place of all keys about flows: it runs in each host of
        /// `from`, which are kernels (docs/kernels.md, "Programs"), and what it sends to the hosts of `to` is counted.
        /// With `pattern = "turn"` each has one host of `to`, whose name `{to}` in its arguments stands for.
        key command: Vec<String> = Vec::new();
        /// TCP: whether each flow opens a connection (`"new"`), or takes an idle one that an earlier flow of the group
        /// between the same hosts has left, with its state (`"kept"`).
        key connections: Connections = Connections::New;
        /// The number of flows at the start of the group that results leave out.
        key warm_up: usize [Integer(0, MAX_FLOWS)] = 0;
        /// The number of flows at the end of the group that results leave out.
        key cool_down: usize [Integer(0, MAX_FLOWS)] = 0;
    }
}

options! {
    /// A pair of sets of hosts.
    #[derive(Clone, Debug)]
    pub(super) struct PairOptions {
        /// The hosts that send.
        required from: Hosts;
        /// The hosts that receive.
        required to: Hosts;
        /// How often a flow is between these two sets, in proportion to the other weights.
        required weight: f64 [Number(0.0, 1e9)];
    }
}

options! {
    /// Flows that start one after the other.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct EveryOptions {
        /// The start of the first flow.
        key first: Span [Time(Span::ZERO, DAY)] = Span::ZERO;
        /// The time from one start to the next.
        required every: Span [Time(TICK, DAY)];
    }
}

options! {
    /// Flows that start at random, or in bursts. One of `load`, `per_second` and `every` is written.
    #[derive(Clone, Debug)]
    pub(super) struct ArrivalsOptions {
        /// Poisson process: the offered payload as a fraction of the capacity of the links `of` that the flows may
        /// take, each direction by itself (docs/workloads.md, "Load").
        key load: Option<f64> [Above(0.0, 100.0)] = None;
        /// The set of links that `load` refers to.
        key of: String = "all".to_owned();
        /// Poisson process: the mean number of flows that start per second, in place of `load`.
        key per_second: Option<f64> [Above(0.0, 1e12)] = None;
        /// The mean length of on periods. With `off`: flows start in on periods only (on-off process).
        key on: Option<Span> [Time(TICK, DAY)] = None;
        /// The mean length of off periods.
        key off: Option<Span> [Time(TICK, DAY)] = None;
        /// Bursts: the time from one burst to the next.
        key every: Option<Span> [Time(TICK, DAY)] = None;
        /// Bursts: the number of flows in one.
        key at_once: Option<u32> [Integer(1, MAX_NODES)] = None;
        /// The time before which no flow starts.
        key begin: Span [Time(Span::ZERO, DAY)] = Span::ZERO;
        /// Whether a load of more than twice the rate of a link is run, which is an error otherwise.
        key force: bool = false;
    }
}

/// Hosts, or sets of them, by name.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// The names.
    pub names: Vec<String>,
}

impl Value for Hosts {
    const READS: Reads = Reads::Any;

    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        let names = match written.as_text() {
            Some(_) => vec![written.text(form)?],
            None => written.list(form)?,
        };
        Ok(Self { names })
    }

    fn show(&self) -> Option<String> {
        self.names.show()
    }
}

impl Natural for Hosts {
    const FORM: Form = Form::AnyOf(&[Form::Text, Form::List(&Form::Text)]);
}

/// Which host of a group sends to which.
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

words! {
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

/// The connections of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connections {
    New,
    Kept,
}

words! { Connections { New = "new", Kept = "kept" } }

/// One time, or two to draw between.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    /// Always this.
    One(Span),
    /// Drawn uniformly.
    Drawn(Span, Span),
}

impl Value for Times {
    const READS: Reads = Reads::Any;

    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        if written.as_text().is_some_and(|text| text.contains("..")) {
            return written.times(form).map(|(low, high)| Self::Drawn(low, high));
        }
        written.time(form).map(Self::One)
    }

    fn show(&self) -> Option<String> {
        match self {
            Self::One(time) => time.show(),
            Self::Drawn(low, high) => (*low, *high).show(),
        }
    }
}
