//! How BBR is set up. Units: bytes, time. Source: constants of the kernel's `tcp_bbr.c`.

use shallop_core::form::{Form, Part, key};
use shallop_core::{Bytes, Span};

use crate::options::{Kind, LONGEST, Marking, Options, Refused};

/// Options of its own.
pub const KEYS: Part = &[
    key(
        "window_gain",
        Form::Number(1.0, 100.0),
        "The window, in products of rate and shortest round trip. Default: 2.",
    ),
    key(
        "probe_rtt_every",
        Form::Time(Span::from_us(1), LONGEST),
        "Without a shorter round trip for so long, it holds back to see one. Default: \"10s\".",
    ),
    key(
        "probe_rtt_for",
        Form::Time(Span::ZERO, LONGEST),
        "For so long, and a round trip at least. Default: \"200ms\".",
    ),
    key(
        "send_quantum",
        Form::Size(Bytes::ZERO, Bytes::new(1_000_000)),
        "Largest burst of a host; the window has room for three. Default: a segment; Linux with offload: \"64KiB\".",
    ),
    key("policer", Form::Truth, "Looks for policers and keeps to their rate. Default: true."),
];

/// Its name.
pub const KINDS: &[Kind] = &[Kind { name: "bbr", keys: &[KEYS], marking: Marking::Off }];

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

    /// By its options.
    ///
    /// # Errors
    /// None.
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let linux = Self::LINUX;
        Ok(Self {
            window_gain: options.or("window_gain", linux.window_gain),
            probe_rtt_every: options.or("probe_rtt_every", linux.probe_rtt_every),
            probe_rtt_for: options.or("probe_rtt_for", linux.probe_rtt_for),
            send_quantum: options.or("send_quantum", linux.send_quantum),
            policer: options.or("policer", linux.policer),
        })
    }
}
