//! A plan: a checked scenario, with every name resolved, every quantity in its unit and every default filled in. It has
//! what a run needs and no positions in the text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Share, Span};
use shallop_switch::Outage;
use shallop_topology::{AnyFabric, Imported, NicMode, NodeKind};

use crate::files::Files;
use crate::kernel::KernelOptions;
use crate::proxy::Clean;
pub use crate::switches::{Accounting, Bcc, Marking, Shared, Switch};
pub use crate::transport::{
    Aeolus, BurstUntil, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Tcp, Transport, Udp,
};
use shallop_workload::Sizes;

/// The default limit of captured packets.
pub const CAPTURE_LIMIT: u64 = 1_000_000;

/// A scenario ready to run, under each of its schemes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The title in tables.
    pub title: String,
    /// The default run seed.
    pub seed: u64,
    /// The longest duration of a run. It ends earlier if every counted flow that starts by then is complete.
    pub duration: Span,
    /// The sampling interval of time series.
    pub sample: Span,
    /// Windows of the run with results of their own: their start and end.
    pub windows: Vec<(Span, Span)>,
    /// The length of the windows in which convergence to fairness is measured.
    pub fairness: Span,
    /// The network.
    pub topology: Topology,
    /// Whether both directions of a flow take the same links (symmetric ECMP).
    pub symmetric: bool,
    /// The configurations of switches, by name. A port has the configuration of its switch.
    pub switches: Vec<Switch>,
    /// How hosts' links take packets from their endpoints.
    pub nic: NicMode,
    /// The buffer of a host's link, with `nic = "fifo"`.
    pub nic_buffer: BufferSize,
    /// The depth of the queue of credits or emulation packets at hosts; `None` for the transport's default.
    pub nic_credit_queue: Option<BufferSize>,
    /// The jitter of hosts: a packet of a host takes up to this much longer. `None` for the time of a full frame on the
    /// slowest link, enough to keep equal flows out of lockstep with a full queue (Floyd and Jacobson, 1991).
    pub nic_jitter: Option<Span>,
    /// Hosts that are real kernels.
    pub kernel: KernelOptions,
    /// What runs it.
    pub driver: Driver,
    /// The levels for which the time of queues and pools above them is reported.
    pub levels: Vec<Bytes>,
    /// The sets of links whose packets are captured, and the limit of packets.
    pub capture: (Vec<String>, u64),
    /// The traffic.
    pub groups: Vec<Group>,
    /// The size classes of flows, if there are any.
    pub classes: Option<Classes>,
    /// The schemes.
    pub schemes: Vec<Scheme>,
}

impl Plan {
    /// The transport of a group under a scheme, both by their indices.
    pub fn transport(&self, scheme: usize, group: usize) -> &Scheme {
        self.groups[group].transport.as_ref().unwrap_or(&self.schemes[scheme])
    }

    /// Whether any flow of a scheme, given by its index, is between real kernels.
    pub fn has_kernels(&self, scheme: usize) -> bool {
        (0..self.groups.len()).any(|group| self.kernel(scheme, group).is_some())
    }

    /// The controller of TCP, by its name in scenarios, of a group whose hosts are real kernels under a scheme. With
    /// `FlashPass` those of programs are, whose own packets are that transport.
    pub fn kernel(&self, scheme: usize, group: usize) -> Option<&'static str> {
        let transport = &self.transport(scheme, group).transport;
        let has_own =
            matches!(transport, Transport::FlashPass(_)) && self.groups[group].command.is_some();
        transport.kernel().or(has_own.then_some(CONTROLLER_OF_PROGRAMS))
    }

    /// Whether programs run in hosts.
    pub fn has_programs(&self) -> bool {
        self.groups.iter().any(|group| group.command.is_some())
    }

    /// The configurations of switches under a scheme, by its index.
    pub fn switches(&self, scheme: usize) -> &[Switch] {
        self.schemes[scheme].switches.as_ref().unwrap_or(&self.switches)
    }

    /// The number of flows.
    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| group.flows).sum()
    }

    /// The number of counted flows if so many of each group start; the run ends when these are complete. `None` if some
    /// flows have no end, or none of those that start is counted.
    pub fn counted_flows(&self, starting: &[usize]) -> Option<usize> {
        let finite = self.groups.iter().all(Group::is_finite);
        let counted = |(group, starting): (&Group, &usize)| {
            let end = group.flows.saturating_sub(group.uncounted.1).min(*starting);
            end.saturating_sub(group.uncounted.0)
        };
        let counted = self.groups.iter().zip(starting).map(counted).sum();
        (finite && counted > 0).then_some(counted)
    }
}

