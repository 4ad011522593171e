//! Parameters of BBR. Units: bytes, time. Source: constants of the kernel's `tcp_bbr.c`.

use crate::options::{ControllerName, LONGEST, Marking, Parameters};
use shallop_core::{Bytes, Span};
use shallop_options::{HostStack, Options};

/// Parameters of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults)]
pub struct Config {
    /// The congestion window while BBR probes for bandwidth, in bandwidth-delay products (kernel: `bbr_cwnd_gain`).
    #[key(Number(1.0, 100.0), default = 2.0)]
    pub window_gain: f64,
    /// The lifetime of the minimum round-trip time: if no sample was as low for this long, BBR probes for a new
    /// one (kernel: `bbr_min_rtt_win_sec`).
    #[key(Time(Span::from_us(1), LONGEST), default = Span::from_secs(10))]
    pub probe_rtt_every: Span,
    /// The duration of a probe for the minimum round-trip time, in which four segments are in flight; a round trip at
    /// least (kernel: `bbr_probe_rtt_mode_ms`).
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_ms(200))]
    pub probe_rtt_for: Span,
    /// The largest burst that a host hands to its link at once, and at least a segment. The congestion window
    /// leaves room for three (kernel: `bbr_tso_segs_goal`).
    #[key(
        Size(Bytes::ZERO, Bytes::new(1_000_000)),
        default = match stack {
            HostStack::Ns2 | HostStack::Ns3 | HostStack::LinuxIdeal => Bytes::ZERO,
            HostStack::Linux | HostStack::LinuxPfifo | HostStack::Kernel => Bytes::new(65_215),
        }
    )]
    pub send_quantum: Bytes,
    /// Whether BBR detects token-bucket policers and keeps to their rate (kernel: `bbr_lt_bw_sampling`).
    #[key(default = true)]
    pub policer: bool,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "bbr",
        about: "delivery rate and shortest round trip, version 1",
        marking: Marking::Off,
    }];
}

impl Config {
    /// BBR of Linux, on a host that passes one segment at a time to its link.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
}
