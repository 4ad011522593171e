//! A plan: a checked scenario, with every name resolved, every quantity in its unit and every default filled in. It has
//! what a run needs and no positions in the text.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Share, Span};
use shallop_options::string_enum;
use shallop_switch::Outage;
use shallop_topology::{AnyFabric, Imported, NicMode, NodeKind, Way};
use std::{collections::BTreeMap, fmt, sync::Arc};

pub use crate::switches::{Accounting, Bcc, QueueMarking, Shared, Signals, Switch, UnscheduledDrop};
pub use crate::transport::{
    Aeolus, BurstUntil, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Tcp, Transport, Udp,
};
use crate::{files::Files, kernel::KernelOptions, proxy::Clean};
use shallop_workload::Sizes;

/// Default of the most packets that a run captures.
pub const CAPTURE_LIMIT: u64 = 1_000_000;

/// How a flow's path is chosen among several shortest paths (equal-cost multi-path routing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecmp {
    /// Both directions of a flow take the same links.
    Symmetric,
    /// Each direction of a flow is hashed by itself, so that acknowledgements may return on another path.
    Asymmetric,
}

string_enum! { Ecmp { Symmetric = "symmetric", Asymmetric = "asymmetric" } }

/// Which TCP connections the flows of a group use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Each flow opens a connection.
    New,
    /// An idle connection of an earlier flow between the two hosts, if there is one.
    Kept,
}

string_enum! { Connections { New = "new", Kept = "kept" } }

/// A checked scenario, ready to run under each of its schemes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub title: String,
    pub seed: u64,
    /// The longest duration of a run. A run ends earlier when every counted flow that starts in it is complete.
    pub duration: Span,
    /// The sampling interval of time series.
    pub sample: Span,
    /// The interval at which the states of flows are recorded, if they are.
    pub record: Option<Span>,
    /// Intervals of the run (start, end) for which results are computed separately.
    pub windows: Vec<(Span, Span)>,
    /// The length of the windows in which convergence to fairness is measured.
    pub fairness_window: Span,
    pub topology: Topology,
    pub ecmp: Ecmp,
    /// Configurations of switches, by the names that the scenario gives them. A port has the configuration of its
    /// switch.
    pub switches: Vec<Switch>,
    /// How a host's link serves its endpoints: round robin, or from one FIFO queue.
    pub nic: NicMode,
    /// The buffer at a host's link, used only with `nic = "fifo"`.
    pub nic_buffer: BufferSize,
    /// Limit of a host's queue of credits or emulation packets; `None` for the transport's default.
    pub nic_credit_queue: Option<BufferSize>,
    /// The largest random delay of packets that a host sends. `None` for the time of a full frame on the slowest link,
    /// which is enough to keep equal flows out of lockstep at a full queue (Floyd and Jacobson, 1991).
    pub nic_jitter: Option<Span>,
    pub kernel: KernelOptions,
    pub driver: Driver,
    /// Queue lengths; for each one, results state how long queues and pools were above it.
    pub levels: Vec<Bytes>,
    /// Names of the sets of links whose packets are captured, and the most packets to capture.
    pub capture: (Vec<String>, u64),
    pub groups: Vec<Group>,
    /// The sizes that separate small, medium and large flows in results; `None` for no such classes.
    pub classes: Option<Classes>,
    pub schemes: Vec<Scheme>,
}

impl Plan {
    /// The transport of a group under a scheme. `scheme` and `group` are indices.
    pub fn transport(&self, scheme: usize, group: usize) -> &Scheme {
        self.groups[group].transport.as_ref().unwrap_or(&self.schemes[scheme])
    }

    /// Whether any flow of the scheme runs between hosts that are real kernels.
    pub fn has_kernels(&self, scheme: usize) -> bool {
        (0..self.groups.len()).any(|group| self.kernel(scheme, group).is_some())
    }

    /// Name of the TCP controller of a group's kernel hosts; `None` if its hosts are not kernels. If programs send by
    /// `FlashPass`, the TCP connections of their hosts use `CONTROLLER_OF_PROGRAMS`.
    pub fn kernel(&self, scheme: usize, group: usize) -> Option<&'static str> {
        let transport = &self.transport(scheme, group).transport;
        let has_own = matches!(transport, Transport::FlashPass(_)) && self.groups[group].command.is_some();
        transport.kernel().or(has_own.then_some(CONTROLLER_OF_PROGRAMS))
    }

    /// Whether any group runs programs instead of generated flows.
    pub fn has_programs(&self) -> bool {
        self.groups.iter().any(|group| group.command.is_some())
    }

    /// The configurations of switches in force under a scheme.
    pub fn switches(&self, scheme: usize) -> &[Switch] {
        self.schemes[scheme].switches.as_ref().unwrap_or(&self.switches)
    }

    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| group.flows).sum()
    }

    /// The number of counted flows, of which `starting` gives for each group the flows that start before the run ends.
    /// The run may end when these are complete. `None` if a flow has no end, or if no flow that starts is counted.
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

