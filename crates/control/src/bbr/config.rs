//! Parameters of BBR. Units: bytes, time. Source: constants of the kernel's `tcp_bbr.c`.

use shallop_core::options::HostStack;
use shallop_core::{Bytes, Span, options};

use crate::options::{Kind, LONGEST, Marking, Parameters};

options! {
    /// Parameters of BBR.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config(const stack: HostStack) {
        /// The congestion window while BBR probes for bandwidth, in bandwidth-delay products (kernel:
        /// `bbr_cwnd_gain`).
        key window_gain: f64 [Number(1.0, 100.0)] = 2.0;
        /// The lifetime of the minimum round-trip time: if no sample was as low for this long, BBR probes for a new
        /// one (kernel: `bbr_min_rtt_win_sec`).
        key probe_rtt_every: Span [Time(Span::from_us(1), LONGEST)] = Span::from_secs(10);
        /// The duration of such a probe, in which four segments are in flight; a round trip at least (kernel:
        /// `bbr_probe_rtt_mode_ms`).
        key probe_rtt_for: Span [Time(Span::ZERO, LONGEST)] = Span::from_ms(200);
        /// The largest burst that a host hands to its link at once, and at least a segment. The congestion window
        /// leaves room for three (kernel: `bbr_tso_segs_goal`).
        key send_quantum: Bytes [Size(Bytes::ZERO, Bytes::new(1_000_000))] = match stack {
            HostStack::Ns2 | HostStack::Ns3 | HostStack::LinuxIdeal => Bytes::ZERO,
            HostStack::Linux | HostStack::LinuxPfifo | HostStack::Kernel => Bytes::new(65_215),
        };
        /// Whether BBR detects token-bucket policers and keeps to their rate (kernel: `bbr_lt_bw_sampling`).
        key policer: bool = true;
    }
}

impl Parameters for Config {
    const KINDS: &[Kind] = &[Kind {
        name: "bbr",
        about: "delivery rate and shortest round trip, version 1",
        marking: Marking::Off,
    }];
}

impl Config {
    /// BBR of Linux, on a host that passes its link one segment at a time.
    pub const LINUX_IDEAL: Self = Self::of(HostStack::LinuxIdeal);
}
