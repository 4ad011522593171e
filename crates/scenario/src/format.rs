//! The top of a scenario: its own keys, and the sections in it.

use shallop_core::form::Form;
use shallop_core::options::{HostStack, keys};
use shallop_core::{BufferSize, Bytes, Span, options};
use shallop_plan::bounds::DAY;
use shallop_plan::kernel::KernelOptions;
use shallop_plan::plan::{CAPTURE_LIMIT, FlashPass};
use shallop_plan::transport::Protocol;
use shallop_topology::NicMode;
use shallop_topology::bounds::DELAY;

use super::bounds::{FLOW_SIZE, SOME};
use super::claims::{ClaimOptions, DefaultsOptions};
use super::groups::GroupOptions;
use super::schemes::SCHEMES;
use super::switches::SwitchOptions;
use super::topology::TOPOLOGY;

const SEED: Form = Form::Integer(0, i64::MAX as u64);
const WINDOW: Form = Form::TimeRange(Span::ZERO, DAY);

options! {
    /// A scenario.
    #[derive(Clone, Debug)]
    pub(super) struct Scenario {
        /// The name of the scenario in tables and figures.
        required title: String;
        /// One line on what the scenario shows.
        key about: Option<String> = None;
        /// About how long the scenario takes on one core, in full and quick, as texts.
        key takes: Vec<String> = Vec::new();
        /// The seed of the run.
        key seed: u64 [= SEED] = 1;
        /// The seeds of several runs, in place of `seed`.
        key seeds: Option<Vec<u64>> [List(&SEED)] = None;
        /// The time at which a run ends. It ends earlier if all flows are complete.
        required duration: Span [Time(Span::from_us(1), DAY)];
        /// The time between two rows of the series.
        key sample: Span [Time(Span::from_ns(1), DAY)] = Span::from_ms(10);
        /// Parts of the run, such as `"1s..5s"`, that are reported by themselves.
        key windows: Option<Vec<(Span, Span)>> [List(&WINDOW)] = None, "each whole second";
        /// The length of the windows for which fairness is computed.
        key fairness_window: Span [Time(Span::from_us(1), DAY)] = Span::from_ms(100);
        /// Sizes in bytes. For each the report has the time in which a queue or pool held more.
        key levels: Vec<Bytes> [List(&SOME)] = Vec::new();
        /// The TCP stack of the hosts, on which many defaults depend: ns-2.35, ns-3.44 or Linux 6, all of
        /// them simulated, or a real Linux kernel (`"kernel"`, see `[kernel]`).
        key stack: HostStack = HostStack::Linux;
        /// How a host's link takes packets from its flows: in turn whenever it is free (`"fair"`), or from one finite
        /// queue (`"fifo"`).
        key nic: NicMode = NicMode::Fair;
        /// The queue of a host's link, with `nic = "fifo"` (Linux: `txqueuelen`).
        key nic_buffer: BufferSize = BufferSize::Packets(1_000);
        /// The length of the queue of credits or emulation packets of a host's link.
        key nic_credit_queue: Option<BufferSize> = None, text nic_credit_queue();
        /// Each packet leaves its host's link later by a time drawn uniformly from zero to this.
        key nic_jitter: Option<Span> [= DELAY] = (stack == HostStack::Ns2).then_some(Span::ZERO),
            "the time of a full frame on the slowest link; with `stack = \"ns2\"` `\"0s\"`";
        /// Hosts that are real Linux kernels: those with `stack = "kernel"`.
        section kernel: KernelOptions;
        /// The network.
        other topology [Tagged(&TOPOLOGY)], required;
        /// The switches. Those that no other section is for have `[switch.default]`.
        other switch [NamedSections(keys::<SwitchOptions>())];
        /// The transports that are compared.
        other scheme [TaggedList(&SCHEMES)], required;
        /// The traffic.
        sections group: GroupOptions, required;
        /// Sets of links whose packets are written to a pcapng file, with `--out`.
        key capture: Vec<String> = Vec::new();
        /// The number of packets after which the capture ends.
        key capture_limit: u64 [Integer(1, 1_000_000_000)] = CAPTURE_LIMIT;
        /// Classes of flows by their size, for completion times.
        section classes: ClassesOptions;
        /// Variations of the scenario, all of which are run.
        sections point: PointOptions;
        /// Keys of the scenario with the values they have in a quick run.
        other quick [Overrides];
        /// Keys that sections of one kind have in common.
        section defaults: DefaultsOptions;
        /// What is claimed of the results.
        sections claim: ClaimOptions;
    }
}

/// The queue of credits at hosts unless a scenario says otherwise.
fn nic_credit_queue() -> String {
    let flashpass = FlashPass::CREDITS.and_then(|credits| credits.host_queue);
    let flashpass = flashpass.map_or_else(String::new, |queue| format!("; FlashPass: \"{queue}\""));
    format!("the `credit_queue` of switches{flashpass}")
}

options! {
    /// Classes of flows.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct ClassesOptions {
        /// Flows of up to this payload are small.
        required small: Bytes [= FLOW_SIZE];
        /// Flows of more payload than this are large.
        key large: Bytes [= FLOW_SIZE] = small, "`small`";
    }
}

options! {
    /// A variation of a scenario.
    #[derive(Clone, Debug)]
    pub(super) struct PointOptions {
        /// The name of the variation.
        required name: String;
        /// Keys of the scenario with the values they have here.
        other set [Overrides], required;
        /// Whether a quick run leaves the variation out.
        key full_only: bool = false;
    }
}
