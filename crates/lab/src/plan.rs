//! A scenario, checked: every name resolved, every quantity in its unit, every default filled in. What a run needs and
//! nothing more; where a value stood in the text is forgotten by now.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallop_control::any as window;
use shallop_control::{expresspass, flashpass};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_proto::{expresspass::StopPolicy, tcp};
use shallop_sim::{NicMode, NodeKind};

use crate::campus::Campus;
use crate::fabrics::{CrossDc, FatTree, LeafSpine, ThreeDc};
use crate::files::Files;
use crate::import::Imported;
use crate::proxy::Clean;
pub use crate::switches::{Accounting, Bcc, Marking, Shared, Switch};
use crate::tally::Classes;
use crate::workload::Sizes;

/// A scenario ready to run, under each of its schemes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is called in tables.
    pub title: String,
    /// The run seed, unless another is asked for.
    pub seed: u64,
    /// When a run ends at the latest. It ends earlier if every flow is complete.
    pub duration: Span,
    /// Time between the rows of the series.
    pub sample: Span,
    /// Parts of the run that are reported by themselves, from and to.
    pub windows: Vec<(Span, Span)>,
    /// Length of the windows in which fairness is followed.
    pub fairness: Span,
    /// The network.
    pub topology: Topology,
    /// Whether both directions of a flow take the same links where there is a choice.
    pub symmetric: bool,
    /// What switches are like, by name; links' ports take after the switch they belong to.
    pub switches: Vec<Switch>,
    /// How hosts' links take packets from their ends.
    pub nic: NicMode,
    /// The buffer of a host's link, used where `nic` is a queue.
    pub nic_buffer: BufferSize,
    /// Depth of the queue of credits or emulation packets of a host's link; `None` for that of a switch.
    pub nic_credit_queue: Option<BufferSize>,
    /// Each packet of a host takes up to this much longer.
    pub nic_jitter: Span,
    /// How long queues and pools held more than each of these is reported.
    pub levels: Vec<Bytes>,
    /// Sets of links whose packets are captured, and how many packets at most.
    pub capture: (Vec<String>, u64),
    /// The traffic.
    pub groups: Vec<Group>,
    /// Where small flows are told from large ones, if they are.
    pub classes: Option<Classes>,
    /// What is compared.
    pub schemes: Vec<Scheme>,
}

impl Plan {
    /// The transport of a group under a scheme, both by their indices.
    #[must_use]
    pub fn transport(&self, scheme: usize, group: usize) -> &Scheme {
        self.groups[group].transport.as_ref().unwrap_or(&self.schemes[scheme])
    }

    /// What switches are like under a scheme, by its index.
    #[must_use]
    pub fn switches(&self, scheme: usize) -> &[Switch] {
        self.schemes[scheme].switches.as_ref().unwrap_or(&self.switches)
    }

    /// How many flows there will be.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| group.flows).sum()
    }

    /// How many of them are judged by their completion: when these are complete the run ends. `None` if some never
    /// end.
    #[must_use]
    pub fn judged(&self) -> Option<usize> {
        let finite = self.groups.iter().all(Group::ends);
        let judged = |group: &Group| group.flows.saturating_sub(group.edges.0 + group.edges.1);
        finite.then(|| self.groups.iter().map(judged).sum())
    }
}

/// The shape of a network.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Hosts `s0`, `s1` and so on, a switch `left`, the bottleneck, and one host `r0`, or a switch `right` and several.
    Dumbbell {
        /// Rate of the bottleneck, and of the links to hosts.
        rate: (BitsPerSec, BitsPerSec),
        /// Delay of the bottleneck.
        delay: Span,
        /// Delays of the senders' links.
        senders: Delays,
        /// How many hosts there are on the right.
        receivers: usize,
        /// The largest packet at IP.
        mtu: Bytes,
    },
    /// Switches `p0`, `p1` and so on in a row, with hosts `p0h0`, `p0h1` and so on at each.
    ParkingLot {
        /// Rate of the chain, and of the links to hosts.
        rate: (BitsPerSec, BitsPerSec),
        /// Delay of each link of the chain, and of the links to hosts.
        delay: (Span, Span),
        /// Links in the chain.
        hops: usize,
        /// Hosts at each switch.
        hosts: usize,
        /// The largest packet at IP.
        mtu: Bytes,
    },
    /// Nodes and links as they were written.
    Graph {
        /// By node number.
        nodes: Vec<GraphNode>,
        /// By link number.
        links: Vec<GraphLink>,
    },
    /// Three data centres, joined pairwise.
    ThreeDc(ThreeDc),
    /// Two tiers of switches.
    LeafSpine(LeafSpine),
    /// Three tiers of switches.
    FatTree(FatTree),
    /// Two data centres and one link between them.
    CrossDc(CrossDc),
    /// From the cloud to the stations of access points.
    Campus(Campus),
    /// Switches and links from a file, with hosts.
    File(Imported),
}

