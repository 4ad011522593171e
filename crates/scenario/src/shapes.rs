//! The keys that every `[topology]` has, and those of the kinds that are no fabrics: a network drawn by hand, and one
//! from a file.

use shallop_core::form::Form;
use shallop_core::options::keys;
use shallop_core::{BitsPerSec, Span, options, words};
use shallop_plan::bounds::DAY;
use shallop_topology::NodeKind;
use shallop_topology::bounds::{COUNT, DELAY, RATE};
use shallop_topology::fabric::Largest;

const DOWN: Form = Form::Section(keys::<DownOptions>());
const CHANGE: Form = Form::Section(keys::<ChangeOptions>());

/// How equal paths are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ecmp {
    Symmetric,
    Asymmetric,
}

words! { Ecmp { Symmetric = "symmetric", Asymmetric = "asymmetric" } }

options! {
    /// What every topology has.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct AnyTopology {
        /// The kind of topology.
        other kind [Text], required;
        /// Whether both directions of a flow take the same links where there are several shortest paths.
        key ecmp: Ecmp = Ecmp::Symmetric;
    }
}

options! {
    /// A network drawn by hand.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct GraphOptions {
        /// Hosts and switches.
        sections node: NodeOptions, required;
        /// Links between two nodes.
        sections link: LinkOptions, required;
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Host,
    Switch,
}

words! { Node { Host = "host", Switch = "switch" } }

impl From<Node> for NodeKind {
    fn from(node: Node) -> Self {
        match node {
            Node::Host => Self::Host,
            Node::Switch => Self::Switch,
        }
    }
}

options! {
    /// A node of a graph.
    #[derive(Clone, Debug)]
    pub(super) struct NodeOptions {
        /// The name of the node.
        required name: String;
        /// Whether the node is a host or a switch.
        required kind: Node;
        /// For a switch, the `[switch.NAME]` that describes it.
        key switch: Option<String> = None, "\"default\"";
    }
}

options! {
    /// A link of a graph.
    #[derive(Clone, Debug)]
    pub(super) struct LinkOptions {
        /// The two nodes that the link joins.
        required between: Vec<String>;
        /// The rate of each direction.
        required rate: BitsPerSec [= RATE];
        /// The propagation delay.
        required delay: Span [= DELAY];
        /// The largest packet.
        part largest: Largest = ();
        /// The probability that the link loses a packet.
        key loss: f64 [Number(0.0, 1.0)] = 0.0;
        /// Each packet arrives later by a time drawn uniformly from zero to this.
        key jitter: Span [= DELAY] = Span::ZERO;
        /// The probability that others overtake a packet.
        key reordering: f64 [Number(0.0, 1.0)] = 0.0;
        /// Such a packet arrives later by a time drawn uniformly from zero to this.
        key reordering_delay: Span [= DELAY] = Span::from_ms(1), "\"1ms\"";
        /// The probability that a packet arrives twice.
        key duplicates: f64 [Number(0.0, 1.0)] = 0.0;
        /// When nothing passes and what is on the wire is lost: `[{ at = "2s", lasts = "500ms", every = "10s" }]`.
        other down [List(&DOWN)];
        /// Changes of rate and delay at given times, such as `[{ at = "1s", rate = "2Gbps" }]`.
        other changes [List(&CHANGE)];
    }
}

options! {
    /// A change of a link.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct ChangeOptions {
        /// The time of the change.
        required at: Span [Time(Span::ZERO, DAY)];
        /// The rate from then on.
        key rate: Option<BitsPerSec> [= RATE] = None, "as before";
        /// The delay from then on.
        key delay: Option<Span> [= DELAY] = None, "as before";
    }
}

options! {
    /// A time at which a link is down.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct DownOptions {
        /// When it begins.
        required at: Span [Time(Span::ZERO, DAY)];
        /// How long it lasts.
        required lasts: Span [Time(Span::from_ps(1), DAY)];
        /// How long after its beginning it begins again; longer than it lasts.
        key every: Option<Span> [Time(Span::from_ps(1), DAY)] = None, "it does not";
    }
}

options! {
    /// Switches and links from a file, with hosts.
    #[derive(Clone, Debug)]
    pub(super) struct FileOptions {
        /// The file, beside the scenario: .graphml, .gml or .csv.
        required file: String;
        /// The number of hosts at each node: `NODE.h0` and so on.
        key hosts: usize [= COUNT] = 1;
        /// The nodes that have hosts.
        key hosts_at: Option<Vec<String>> = None, "all";
        /// The rate of the links to hosts.
        key access_rate: Option<BitsPerSec> [= RATE] = None, "the rate of the fastest link";
        /// The delay of the links to hosts.
        key access_delay: Span [= DELAY] = Span::ZERO;
        /// The rate of links for which the file has none.
        key default_rate: Option<BitsPerSec> [= RATE] = None, "such links are an error";
        /// The delay of links for which the file has neither a delay nor coordinates.
        key default_delay: Option<Span> [= DELAY] = None, "such links are an error";
        /// The length of fibres as a multiple of the great circle between their ends.
        key path_factor: f64 [Number(1.0, 10.0)] = 1.0;
        /// The `[switch.NAME]` that describes the nodes.
        key switch: Option<String> = None, "\"default\"";
        /// The largest packet.
        part largest: Largest = ();
    }
}