/// The driver of a run. Switches are simulated in both drivers, and results have one form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The simulator, in virtual time.
    #[default]
    Simulator,
    /// A rehearsal in real time: kernel hosts are network namespaces of this machine.
    Rehearsal {
        /// The file into which a tape of the hosts' packets is written; `None` for no tape.
        tape: Option<String>,
        /// Network interfaces of this machine that take the place of hosts.
        attached: Vec<Attachment>,
        /// How many times slower than this machine's clock the network's clock is; at least 1.
        stretch: u32,
    },
}

/// A network interface of this machine that takes the place of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub interface: String,
    pub host: String,
}

/// The sizes that separate small, medium and large flows in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Flows with at most this much payload are small.
    pub small: Bytes,
    /// Flows with more payload than this are large.
    pub large: Bytes,
}

/// The nodes and links of a network, as the scenario describes them.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A fabric that is generated from a few options, such as a fat tree.
    Fabric(AnyFabric),
    /// Nodes and links that the scenario lists.
    Graph { nodes: Vec<GraphNode>, links: Vec<GraphLink> },
    /// A network whose switches and links are read from a file, with generated hosts; and the links of the file that
    /// have faults, by their indices.
    File(Imported, Vec<(usize, GraphLink)>),
    /// A topology with all link rates multiplied by a factor below 1, for rehearsals.
    Scaled { by: Share, of: Box<Self> },
}

impl<T: Into<AnyFabric>> From<T> for Topology {
    fn from(fabric: T) -> Self {
        Self::Fabric(fabric.into())
    }
}

/// A node that the scenario lists in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    pub name: String,
    pub kind: NodeKind,
    /// Index of the node's switch configuration in [`Plan::switches`].
    pub switch: usize,
}

/// A link that the scenario lists in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// Indices of the nodes at the two ends of the link.
    pub between: (usize, usize),
    /// The directions from the first node to the second and back.
    pub ways: [LinkWay; 2],
}

impl GraphLink {
    /// A link that is perfect throughout the run.
    pub fn without_faults(between: (usize, usize), ways: [Way; 2]) -> Self {
        Self { between, ways: ways.map(LinkWay::without_faults) }
    }

    /// Whether the link loses, duplicates or delays packets at random, has outages, or changes during the run.
    pub fn is_impaired(&self) -> bool {
        self.ways.iter().any(LinkWay::is_impaired)
    }
}

/// One direction of a link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkWay {
    pub rate: BitsPerSec,
    pub delay: Span,
    pub mtu: Bytes,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// The mean length of a burst of losses in packets; `None` for independent losses.
    pub loss_burst: Option<f64>,
    /// The largest random delay of a packet on the link, which does not change the order of packets.
    pub jitter: Span,
    /// Probability that a packet is delayed so that later packets overtake it, and the longest such delay.
    pub reordering: (f64, Span),
    pub duplicates: f64,
    /// Outages: periods in which no packet passes.
    pub down: Vec<Outage>,
    /// Changes in the run: (time, new rate, new delay); `None` for no change of the rate or delay.
    pub changes: Vec<(Span, Option<BitsPerSec>, Option<Span>)>,
    /// Times from which the direction starts no packet, each with its length.
    pub pauses: Vec<(Span, Span)>,
}

impl LinkWay {
    /// A direction that is perfect throughout the run.
    pub fn without_faults(of: Way) -> Self {
        let Way { rate, delay, mtu } = of;
        let (loss, jitter, reordering, duplicates) = (0.0, Span::ZERO, (0.0, Span::ZERO), 0.0);
        let (down, changes, pauses) = (Vec::new(), Vec::new(), Vec::new());
        Self { rate, delay, mtu, loss, loss_burst: None, jitter, reordering, duplicates, down, changes, pauses }
    }

    /// Whether the direction loses, duplicates or delays packets at random, has outages, or changes during the run.
    pub fn is_impaired(&self) -> bool {
        [self.loss, self.reordering.0, self.duplicates].iter().any(|&of| of > 0.0)
            || !self.jitter.is_zero()
            || !self.down.is_empty()
            || !self.changes.is_empty()
            || !self.pauses.is_empty()
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
    /// The transport of this group and its label; `None` if the group uses the transport of the scheme.
    pub transport: Option<Scheme>,
    /// The numbers of flows at the start (warm-up) and at the end (cool-down) of the group that results leave out.
    pub uncounted: (usize, usize),
    pub connections: Connections,
    /// The earlier group whose kept connections this group shares; `None` if its connections are its own.
    pub connections_of: Option<usize>,
    /// The rate at which the application of each flow offers payload, and the bytes of one write, `None` for a full
    /// segment; `None` for applications that are always ahead of TCP.
    pub application: Option<(BitsPerSec, Option<Bytes>)>,
    /// How long the application of each flow offers payload, from the start of the flow on; `None` for no such limit.
    pub lasts: Option<Span>,
    /// The program that runs in each host of `from` and communicates with hosts of `to`, in place of generated flows.
    pub command: Option<Command>,
}

impl Group {
    /// Whether every flow of the group has a size, so that it ends.
    pub fn is_finite(&self) -> bool {
        self.sizes.is_some() || matches!(self.start, Starts::Trace(_))
    }