/// Delays of a number of links.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// One for each.
    Each(Vec<Span>),
    /// So many, each drawn uniformly between two bounds.
    Drawn(usize, Span, Span),
}

impl Delays {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Each(delays) => delays.len(),
            Self::Drawn(count, ..) => *count,
        }
    }
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// For a switch, what it is like: an index into [`Plan::switches`].
    pub switch: usize,
}

/// A link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// The nodes it joins, by number.
    pub between: (usize, usize),
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Span,
    /// The largest packet at IP.
    pub mtu: Bytes,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Each packet takes up to this much longer.
    pub jitter: Span,
    /// What the link becomes, and when: rate and delay.
    pub changes: Vec<(Span, Option<BitsPerSec>, Option<Span>)>,
}

/// Some traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Hosts that send, by node number.
    pub from: Vec<u32>,
    /// Hosts that receive, likewise.
    pub to: Vec<u32>,
    /// Who of them sends to whom.
    pub pattern: Pattern,
    /// How many flows.
    pub flows: usize,
    /// Their payload bytes; `None` without end.
    pub sizes: Option<Sizes>,
    /// When they start.
    pub start: Starts,
    /// Their transport with its label, where it is not that of the scheme.
    pub transport: Option<Scheme>,
    /// So many of the first flows, and of the last, only make the load: they are not judged.
    pub edges: (usize, usize),
    /// Its flows use connections that earlier ones between the same hosts have left idle.
    pub keeps: bool,
}

impl Group {
    /// Whether its flows have an end.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.sizes.is_some() || matches!(self.start, Starts::Trace(_))
    }

    /// Whether the flow of this number, in the order of their starts, is judged.
    #[must_use]
    pub fn counts(&self, number: usize) -> bool {
        number >= self.edges.0 && number + self.edges.1 < self.flows
    }
}

/// Hosts that send, hosts that receive, and the weight of their pairs together.
pub type Entry = (Vec<u32>, Vec<u32>, f64);

/// Who of a group's hosts sends to whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pattern {
    /// The flows take senders and receivers in turn.
    #[default]
    Turn,
    /// Both drawn uniformly.
    Uniform,
    /// Likewise, but never within one site.
    OtherSite,
    /// So many senders at a time, drawn, to one receiver.
    Incast(usize),
    /// Every host sends to one other, which is drawn once.
    Permutation,
    /// Every pair in turn.
    AllToAll,
    /// Pairs of sets with their weights.
    Matrix(Vec<Entry>),
}

/// When the flows of a group start.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// All at once.
    At(Span),
    /// One after the other, so far apart.
    Every(Span, Span),
    /// Each at a time drawn uniformly between two bounds.
    Drawn(Span, Span),
    /// At random, as in a Poisson process, from a time on.
    Poisson(Intensity, Span),
    /// Likewise in periods of activity, with silences between: the mean lengths of both.
    OnOff(Intensity, Span, (Span, Span)),
    /// So many at once, the first and then every so often.
    Bursts(u32, Span, Span),
    /// As a file says, which says as well who sends how much to whom.
    Trace(Trace),
}

/// A file of flows that was looked through once. It is read again, row by row, as the run goes on.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name in the scenario.
    pub name: String,
    /// Where it is.
    pub files: Arc<dyn Files>,
    /// Who sends to whom in it, by node number.
    pub pairs: BTreeSet<(u32, u32)>,
    /// A hash of its rows.
    pub digest: u64,
}

/// Traces are the same if their rows are.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, &self.pairs) == (&other.digest, &other.pairs)
    }
}

