//! A plan: a checked scenario, with every name resolved, every quantity in its unit and every default filled in. It has
//! what a run needs and no positions in the text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Share, Span};
use shallop_options::string_enum;
use shallop_switch::Outage;
use shallop_topology::{AnyFabric, Imported, NicMode, NodeKind};

use crate::files::Files;
use crate::kernel::KernelOptions;
use crate::proxy::Clean;
pub use crate::switches::{Accounting, Bcc, QueueMarking, Shared, Switch};
pub use crate::transport::{
    Aeolus, BurstUntil, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Tcp, Transport, Udp,
};
use shallop_workload::Sizes;

/// The default limit of captured packets.
pub const CAPTURE_LIMIT: u64 = 1_000_000;

/// The choice among several shortest paths (equal-cost multi-path routing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecmp {
    /// Both directions of a flow take the same links.
    Symmetric,
    /// Each direction is hashed by itself.
    Asymmetric,
}

string_enum! { Ecmp { Symmetric = "symmetric", Asymmetric = "asymmetric" } }

/// The connections of a group of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A new connection for each flow.
    New,
    /// An idle connection of an earlier flow between the two hosts, if there is one.
    Kept,
}

string_enum! { Connections { New = "new", Kept = "kept" } }

/// A scenario ready to run, under each of its schemes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub title: String,
    pub seed: u64,
    /// The longest duration of a run. A run ends earlier when every counted flow that starts in it is complete.
    pub duration: Span,
    /// The sampling interval of time series.
    pub sample: Span,
    /// Windows of the run with results of their own: (start, end).
    pub windows: Vec<(Span, Span)>,
    /// The length of the windows in which convergence to fairness is measured.
    pub fairness_window: Span,
    pub topology: Topology,
    pub ecmp: Ecmp,
    /// Configurations of switches. A port has the configuration of its switch.
    pub switches: Vec<Switch>,
    /// How a host's link serves its endpoints: in turn, or from one FIFO queue.
    pub nic: NicMode,
    /// The buffer of a host's link, with `nic = "fifo"`.
    pub nic_buffer: BufferSize,
    /// Limit of the queue of credits or emulation packets at hosts; `None` for the transport's default.
    pub nic_credit_queue: Option<BufferSize>,
    /// Packets of a host are delayed at random by up to this much. `None` for the time of a full frame on the slowest
    /// link, which is enough to keep equal flows out of lockstep at a full queue (Floyd and Jacobson, 1991).
    pub nic_jitter: Option<Span>,
    /// Options of hosts that are real kernels.
    pub kernel: KernelOptions,
    pub driver: Driver,
    /// For each of these levels, results have the time that queues and pools were above it.
    pub levels: Vec<Bytes>,
    /// The sets of links whose packets are captured, and the most packets to capture.
    pub capture: (Vec<String>, u64),
    pub groups: Vec<Group>,
    /// Bounds of small and large flows, for results by size.
    pub classes: Option<Classes>,
    pub schemes: Vec<Scheme>,
}

impl Plan {
    /// The transport of a group under a scheme; both are indices.
    pub fn transport(&self, scheme: usize, group: usize) -> &Scheme {
        self.groups[group].transport.as_ref().unwrap_or(&self.schemes[scheme])
    }

    /// Whether any flow of this scheme is between real kernels.
    pub fn has_kernels(&self, scheme: usize) -> bool {
        (0..self.groups.len()).any(|group| self.kernel(scheme, group).is_some())
    }

    /// The name in scenarios of the TCP controller of a group's kernel hosts; `None` if they are no kernels. Programs
    /// with `FlashPass` run in kernel hosts whose own connections use `CONTROLLER_OF_PROGRAMS`.
    pub fn kernel(&self, scheme: usize, group: usize) -> Option<&'static str> {
        let transport = &self.transport(scheme, group).transport;
        let has_own =
            matches!(transport, Transport::FlashPass(_)) && self.groups[group].command.is_some();
        transport.kernel().or(has_own.then_some(CONTROLLER_OF_PROGRAMS))
    }

    /// Whether any group runs programs in its hosts.
    pub fn has_programs(&self) -> bool {
        self.groups.iter().any(|group| group.command.is_some())
    }

    /// The configurations of switches under this scheme.
    pub fn switches(&self, scheme: usize) -> &[Switch] {
        self.schemes[scheme].switches.as_ref().unwrap_or(&self.switches)
    }

    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| group.flows).sum()
    }

    /// The number of counted flows, if `starting` flows of each group start before the run ends; the run may end when
    /// these are complete. `None` if a flow has no end, or if no flow that starts is counted.
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

/// What runs a plan. Both drivers have the same simulated switches and the same results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The simulator, in virtual time.
    #[default]
    Simulator,
    /// A rehearsal in real time: kernel hosts are network namespaces of this machine.
    Rehearsal {
        /// The file to which the packets of hosts are recorded, if any.
        tape: Option<String>,
        /// Network interfaces of this machine that stand for hosts.
        attached: Vec<Attachment>,
    },
}

/// A network interface of this machine that stands for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub interface: String,
    pub host: String,
}

/// Bounds of small and large flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Flows with at most this much payload are small.
    pub small: Bytes,
    /// Flows with more payload than this are large.
    pub large: Bytes,
}

/// Nodes and links of a network.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A fabric that is built from a few options.
    Fabric(AnyFabric),
    /// Nodes and links that the scenario lists.
    Graph { nodes: Vec<GraphNode>, links: Vec<GraphLink> },
    /// Switches and links from a file, with generated hosts.
    File(Imported),
    /// A topology whose link rates are multiplied by a share.
    Scaled { by: Share, of: Box<Self> },
}

