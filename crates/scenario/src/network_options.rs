//! The keys of `[topology]`: those of all kinds, and those of a network drawn by hand (`graph`) or read from a file
//! (`file`).

use shallop_core::{BitsPerSec, Bytes, MTU, Span};
use shallop_options::{
    EachWay, Item, Options, RustType, Subsection, Unread, Value, ValueType, WrongValue, section_keys, string_enum,
};
use shallop_plan::{bounds::DAY, plan::Ecmp};
use shallop_topology::NodeKind;
use shallop_topology::bounds::{COUNT, DELAY, RATE};
use shallop_topology::fabric::Largest;

const DOWN: ValueType = ValueType::Section(section_keys::<DownOptions>());
/// A value for both directions of a link, or one for each.
const EACH_RATE: ValueType = ValueType::AnyOf(&[RATE, ValueType::List(&RATE)]);
const EACH_DELAY: ValueType = ValueType::AnyOf(&[DELAY, ValueType::List(&DELAY)]);
const PART: ValueType = ValueType::Number(0.0, 1.0);
const EACH_PART: ValueType = ValueType::AnyOf(&[PART, ValueType::List(&PART)]);
const BURST: ValueType = ValueType::Number(1.0, 1e6);
const EACH_BURST: ValueType = ValueType::AnyOf(&[BURST, ValueType::List(&BURST)]);
const FRAME: ValueType = ValueType::Size(Bytes::new(576), Bytes::new(9_216));
const EACH_FRAME: ValueType = ValueType::AnyOf(&[FRAME, ValueType::List(&FRAME)]);
/// A text, or several.
const TEXTS: [ValueType; 2] = [ValueType::Text, ValueType::List(&ValueType::Text)];
const CHANGE: ValueType = ValueType::Section(section_keys::<ChangeOptions>());

/// The keys that every kind of topology has.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct AnyTopology {
    /// The kind of topology, which decides the other keys.
    #[key(Text, required)]
    pub kind: Option<Unread>,
    /// Whether both directions of a flow take the same links where there are several shortest paths.
    #[key(default = Ecmp::Symmetric)]
    pub ecmp: Ecmp,
}

/// The keys of a network drawn by hand.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct GraphOptions {
    /// The hosts and switches of the network.
    #[sections(required)]
    pub node: Subsection<NodeOptions>,
    /// The links of the network, each between two nodes.
    #[sections(required)]
    pub link: Subsection<LinkOptions>,
}

/// What a node is: the values of its key `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Host,
    Switch,
}

string_enum! { Node { Host = "host", Switch = "switch" } }

impl From<Node> for NodeKind {
    fn from(node: Node) -> Self {
        match node {
            Node::Host => Self::Host,
            Node::Switch => Self::Switch,
        }
    }
}

/// The keys of a node drawn by hand.
#[derive(Clone, Debug, Options)]
pub(super) struct NodeOptions {
    /// The name of the node.
    pub name: String,
    /// Whether the node is a host or a switch.
    pub kind: Node,
    /// For a switch, the NAME of the `[switch.NAME]` that describes it.
    #[key(shown = "\"default\"")]
    pub switch: Option<String>,
}

/// The keys of a link drawn by hand.
#[derive(Clone, Debug, Options)]
pub(super) struct LinkOptions {
    /// The names of the two nodes that the link joins.
    pub between: Vec<String>,
    /// The rate of both directions, or of each: `["100Mbps", "10Mbps"]` is 100 Mb/s from the first node to the second,
    /// and 10 Mb/s back.
    #[key(EACH_RATE, was = "up_rate", was = "down_rate", was = "rate_up", was = "rate_down", was = "bandwidth")]
    pub rate: EachWay<BitsPerSec>,
    /// The propagation delay of both directions, or of each.
    #[key(EACH_DELAY, was = "up_delay", was = "down_delay", was = "delay_up", was = "delay_down", was = "latency")]
    pub delay: EachWay<Span>,
    /// The largest IP packet of both directions, or of each.
    #[key(EACH_FRAME, default = EachWay::both(Bytes::new(MTU)), shown = "\"1500B\"")]
    pub mtu: EachWay<Bytes>,
    #[part]
    pub faults: FaultOptions,
}

/// The keys of a link for faults and changes. A list of two values is one for each direction, as in `rate`.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct FaultOptions {
    /// The probability that the link loses a packet.
    #[key(EACH_PART, default = EachWay::both(0.0))]
    pub loss: EachWay<f64>,
    /// The mean number of successive packets that are lost together (Gilbert-Elliott).
    #[key(EACH_BURST, shown = "each packet is lost or not by itself")]
    pub loss_burst: Option<EachWay<f64>>,
    /// The largest random delay. Each packet arrives later by a time drawn uniformly from zero to this.
    #[key(EACH_DELAY, default = EachWay::both(Span::ZERO))]
    pub jitter: EachWay<Span>,
    /// The probability that later packets overtake a packet.
    #[key(EACH_PART, default = EachWay::both(0.0))]
    pub reordering: EachWay<f64>,
    /// The largest delay of a packet that others overtake. The packet arrives later by a time drawn uniformly from zero
    /// to this.
    #[key(EACH_DELAY, default = EachWay::both(Span::from_ms(1)), shown = "\"1ms\"")]
    pub reordering_delay: EachWay<Span>,
    /// The probability that a packet arrives twice.
    #[key(EACH_PART, default = EachWay::both(0.0))]
    pub duplicates: EachWay<f64>,
    /// Times at which the link is down. No packet passes, and packets on the wire are lost: `[{ at = "2s", lasts =
    /// "500ms", every = "10s" }]`.
    #[key(List(&DOWN))]
    pub down: Option<Unread>,
    /// Changes of rate and delay at given times, such as `[{ at = "1s", rate = "2Gbps" }]`. With the rate `"0"` the
    /// link is down until the next change of its rate.
    #[key(List(&CHANGE))]
    pub changes: Option<Unread>,
    /// A file with the rate of both directions, or of each, as mahimahi has it: the milliseconds at which packets of
    /// 1,500 bytes may leave (docs/topologies.md, "Rates from a trace").
    #[key(AnyOf(&TEXTS))]
    pub rate_trace: Option<Unread>,
}

