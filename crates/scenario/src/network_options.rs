//! The keys that every `[topology]` has, and those of the kinds that are no fabrics: a network drawn by hand, and one
//! from a file.

use shallop_core::{BitsPerSec, Span};
use shallop_options::{Options, Subsection, Unread, ValueType, section_keys, string_enum};
use shallop_plan::bounds::DAY;
use shallop_plan::plan::Ecmp;
use shallop_topology::NodeKind;
use shallop_topology::bounds::{COUNT, DELAY, RATE};
use shallop_topology::fabric::Largest;

const DOWN: ValueType = ValueType::Section(section_keys::<DownOptions>());
const CHANGE: ValueType = ValueType::Section(section_keys::<ChangeOptions>());

/// What every topology has.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct AnyTopology {
    /// The kind of topology.
    #[key(Text, required)]
    pub kind: Option<Unread>,
    /// Whether both directions of a flow take the same links where there are several shortest paths.
    #[key(default = Ecmp::Symmetric)]
    pub ecmp: Ecmp,
}

/// A network drawn by hand.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct GraphOptions {
    /// Hosts and switches.
    #[sections(required)]
    pub node: Subsection<NodeOptions>,
    /// Links between two nodes.
    #[sections(required)]
    pub link: Subsection<LinkOptions>,
}

/// What a node is.
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

/// A node of a graph.
#[derive(Clone, Debug, Options)]
pub(super) struct NodeOptions {
    /// The name of the node.
    pub name: String,
    /// Whether the node is a host or a switch.
    pub kind: Node,
    /// For a switch, the `[switch.NAME]` that describes it.
    #[key(shown = "\"default\"")]
    pub switch: Option<String>,
}

/// A link of a graph.
#[derive(Clone, Debug, Options)]
pub(super) struct LinkOptions {
    /// The two nodes that the link joins.
    pub between: Vec<String>,
    /// The rate of each direction.
    #[key(RATE)]
    pub rate: BitsPerSec,
    /// The propagation delay.
    #[key(DELAY)]
    pub delay: Span,
    /// The largest packet.
    #[part]
    pub largest: Largest,
    /// The probability that the link loses a packet.
    #[key(Number(0.0, 1.0), default = 0.0)]
    pub loss: f64,
    /// Each packet arrives later by a time drawn uniformly from zero to this.
    #[key(DELAY, default = Span::ZERO)]
    pub jitter: Span,
    /// The probability that others overtake a packet.
    #[key(Number(0.0, 1.0), default = 0.0)]
    pub reordering: f64,
    /// Such a packet arrives later by a time drawn uniformly from zero to this.
    #[key(DELAY, default = Span::from_ms(1), shown = "\"1ms\"")]
    pub reordering_delay: Span,
    /// The probability that a packet arrives twice.
    #[key(Number(0.0, 1.0), default = 0.0)]
    pub duplicates: f64,
    /// When nothing passes and what is on the wire is lost: `[{ at = "2s", lasts = "500ms", every = "10s" }]`.
    #[key(List(&DOWN))]
    pub down: Option<Unread>,
    /// Changes of rate and delay at given times, such as `[{ at = "1s", rate = "2Gbps" }]`.
    #[key(List(&CHANGE))]
    pub changes: Option<Unread>,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct ChangeOptions {
    /// The time of the change.
    #[key(Time(Span::ZERO, DAY))]
    pub at: Span,
    /// The rate from then on.
    #[key(RATE, shown = "as before")]
    pub rate: Option<BitsPerSec>,
    /// The delay from then on.
    #[key(DELAY, shown = "as before")]
    pub delay: Option<Span>,
}

/// A time at which a link is down.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct DownOptions {
    /// When it begins.
    #[key(Time(Span::ZERO, DAY))]
    pub at: Span,
    /// How long it lasts.
    #[key(Time(Span::from_ps(1), DAY))]
    pub lasts: Span,
    /// How long after its beginning it begins again; longer than it lasts.
    #[key(Time(Span::from_ps(1), DAY), shown = "it does not")]
    pub every: Option<Span>,
}

/// Switches and links from a file, with hosts.
#[derive(Clone, Debug, Options)]
pub(super) struct FileOptions {
    /// The file, beside the scenario: .graphml, .gml or .csv.
    pub file: String,
    /// The number of hosts at each node: `NODE.h0` and so on.
    #[key(COUNT, default = 1)]
    pub hosts: usize,
    /// The nodes that have hosts.
    #[key(shown = "all")]
    pub hosts_at: Option<Vec<String>>,
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
    /// The length of fibres as a multiple of the great circle between their ends.
    #[key(Number(1.0, 10.0), default = 1.0)]
    pub path_factor: f64,
    /// The `[switch.NAME]` that describes the nodes.
    #[key(shown = "\"default\"")]
    pub switch: Option<String>,
    /// The largest packet.
    #[part]
    pub largest: Largest,
}