impl<T: Into<AnyFabric>> From<T> for Topology {
    fn from(fabric: T) -> Self {
        Self::Fabric(fabric.into())
    }
}

/// A node that a scenario lists.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    pub name: String,
    pub kind: NodeKind,
    /// Index of a switch's configuration in [`Plan::switches`].
    pub switch: usize,
}

/// A link that a scenario lists.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// Indices of the two nodes.
    pub between: (usize, usize),
    pub rate: BitsPerSec,
    pub delay: Span,
    pub mtu: Bytes,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Packets are delayed at random by up to this much.
    pub jitter: Span,
    /// Probability that a packet is delayed so that others overtake it, and the longest such delay.
    pub reordering: (f64, Span),
    pub duplicates: f64,
    /// Outages: periods in which no packet passes.
    pub down: Vec<Outage>,
    /// Changes of the link: (time, new rate, new delay).
    pub changes: Vec<(Span, Option<BitsPerSec>, Option<Span>)>,
}

impl GraphLink {
    /// Whether the link loses, duplicates or delays packets at random, has outages, or changes during the run.
    pub fn is_impaired(&self) -> bool {
        [self.loss, self.reordering.0, self.duplicates].iter().any(|&of| of > 0.0)
            || !self.jitter.is_zero()
            || !self.down.is_empty()
            || !self.changes.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub name: String,
    pub from: Vec<u32>,
    pub to: Vec<u32>,
    pub pattern: Pattern,
    pub flows: usize,
    /// Distribution of flow sizes in payload bytes; `None` for flows without end.
    pub sizes: Option<Sizes>,
    pub start: Starts,
    /// The group's transport and its label; `None` for the transport of the scheme.
    pub transport: Option<Scheme>,
    /// How many of the first and of the last flows are not counted: warm-up and cool-down.
    pub uncounted: (usize, usize),
    pub connections: Connections,
    /// The program that runs in each host of `from` and talks to hosts of `to`, instead of generated flows.
    pub command: Option<Command>,
}

impl Group {
    /// Whether every flow of the group has an end.
    pub fn is_finite(&self) -> bool {
        self.sizes.is_some() || matches!(self.start, Starts::Trace(_))
    }

    /// Whether the flow with this number, counted from 0 in order of start, is counted in results.
    pub fn counts(&self, number: usize) -> bool {
        number >= self.uncounted.0 && number + self.uncounted.1 < self.flows
    }
}

/// Senders, receivers, and the total weight of all pairs between them.
pub type MatrixEntry = (Vec<u32>, Vec<u32>, f64);

/// Which hosts of a group send to which.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pattern {
    /// Flow i goes from sender i to receiver i, each modulo its number of hosts.
    #[default]
    RoundRobin,
    /// Sender and receiver are drawn uniformly.
    Uniform,
    /// Sender and receiver are drawn uniformly from different sites.
    OtherSite,
    /// This many senders, drawn at random, send to one receiver at a time.
    Incast(usize),
    /// Every host sends to one other host, which is drawn once.
    Permutation,
    AllToAll,
    /// A traffic matrix: weights of sets of senders and receivers.
    Matrix(Vec<MatrixEntry>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// All flows start at this time.
    At(Span),
    /// Flows start one after the other: first start, and gap.
    Every(Span, Span),
    /// Each start is drawn uniformly between two bounds.
    Drawn(Span, Span),
    /// A Poisson process that begins at this time.
    Poisson(Intensity, Span),
    /// A Poisson process that is interrupted: beginning, and mean lengths of its on and off periods.
    OnOff(Intensity, Span, (Span, Span)),
    /// Bursts of this many flows: size, first burst, and gap.
    Bursts(u32, Span, Span),
    /// The flows that a file lists, with their hosts and sizes.
    Trace(Trace),
}

/// A file that lists flows. It was read once to make the plan, and is read again row by row during the run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name in the scenario.
    pub name: String,
    pub files: Arc<dyn Files>,
    /// Payload bytes by (sender, receiver) of all flows that start before the run ends.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// The number of its flows that start after the run has ended.
    pub late: usize,
    pub digest: u64,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, &self.pairs) == (&other.digest, &other.pairs)
    }
}

/// The TCP controller of kernel hosts whose programs send by another transport.
const CONTROLLER_OF_PROGRAMS: &str = "cubic";
/// The name of this program, as commands of scenarios write it.
const OWN: &str = "shallop";

/// A program of this machine that runs in kernel hosts.
#[derive(Clone)]
pub struct Command {
    /// Its name or path, and its arguments. Empty if programs are started only from terminals that join the session.
    pub words: Vec<String>,
    /// The scenario's files, which the program may read.
    pub files: Arc<dyn Files>,
    /// Whether it is an interactive shell.
    pub is_shell: bool,
}

impl Command {
    /// Placeholder in arguments for the name of the host that the program talks to.
    pub const OTHER_HOST: &str = "{to}";

    /// The command for a program that talks to the host `other`. A command `shallop` becomes `own`, the path of the
    /// running executable.
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

/// How often flows with random arrivals start.
#[derive(Clone, Debug, PartialEq)]
pub enum Intensity {
    /// Flows per second.
    PerSecond(f64),
    /// Offered load: payload as a fraction of the capacity of the named set of links (docs/workloads.md, "load").
    Load(f64, String),
}

/// A transport with settings of switches, which a scenario compares with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    pub name: String,
    /// The transport of all groups that have none of their own.
    pub transport: Transport,
    /// Configurations of switches that replace [`Plan::switches`], in the same order; `None` if the scheme changes
    /// none.
    pub switches: Option<Vec<Switch>>,
    /// The CLEAN proxy, if the scheme has one.
    pub clean: Option<Clean>,
}