/// What runs a plan: both have the same switches, and give the same results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The simulator, in virtual time.
    #[default]
    Simulator,
    /// A rehearsal in real time: hosts that are real kernels are namespaces of this machine.
    Rehearsal {
        /// The file of what hosts sent and got, if it is to be kept.
        tape: Option<String>,
        /// Interfaces of this machine in the place of hosts.
        attached: Vec<Attachment>,
    },
}

/// An interface of this machine in the place of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the interface.
    pub interface: String,
    /// The name of the host.
    pub host: String,
}

/// The size classes of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Small flows have up to this much payload.
    pub small: Bytes,
    /// Large ones have more than this.
    pub large: Bytes,
}

/// The topology of a network.
#[derive(Clone, Debug)]
pub enum Topology {
    /// One that is built from a few options.
    Fabric(AnyFabric),
    /// Nodes and links as they were written.
    Graph {
        /// The nodes, by number.
        nodes: Vec<GraphNode>,
        /// The links, by number.
        links: Vec<GraphLink>,
    },
    /// Switches and links from a file, with hosts.
    File(Imported),
    /// Another with a part of its rates.
    Scaled {
        /// The part.
        by: Share,
        /// The other.
        of: Box<Self>,
    },
}

impl<T: Into<AnyFabric>> From<T> for Topology {
    fn from(fabric: T) -> Self {
        Self::Fabric(fabric.into())
    }
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// The configuration of a switch, an index into [`Plan::switches`].
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
    /// The MTU: the largest IP packet.
    pub mtu: Bytes,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// The jitter: a packet takes up to this much longer.
    pub jitter: Span,
    /// Probability that others overtake a packet, and how much later it arrives then at most.
    pub reordering: (f64, Span),
    /// Probability that a packet arrives twice.
    pub duplicates: f64,
    /// When nothing passes.
    pub down: Vec<Outage>,
    /// Changes of the link: time, new rate and new delay.
    pub changes: Vec<(Span, Option<BitsPerSec>, Option<Span>)>,
}

impl GraphLink {
    /// Whether it loses, repeats or delays packets at random, is down for a while, or changes during the run.
    pub fn is_impaired(&self) -> bool {
        [self.loss, self.reordering.0, self.duplicates].iter().any(|&of| of > 0.0)
            || !self.jitter.is_zero()
            || !self.down.is_empty()
            || !self.changes.is_empty()
    }
}

/// A group of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The hosts of senders, by node number.
    pub from: Vec<u32>,
    /// The hosts of receivers, by node number.
    pub to: Vec<u32>,
    /// The traffic pattern between them.
    pub pattern: Pattern,
    /// The number of flows.
    pub flows: usize,
    /// The distribution of payload bytes; `None` without end.
    pub sizes: Option<Sizes>,
    /// The start times.
    pub start: Starts,
    /// The transport with its label, if it is not that of the scheme.
    pub transport: Option<Scheme>,
    /// The numbers of first and last flows that are not counted: the warm-up and the cool-down.
    pub uncounted: (usize, usize),
    /// Whether flows reuse idle connections of earlier flows between the same hosts.
    pub keeps_connections: bool,
    /// The program that runs in each host of `from` and talks to those of `to`, in place of traffic of ours.
    pub command: Option<Command>,
}

impl Group {
    /// Whether its flows have an end.
    pub fn is_finite(&self) -> bool {
        self.sizes.is_some() || matches!(self.start, Starts::Trace(_))
    }

