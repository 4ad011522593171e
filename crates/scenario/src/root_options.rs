//! The keys at the top of a scenario, and those of `[classes]` and `[[point]]`.

use super::bounds::{FLOW_SIZE, SOME};
use super::claims::{ClaimOptions, DefaultsOptions};
use super::{groups::GroupOptions, schemes::SCHEMES, switches::SwitchOptions, topology::TOPOLOGY};
use shallop_core::{BufferSize, Bytes, Span};
use shallop_options::{HostStack, Options, Subsection, Unread, ValueType, section_keys};
use shallop_plan::plan::{CAPTURE_LIMIT, FlashPass};
use shallop_plan::transport::Protocol;
use shallop_plan::{bounds::DAY, kernel::KernelOptions};
use shallop_topology::{NicMode, bounds::DELAY};

const SEED: ValueType = ValueType::Integer(0, i64::MAX as u64);
const WINDOW: ValueType = ValueType::TimeRange(Span::ZERO, DAY);

/// The keys at the top of a scenario.
#[derive(Clone, Debug, Options)]
pub(super) struct Scenario {
    /// The name of the scenario in tables and figures.
    pub title: String,
    /// One line on what the scenario shows.
    pub about: Option<String>,
    /// Estimates of the computing time on one core: of the full and of the quick scenario, as texts.
    #[key(default = Vec::new())]
    pub takes: Vec<String>,
    /// The seed of the run.
    #[key(SEED, default = 1)]
    pub seed: u64,
    /// The seeds of several runs, in place of `seed`.
    #[key(List(&SEED))]
    pub seeds: Option<Vec<u64>>,
    /// The simulated time at which a run ends. It ends earlier if all flows are complete.
    #[key(Time(Span::from_us(1), DAY))]
    pub duration: Span,
    /// The time between two rows of the series.
    #[key(Time(Span::from_ns(1), DAY), default = Span::from_ms(10))]
    pub sample: Span,
    /// Parts of the run, such as `"1s..5s"`, for which results are reported separately.
    #[key(List(&WINDOW), shown = "each whole second")]
    pub windows: Option<Vec<(Span, Span)>>,
    /// The length of the windows for which fairness is computed.
    #[key(Time(Span::from_us(1), DAY), default = Span::from_ms(100))]
    pub fairness_window: Span,
    /// Queue lengths in bytes. For each, results have the fraction of time in which a queue or pool held more.
    #[key(List(&SOME), default = Vec::new())]
    pub levels: Vec<Bytes>,
    /// The TCP stack of the hosts, on which many defaults depend: ns-2.35, ns-3.44 or Linux 6, all of
    /// them simulated, or a real Linux kernel (`"kernel"`, see `[kernel]`).
    #[key(default = HostStack::Linux)]
    pub stack: HostStack,
    /// How a host's link takes packets from its flows: round-robin whenever the link is free (`"fair"`), or from one
    /// finite queue (`"fifo"`).
    #[key(default = NicMode::Fair)]
    pub nic: NicMode,
    /// The size of the queue of a host's link. Requires `nic = "fifo"` (Linux: `txqueuelen`).
    #[key(default = BufferSize::Packets(1_000))]
    pub nic_buffer: BufferSize,
    /// The length of the queue of credits or emulation packets of a host's link.
    #[key(shown = nic_credit_queue())]
    pub nic_credit_queue: Option<BufferSize>,
    /// The largest random delay of a host. Each packet leaves its host's link later by a time drawn uniformly from zero
    /// to this.
    #[key(
        DELAY,
        default = (stack == HostStack::Ns2).then_some(Span::ZERO),
        shown = "the time of a full frame on the slowest link; with `stack = \"ns2\"` `\"0s\"`"
    )]
    pub nic_jitter: Option<Span>,
    /// Settings of hosts that are real Linux kernels: those with `stack = "kernel"`.
    #[section]
    pub kernel: Subsection<KernelOptions>,
    /// The network: hosts, switches and links.
    #[key(Tagged(&TOPOLOGY), required)]
    pub topology: Option<Unread>,
    /// The settings of switches, by name. A switch without a section of its own has the settings of `[switch.default]`.
    #[key(NamedSections(section_keys::<SwitchOptions>()))]
    pub switch: Option<Unread>,
    /// The transports to compare.
    #[key(TaggedList(&SCHEMES), required)]
    pub scheme: Option<Unread>,
    /// The traffic, in groups of flows.
    #[sections(required)]
    pub group: Subsection<GroupOptions>,
    /// Sets of links whose packets are written to a pcapng file, with `--out`.
    #[key(default = Vec::new())]
    pub capture: Vec<String>,
    /// The number of packets after which the capture ends.
    #[key(Integer(1, 1_000_000_000), default = CAPTURE_LIMIT)]
    pub capture_limit: u64,
    /// What is recorded besides the series, for `series.parquet`.
    #[section]
    pub record: Subsection<RecordOptions>,
    /// Classes of flows by their size, for completion times.
    #[section]
    pub classes: Subsection<ClassesOptions>,
    /// Variations of the scenario. Each is run with every scheme.
    #[sections]
    pub point: Subsection<PointOptions>,
    /// The question of `shallop advise`: an objective, bounds, and the candidates.
    #[section]
    pub advise: Subsection<AdviseOptions>,
    /// Keys of the scenario with the values that they have in a quick run.
    #[key(Overrides)]
    pub quick: Option<Unread>,
    /// Defaults of keys for all sections of one kind.
    #[section]
    pub defaults: Subsection<DefaultsOptions>,
    /// Claims about the results, with the ranges in which they hold.
    #[sections]
    pub claim: Subsection<ClaimOptions>,
}