/// How many flows start.
#[derive(Clone, Debug, PartialEq)]
pub enum Intensity {
    /// So many in a second.
    PerSecond(f64),
    /// As many as offer this part of the capacity of a set of links as payload (docs/workloads.md, "load").
    Load(f64, String),
}

/// Something to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Its label.
    pub name: String,
    /// The transport of all flows but those of groups with their own.
    pub transport: Transport,
    /// What switches are like under it, in the order of [`Plan::switches`], if it sets any of that.
    pub switches: Option<Vec<Switch>>,
    /// The proxy that answers marks for senders under it, if there is one.
    pub clean: Option<Clean>,
}

/// A transport with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP with a window controller.
    Tcp {
        /// The hosts' TCP; the segment size follows from the path.
        config: tcp::Config,
        /// The controller.
        controller: window::Config,
    },
    /// `ExpressPass`.
    ExpressPass(ExpressPass),
    /// `FlashPass`.
    FlashPass(FlashPass),
    /// Packets at a constant rate.
    Udp(Udp),
}

impl Transport {
    /// How data is sent before any credit, if it is.
    #[must_use]
    pub fn aeolus(&self) -> Option<Aeolus> {
        match self {
            Self::Tcp { .. } | Self::Udp(_) => None,
            Self::ExpressPass(config) => config.aeolus,
            Self::FlashPass(config) => config.aeolus,
        }
    }
}

/// The numbers of packets at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// On the wire; `None` for that of the sender's link.
    pub rate: Option<BitsPerSec>,
    /// Whether they say that they understand marks.
    pub ect: bool,
}

/// The numbers of `ExpressPass`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPass {
    /// The feedback rule.
    pub rule: ExpressPassRule,
    /// When credits end.
    pub stop: StopPolicy,
    /// Largest deviation of the gap between credits, as a fraction of it.
    pub jitter: f64,
    /// The largest credit; sizes are drawn uniformly from 84 B to this.
    pub largest_credit: Bytes,
    /// After this long a request or a report of lost data is repeated.
    pub timeout: Span,
    /// What is sent before any credit, if anything is.
    pub aeolus: Option<Aeolus>,
    /// Whether credits are asked for a base round trip before the data is there (docs/aeolus.md, "The ideal").
    pub ahead: bool,
    /// The send buffer, if the sender knows of its demand only what is in it.
    pub send_buffer: Option<Bytes>,
}

/// The numbers of Aeolus's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aeolus {
    /// The most that is sent without a credit; `None` for what the sender's link carries while the burst may last.
    pub burst: Option<Bytes>,
    /// When the burst ends.
    pub until: BurstUntil,
}

/// When a burst ends, unless it has reached its cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BurstUntil {
    /// At the first answer.
    #[default]
    FirstResponse,
    /// When the first credit may be used: in `FlashPass` a waiting time after the start.
    FirstData,
}

/// A feedback rule of `ExpressPass`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpressPassRule {
    /// That of the public code.
    Code(expresspass::CodeConfig),
    /// That of the 2017 paper.
    Paper(expresspass::PaperConfig),
}

/// The numbers of `FlashPass`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashPass {
    /// The feedback law.
    pub law: FlashPassLaw,
    /// From emulation packet to data packet; `None` for the largest base round trip of the network with a margin.
    pub wait: Option<Span>,
    /// Whether a waiting time below the largest base round trip is meant.
    pub force_wait: bool,
    /// Epochs in a round trip.
    pub epochs: u32,
    /// Emulation packets are sent up to this fraction of their gap early or late.
    pub jitter: f64,
    /// Timestamps in a credit packet.
    pub batch: u8,
    /// Whether emulation goes on, tagged, when enough credits are expected.
    pub over_provision: bool,
    /// The loss that tagging counts on at least.
    pub expected_loss: f64,
    /// Data not acknowledged for this long is taken for lost.
    pub timeout: Span,
    /// What is sent before any credit, if anything is.
    pub aeolus: Option<Aeolus>,
    /// The send buffer, if the sender knows of its demand only what is in it.
    pub send_buffer: Option<Bytes>,
}

/// A feedback law of `FlashPass`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlashPassLaw {
    /// Algorithm 1 of the paper.
    Mimd(flashpass::MimdConfig),
    /// Ours.
    Aimd(flashpass::AimdConfig),
}
