//! How BBR is set up. Units: bytes, time. Source: constants of the kernel's `tcp_bbr.c`.

use shallop_core::{Bytes, Span};

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The window while it probes for bandwidth, in products of rate and shortest round trip.
    pub window_gain: f64,
    /// After so long without a shorter round trip it probes for one.
    pub probe_rtt_every: Span,
    /// With four segments in flight, for so long, and a round trip at least.
    pub probe_rtt_for: Span,
    /// The largest burst a host hands to its link at once; the window makes room for three. A segment at least.
    pub send_quantum: Bytes,
    /// Looks for policers.
    pub policer: bool,
}

impl Config {
    /// As in Linux, on a host that hands its link a segment at a time.
    pub const LINUX: Self = Self {
        window_gain: 2.0,
        probe_rtt_every: Span::from_secs(10),
        probe_rtt_for: Span::from_ms(200),
        send_quantum: Bytes::ZERO,
        policer: true,
    };
}