/// The keys of an entry of `fault`: faults of a link of a network file.
#[derive(Clone, Debug, Options)]
pub(super) struct FileFaultOptions {
    /// The names of the two nodes that the link joins. Parallel links have the faults, too.
    pub between: Vec<String>,
    #[part]
    pub faults: FaultOptions,
}

/// The keys of an entry of `changes`: a new rate or delay of a link at a time.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct ChangeOptions {
    /// The time of the change.
    #[key(Time(Span::ZERO, DAY))]
    pub at: Span,
    /// The rate of the link from that time on, or of each direction.
    #[key(EACH_RATE, shown = "as before")]
    pub rate: Option<EachWay<ChangedRate>>,
    /// The delay of the link from that time on, or of each direction.
    #[key(EACH_DELAY, shown = "as before")]
    pub delay: Option<EachWay<Span>>,
}

/// A new rate of a link; `None` while no bit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangedRate(pub Option<BitsPerSec>);

impl Value for ChangedRate {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if matches!(item.text(), Some("0" | "0bps" | "0Kbps" | "0Mbps" | "0Gbps")) {
            return Ok(Self(None));
        }
        BitsPerSec::read(item, allowed).map(|rate| Self(Some(rate)))
    }

    fn show(&self) -> Option<String> {
        self.0.map_or_else(|| Some("\"0\"".to_owned()), |rate| rate.show())
    }
}

/// The keys of an entry of `down`: an outage of a link, which may repeat.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct DownOptions {
    /// The time at which the outage begins.
    #[key(Time(Span::ZERO, DAY))]
    pub at: Span,
    /// The length of the outage.
    #[key(Time(Span::from_ps(1), DAY))]
    pub lasts: Span,
    /// The time from the beginning of one outage to the beginning of the next; must be longer than `lasts`.
    #[key(Time(Span::from_ps(1), DAY), shown = "it does not")]
    pub every: Option<Span>,
}

/// Which part of a network in several parts is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    Whole,
    Largest,
}

string_enum! { Component { Whole = "whole", Largest = "largest" } }

/// The keys of a network from a file.
#[derive(Clone, Debug, Options)]
pub(super) struct FileOptions {
    /// The name of the file, relative to the folder of the scenario: .graphml, .gml, .csv, .json, or that of another
    /// tool.
    pub file: String,
    /// The number of hosts at each switch: `NODE.h0` and so on.
    #[key(COUNT, shown = "1, or none if the file has hosts")]
    pub hosts: Option<usize>,
    /// The names of the switches that have hosts.
    #[key(shown = "all")]
    pub hosts_at: Option<Vec<String>>,
    /// Which nodes of the file are hosts themselves: a list of their names, or `"leaves"`, which are those with one
    /// link.
    #[key(AnyOf(&TEXTS), shown = "those of which the file says it")]
    pub hosts_are: Option<Unread>,
    /// Which part of a network in several parts is taken: `"whole"` refuses the file, `"largest"` leaves the others
    /// out.
    #[key(default = Component::Whole)]
    pub component: Component,
    /// The unit of rates in the file without a unit, such as `"Mbps"` or `"Gb/s"`.
    #[key(shown = "\"bps\"")]
    pub rate_unit: Option<String>,
    /// The rate of the links to hosts.
    #[key(RATE, shown = "the rate of the fastest link")]
    pub access_rate: Option<BitsPerSec>,
    /// The delay of the links to hosts.
    #[key(DELAY, default = Span::ZERO)]
    pub access_delay: Span,
    /// The rate of links for which the file has none.
    #[key(RATE, shown = "such links are an error")]
    pub default_rate: Option<BitsPerSec>,
    /// The delay of links for which the file has neither a delay nor coordinates.
    #[key(DELAY, shown = "such links are an error")]
    pub default_delay: Option<Span>,
    /// The length of fibres, as a multiple of the great-circle distance between their ends.
    #[key(Number(1.0, 10.0), default = 1.0)]
    pub path_factor: f64,
    /// The NAME of the `[switch.NAME]` that describes nodes for which the file names none.
    #[key(shown = "\"default\"")]
    pub switch: Option<String>,
    /// Faults, outages and changes of links in the file.
    #[sections]
    pub fault: Subsection<FileFaultOptions>,
    #[part]
    pub largest: Largest,
}