/// The default of the key `nic_credit_queue`, in words.
fn nic_credit_queue() -> String {
    let flashpass = FlashPass::CREDITS.and_then(|credits| credits.host_queue);
    let flashpass = flashpass.map_or_else(String::new, |queue| format!("; FlashPass: \"{queue}\""));
    format!("the `credit_queue` of switches{flashpass}")
}

/// What is recorded besides the series.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct RecordOptions {
    /// The time between two samples of each flow's state: cwnd, ssthresh, pacing rate, smoothed round-trip time,
    /// segments delivered, state of recovery.
    #[key(Time(Span::from_us(1), DAY), shown = "no samples")]
    pub flows: Option<Span>,
}

/// The keys of `[classes]`: the bounds of small and large flows.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct ClassesOptions {
    /// Flows of up to this payload are small.
    #[key(FLOW_SIZE)]
    pub small: Bytes,
    /// Flows of more payload than this are large.
    #[key(FLOW_SIZE, default = small, shown = "`small`")]
    pub large: Bytes,
}

/// The keys of a `[[point]]`, a variation of the scenario.
#[derive(Clone, Debug, Options)]
pub(super) struct PointOptions {
    /// The name of the variation.
    pub name: String,
    /// Keys of the scenario with the values that they have in this variation.
    #[key(Overrides, required)]
    pub set: Option<Unread>,
    /// Whether a quick run leaves the variation out.
    #[key(default = false)]
    pub full_only: bool,
}

/// The keys of `[advise]`.
#[derive(Clone, Debug, Options)]
pub(super) struct AdviseOptions {
    /// The metric of which the best candidate has least, such as `"groups.web.fct.all.p99_s"`. Metrics are named as in
    /// results.md.
    pub minimise: Option<String>,
    /// The metric of which the best candidate has most, in place of `minimise`.
    pub maximise: Option<String>,
    /// Bounds that the best candidate meets, such as `"loss_rate <= 1e-5"`.
    #[key(default = Vec::new())]
    pub subject_to: Vec<String>,
    /// The computing time that all runs together may take, in minutes.
    #[key(Number(0.001, 1e6), default = 5.0)]
    pub budget_minutes: f64,
    /// The number of runs of the full duration that the race may cost, in place of `budget_minutes`.
    #[key(Integer(1, 1_000_000_000))]
    pub budget_runs: Option<u64>,
    /// The keys that the candidates differ in, each with a list of values. The schemes are candidates too.
    #[key(Overrides)]
    pub space: Option<Unread>,
}