    /// Whether the flow with this number, in order of start, is counted.
    pub fn counts(&self, number: usize) -> bool {
        number >= self.uncounted.0 && number + self.uncounted.1 < self.flows
    }
}

/// Senders, receivers, and the total weight of their pairs.
pub type MatrixEntry = (Vec<u32>, Vec<u32>, f64);

/// A traffic pattern: the pairs of sender and receiver in a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pattern {
    /// Flows take senders and receivers in round robin.
    #[default]
    RoundRobin,
    /// Sender and receiver are uniform.
    Uniform,
    /// Sender and receiver are uniform, at different sites.
    OtherSite,
    /// This number of random senders at a time send to one receiver.
    Incast(usize),
    /// Every host sends to one other host, chosen once.
    Permutation,
    /// All pairs in round robin.
    AllToAll,
    /// A traffic matrix: sets of senders and receivers with weights.
    Matrix(Vec<MatrixEntry>),
}

/// When the flows of a group start.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// All at once.
    At(Span),
    /// One after the other: the first start and the gap.
    Every(Span, Span),
    /// Each uniform between two bounds.
    Drawn(Span, Span),
    /// A Poisson process from a time on.
    Poisson(Intensity, Span),
    /// An on/off process from a time on: a Poisson process in on periods. The mean lengths of on and off periods.
    OnOff(Intensity, Span, (Span, Span)),
    /// Bursts of this number of flows: the first start and the gap.
    Bursts(u32, Span, Span),
    /// The flows of a trace, with their hosts and sizes.
    Trace(Trace),
}

/// A trace: a file of flows. It was read once for the plan, and is read again row by row during the run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name in the scenario.
    pub name: String,
    /// The source of the file.
    pub files: Arc<dyn Files>,
    /// The pairs of sender and receiver in it, by node number, with the bytes of their flows that start before the run
    /// ends.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// The number of its flows that start when the run has ended.
    pub late: usize,
    /// A hash of its rows.
    pub digest: u64,
}

/// Traces are equal if their rows are.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, &self.pairs) == (&other.digest, &other.pairs)
    }
}

/// The controller of TCP in hosts whose programs are to send by another transport.
const CONTROLLER_OF_PROGRAMS: &str = "cubic";
/// The name of the program that runs scenarios.
const OWN: &str = "shallop";

/// A program of this machine, for hosts that are kernels.
#[derive(Clone)]
pub struct Command {
    /// Its name or path, and its arguments. Empty if terminals that join a session start programs.
    pub words: Vec<String>,
    /// The scenario's files, which it may read.
    pub files: Arc<dyn Files>,
    /// Whether it is a shell for somebody who types its input.
    pub is_shell: bool,
}

impl Command {
    /// What stands in a word for the name of the other host of a program.
    pub const OTHER_HOST: &str = "{to}";

    /// The words for a program whose other host has this name. `shallop` is the program that runs, whose
    /// path is `own`.
    pub fn words_for(&self, other: &str, own: Option<&str>) -> Vec<String> {
        let mut words: Vec<String> =
            self.words.iter().map(|word| word.replace(Self::OTHER_HOST, other)).collect();
        let own = own.filter(|path| path.rsplit('/').next() == Some(OWN));
        if let (Some(first), Some(own)) =
            (words.first_mut().filter(|word| word.as_str() == OWN), own)
        {
            own.clone_into(first);
        }
        words
    }
}

/// Commands are equal if their words are.
impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words.fmt(f)
    }
}

/// The intensity of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub enum Intensity {
    /// Flows per second.
    PerSecond(f64),
    /// The offered load: payload as a fraction of the capacity of a set of links (docs/workloads.md, "load").
    Load(f64, String),
}

/// A scheme: a transport with settings of switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Its label.
    pub name: String,
    /// The transport of all flows but those of groups with their own.
    pub transport: Transport,
    /// The configurations of switches under it, in the order of [`Plan::switches`], if it changes any.
    pub switches: Option<Vec<Switch>>,
    /// The CLEAN proxy under it, if there is one.
    pub clean: Option<Clean>,
}