    /// Whether results include the flow with this number in its group, counted from 0 in order of start.
    pub fn counts(&self, number: usize) -> bool {
        number >= self.uncounted.0 && number + self.uncounted.1 < self.flows
    }
}

/// An entry of a traffic matrix: senders, receivers, and the total weight of all pairs between them.
pub type MatrixEntry = (Vec<u32>, Vec<u32>, f64);

/// The traffic pattern of a group: which hosts send to which.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pattern {
    /// Flow i goes from sender i to receiver i, each index modulo the number of hosts.
    #[default]
    RoundRobin,
    /// Sender and receiver are drawn uniformly from all hosts of the group.
    Uniform,
    /// Sender and receiver are drawn uniformly, from different sites.
    OtherSite,
    /// Incast: this many senders, drawn at random, send to one receiver at the same time.
    Incast(usize),
    /// Every host sends to one other host, drawn once for the run.
    Permutation,
    AllToAll,
    /// A traffic matrix gives the weights of sets of senders and receivers.
    Matrix(Vec<MatrixEntry>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// All flows of the group start at this time.
    At(Span),
    /// Flows start at equal intervals: the first start, and the interval.
    Every(Span, Span),
    /// The start of each flow is drawn uniformly between these two times.
    Drawn(Span, Span),
    /// Flows start as a Poisson process with this intensity, from this time on.
    Poisson(Intensity, Span),
    /// Flows start as a Poisson process that is on and off in turn: intensity, first time, and the mean lengths of on
    /// and off periods.
    OnOff(Intensity, Span, (Span, Span)),
    /// Flows start in bursts: flows in a burst, time of the first burst, and interval.
    Bursts(u32, Span, Span),
    /// A file lists the flows: start, hosts and size.
    Trace(Trace),
}

/// A file that lists flows. It is checked when the plan is made, and read again row by row in the run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name of the file, as the scenario writes it.
    pub name: String,
    pub files: Arc<dyn Files>,
    /// By (sender, receiver): payload bytes of all flows that start before the run ends.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// The number of flows in the file that start after the run has ended.
    pub late: usize,
    /// Whether rows are in the order of their starts. Otherwise the run reads all of them and sorts them.
    pub sorted: bool,
    pub digest: u64,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, &self.pairs) == (&other.digest, &other.pairs)
    }
}

/// The TCP controller of kernel hosts whose programs send by `FlashPass`.
const CONTROLLER_OF_PROGRAMS: &str = "cubic";
/// The name of the `shallop` executable, as the commands of scenarios write it.
const OWN: &str = "shallop";

/// A program of this machine that runs in kernel hosts.
#[derive(Clone)]
pub struct Command {
    /// Name or path of the program, and its arguments. Empty if users start programs from terminals that join the
    /// session.
    pub words: Vec<String>,
    /// The files of the scenario, which the program may read.
    pub files: Arc<dyn Files>,
    /// Whether the program is an interactive shell.
    pub is_shell: bool,
}

impl Command {
    /// In arguments of programs, this stands for the name of the host that the program communicates with.
    pub const OTHER_HOST: &str = "{to}";

    /// The words of the command, for a program that communicates with the host `other`. The command `shallop` becomes
    /// `own`, the path of the running executable.
    pub fn words_for(&self, other: &str, own: Option<&str>) -> Vec<String> {
        let mut words: Vec<String> = self.words.iter().map(|word| word.replace(Self::OTHER_HOST, other)).collect();
        let own = own.filter(|path| path.rsplit('/').next() == Some(OWN));
        if let (Some(first), Some(own)) = (words.first_mut().filter(|word| word.as_str() == OWN), own) {
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

/// How often flows of a group start at random.
#[derive(Clone, Debug, PartialEq)]
pub enum Intensity {
    /// The mean number of flows per second.
    PerSecond(f64),
    /// Offered load: payload as a fraction of the capacity of the named set of links (docs/workloads.md, "load").
    Load(f64, String),
}

/// A transport with configurations of switches, which a scenario compares with other schemes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    pub name: String,
    /// The transport of all groups for which the scenario names none.
    pub transport: Transport,
    /// Configurations of switches that replace [`Plan::switches`], in the same order; `None` if the scheme changes no
    /// switch.
    pub switches: Option<Vec<Switch>>,
    /// The CLEAN proxy that the scheme places in the network, if any.
    pub clean: Option<Clean>,
}
