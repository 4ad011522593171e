//! The options of hosts that are real Linux kernels (`stack = "kernel"`).

use shallop_core::Span;
use shallop_options::Options;

/// Congestion controllers for hosts that are real kernels: the name in scenarios, and the kernel's name
/// (`net.ipv4.tcp_available_congestion_control`).
pub const CONTROLLERS: [(&str, &str); 7] = [
    ("cubic", "cubic"),
    ("newreno", "reno"),
    ("bbr", "bbr"),
    ("vegas", "vegas"),
    ("dctcp", "dctcp"),
    ("gemini", "gemini"),
    ("ecn-star", "ecn_star"),
];

/// Controllers that hosts in virtual time lack: they are BPF programs, and the kernels of these hosts have no BPF.
pub const NOT_IN_VIRTUAL_TIME: [&str; 1] = ["ecn-star"];

/// The names of all controllers in one text, for error messages.
pub fn controllers() -> String {
    CONTROLLERS.map(|(name, _)| name).join(", ")
}

/// The queue discipline of a network interface in a kernel host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Qdisc {
    /// Fair queueing with pacing (`sch_fq`).
    #[default]
    Fq,
    /// Fair queueing with controlled delay (`sch_fq_codel`).
    FqCodel,
    /// Three bands, first in first out (`sch_generic`).
    PfifoFast,
}

shallop_options::string_enum! { Qdisc { Fq = "fq", FqCodel = "fq_codel", PfifoFast = "pfifo_fast" } }

/// Default of the least time between two interrupts of a network interface.
const INTERRUPT_GAP: Span = Span::from_us(20);
/// Default of the processor time that a program may use without a pause.
const COMPUTE_LIMIT: Span = Span::from_secs(30);

/// Options of the hosts with `stack = "kernel"`: the section `[kernel]` of a scenario.
#[derive(Clone, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct KernelOptions {
    /// The release of the kernel, or its first numbers: `"6.12"`.
    #[key(shown = "the newest that is installed")]
    pub release: Option<String>,
    /// The queue discipline of the hosts' cards.
    #[key(default = Qdisc::Fq)]
    pub qdisc: Qdisc,
    /// The most segments that a host sends at once by segmentation offload (`gso_max_segs` of its card); 1 for
    /// packet by packet, which suits shallow buffers.
    #[key(Integer(1, 65_535), shown = "what the kernel chooses: up to 64 KB")]
    pub gso_max_segs: Option<u32>,
    /// The least time between two interrupts of a card (interrupt moderation).
    #[key(Time(Span::ZERO, Span::from_ms(10)), default = INTERRUPT_GAP)]
    pub interrupt_gap: Span,
    /// The processor time that a program may use without a pause, after which it is said to spin: time stands
    /// still while a program computes, so that the run would never end.
    #[key(Time(Span::from_secs(1), Span::from_secs(86_400)), default = COMPUTE_LIMIT)]
    pub compute_limit: Span,
    /// A module with a congestion controller, which was built by `shallop kernel module NAME.c`. All flows between
    /// kernels use this controller, whatever their transports are.
    #[key(shown = "no module")]
    pub module: Option<String>,
    /// The name of the controller in the module.
    #[key(shown = "the name of the module")]
    pub controller: Option<String>,
    /// Parameters of the module, as `"window=20"`.
    #[key(default = Vec::new())]
    pub parameters: Vec<String>,
    /// Sysctls of each host, as `"net.ipv4.tcp_timestamps=0"`.
    #[key(default = Vec::new())]
    pub sysctls: Vec<String>,
}

impl KernelOptions {
    /// Splits each sysctl into name and value.
    pub fn written_sysctls(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = self.sysctls.iter().filter_map(|text| text.split_once('='));
        pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
    }

    /// Name of the controller in the kernel module, which all flows between kernels use; `None` without a module.
    pub fn controller(&self) -> Option<&str> {
        self.module.as_ref().map(|module| self.controller.as_ref().unwrap_or(module).as_str())
    }
}
