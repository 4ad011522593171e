//! Congestion control of CLEAN: the window that a proxy at the last hop enforces on one flow through its receive
//! window, from the CE marks of the data packets that pass. After a mark the window is reduced, at most once per window
//! of data, and returns to its former value along CUBIC's function of time. State: the window, the epoch of the cubic
//! function, the sequence number up to which marks are answered, and alpha ([`crate::ewma`]). Variables have the names
//! of Algorithm 1. Integers only, so that a kernel implementation gives the same numbers. Source: Huang et al., CLEAN:
//! Minimize Switch Queue Length via Transparent ECN-proxy in Campus Networks, Algorithm 1, (1) to (3); docs/clean.md.
//!
//! | quantity | format | maximum |
//! |---|---|---|
//! | windows: `windowSize`, `W_max`, `W_min` | 2^-10 segments | [`MAX_WINDOW`], 2^20 segments |
//! | times: t, K | 2^-10 s, from nanoseconds | 2^21; saturates |
//! | C | 2^-10 segments per cubic second | [`MAX_C`], 2^12 |
//! | alpha, the average fraction of marked packets | 2^-10 | 1 |
//! | sequence numbers | bytes, modulo 2^32 as in TCP | |
//!
//! All products fit into 64 bits, except one that saturates ([`w_cubic`]).

use crate::binary::{Fraction, Gain};
use crate::ewma::{Alpha, update_alpha};
use shallop_core::{Bytes, Span, Time};
use shallop_options::{Options, Problem, Section, string_enum};

/// Fractional bits of windows, which are in units of 2^-10 segments.
pub const WINDOW_BITS: u32 = 10;
/// One segment, in units of 2^-10 segments.
pub const SEGMENT: u64 = 1 << WINDOW_BITS;
/// Maximum window: 2^20 segments, in units of 2^-10 segments.
pub const MAX_WINDOW: u64 = 1 << (20 + WINDOW_BITS);
/// Maximum of the constant C: 4 segments per cubic second, in units of 2^-10.
pub const MAX_C: u32 = 1 << 12;
/// Half of the sequence number space, less one: the longest distance by which one sequence number is after another.
const MAX_SEQ_DISTANCE: u64 = (1 << 31) - 1;
/// Maximum time on the cubic function: 2,048 seconds, in units of 2^-10 s.
const MAX_TICKS: u64 = 1 << 21;
/// Shift that converts C times the cube of ticks to 2^-10 segments: 30 bits for the cube and 10 for C, less 10 for the
/// result.
const CUBE_BITS: u32 = 30;

/// How a mark reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decrease {
    /// To half of the window (Algorithm 1, line 6).
    Half,
    /// To 1 - alpha / 2 of the window, where alpha is the average fraction of marked packets (equation 2).
    Marked,
}

string_enum! { Decrease { Half = "half", Marked = "alpha" } }

/// How a window grows after the first mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increase {
    /// Along the cubic function, with every unmarked packet (equation 1; Algorithm 1, line 15).
    Cubic,
    /// Its square root grows by C / 2 with every window of data without a mark.
    Root,
}

string_enum! { Increase { Cubic = "cubic", Root = "root" } }

/// Parameters of CLEAN's window for one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(defaults, check)]
pub struct Config {
    /// What a mark takes of the window: alpha / 2 of it (equation 2), or half (Algorithm 1, line 6).
    #[key(default = Decrease::Marked)]
    pub decrease: Decrease,
    /// How a window grows after the first mark: along the cubic function (equation 1), or by C / 2 in its square root
    /// with every window of data without a mark, so that flows become fair.
    #[key(default = Increase::Cubic)]
    pub increase: Increase,
    /// C, which scales the cubic function, in segments per cubic second; kept in 1/1024 (0.4 is 410/1024, as in Linux).
    #[key(Above(0.0, 4.0), default = Fraction::new(410))]
    pub scale: Fraction,
    /// g, the weight of the latest window of data in alpha: a power of two down to 1/1024 (RFC 8257, 4.2).
    #[key(Above(0.0, 1.0), default = Gain::new(4))]
    pub gain: Gain,
    /// Alpha before the first window of data (RFC 8257; the paper does not say).
    #[key(Number(0.0, 1.0), default = Fraction::ONE)]
    pub alpha_initial: Fraction,
    /// The least window that a mark leaves, in segments (Linux: `dctcp_ssthresh`; the paper does not say).
    #[key(Integer(1, 10_000), default = 2, was = "least_window")]
    pub min_window: u32,
    /// The initial window of a flow, in segments (RFC 6928; the paper does not say).
    #[key(Integer(1, 10_000), default = if min_window > 10 { min_window } else { 10 })]
    pub initial_window: u32,
}

impl Config {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let Self { initial_window: initial, min_window: least, .. } = self;
        if initial >= least {
            return Ok(());
        }
        let message = format!("{initial} segments are less than the least, {least}");
        let help = "initial_window is not below min_window";
        Err(section.reject(Self::KEY.initial_window, message).with_help(help))
    }
}

/// Facts about a data packet that passes the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// Time at which the packet arrives at the proxy.
    pub now: Time,
    /// Sequence number of the first payload byte.
    pub seq: u32,
    /// Whether the ECN field of the packet is CE (Congestion Experienced).
    pub ce: bool,
    /// Right edge of the largest window offered to the sender: the first sequence number that it may not send yet.
    pub window_edge: u32,
    /// Counts of the port, this packet included: data packets of all flows, and those with CE; modulo 2^32.
    pub port: (u32, u32),
    /// Maximum segment size of this flow, in bytes of payload.
    pub mss: u16,
    /// Upper bound of the growth of the window; [`MAX_WINDOW`] for none.
    pub growth_limit: u64,
}

/// Congestion control of one flow at the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clean {
    /// Time of the last CE mark (`epochStartTime`), in nanoseconds since the run began.
    epoch_start_time: u64,
    /// The enforced window (`windowSize`), in 2^-10 segments.
    pub window_size: u64,
    /// Window before the last reduction (`W_max`), and the time K until the cubic function reaches it again.
    w_max: u64,
    k: u64,
    /// Sequence number up to which marks are answered (`ecnCWRSeq`): packets before it cause no further reduction.
    pub ecn_cwr_seq: u32,
    /// Sequence number at which the observation window of alpha ends and the next begins.
    observation_end: u32,
    /// Packets in the observation window, and how many of them carry CE.
    packets: u32,
    packets_ce: u32,
    alpha: u32,
    /// Whether no mark has arrived yet (`isSlowStart`).
    pub is_slow_start: bool,
}

impl Clean {
    /// Congestion control of a flow whose next byte has the sequence number `next`.
    pub fn new(config: &Config, next: u32) -> Self {
        let window = u64::from(config.initial_window.max(config.min_window).max(1)) << WINDOW_BITS;
        Self {
            window_size: window.min(MAX_WINDOW),
            ecn_cwr_seq: next.wrapping_sub(1),
            observation_end: next,
            alpha: config.alpha_initial.units().min(Alpha::MAX),
            is_slow_start: true,
            ..Self::default()
        }
    }

    /// The enforced window in bytes, rounded up, for segments of `mss` bytes.
    pub fn window_bytes(&self, mss: u16) -> Bytes {
        Bytes::new((self.window_size * u64::from(mss)).div_ceil(SEGMENT))
    }

    /// The average fraction of marked packets (alpha), in 2^-10.
    pub const fn alpha(&self) -> u32 {
        self.alpha
    }

    /// Updates the window for a data packet that passes the proxy (Algorithm 1).
    pub fn on_data(&mut self, config: &Config, packet: &DataPacket) {
        self.end_window(config, packet);
        let now = packet.now.since_start().as_ps() / 1_000;
        if packet.ce {
            self.epoch_start_time = now;
            if config.increase == Increase::Cubic || self.is_slow_start {
                self.reduce(config, packet);
            }
        } else if self.is_slow_start {
            self.grow(self.window_size + SEGMENT, packet.growth_limit);
        } else if config.increase == Increase::Cubic {
            let t = ticks(now.saturating_sub(self.epoch_start_time));
            self.grow(w_cubic(config.scale.units(), self.w_max, self.k, t), packet.growth_limit);
        }
    }

    /// Shifts the start of the epoch by an idle period, which does not count as time on the cubic function.
    pub fn on_idle(&mut self, idle: Span) {
        self.epoch_start_time = self.epoch_start_time.saturating_add(idle.as_ps() / 1_000);
    }

    /// Counts a packet for alpha. The first packet after a window of data updates alpha, and with [`Increase::Root`]
    /// the window, by the marks of all flows of the port.
    fn end_window(&mut self, config: &Config, packet: &DataPacket) {
        let root = config.increase == Increase::Root;
        if !is_after(self.observation_end, packet.seq) {
            let (before, now) = ((self.packets, self.packets_ce), packet.port);
            let (all, ce) = if root { (now.0.wrapping_sub(before.0), now.1.wrapping_sub(before.1)) } else { before };
            if all > 0 && !(root && self.is_slow_start) {
                let (all, ce) = (u64::from(all), u64::from(ce.min(all)));
                self.alpha = update_alpha(self.alpha, config.gain.shift(), all, ce);
                if root {
                    self.grow(w_root(config.scale.units(), self.window_size), packet.growth_limit);
                    self.reduce_in_part(config, packet.seq, (ce, all));
                }
            }
            (self.packets, self.packets_ce) = if root { now } else { (0, 0) };
            self.observation_end = advance(packet.seq, self.window_size, packet.mss);
        }
        if !root {
            self.packets = self.packets.saturating_add(1);
            self.packets_ce = self.packets_ce.saturating_add(u32::from(packet.ce));
        }
    }

    /// Reduces the window after a mark, at most once in a window of data (Algorithm 1, lines 3 to 8).
    fn reduce(&mut self, config: &Config, packet: &DataPacket) {
        if !is_after(packet.seq, self.ecn_cwr_seq) {
            return;
        }
        self.w_max = self.window_size;
        self.ecn_cwr_seq = advance(packet.seq, self.window_size - SEGMENT, packet.mss);
        // More than `windowSize` may be in flight: an earlier window was larger, or a window was rounded up to whole
        // units.
        let last_allowed = packet.window_edge.wrapping_sub(1);
        if is_after(last_allowed, self.ecn_cwr_seq) {
            self.ecn_cwr_seq = last_allowed;
        }
        let reduced = reduced_window(self.window_size, config.decrease, self.alpha);
        let min_window = u64::from(config.min_window.max(1)) << WINDOW_BITS;
        self.window_size = reduced.max(min_window).min(self.w_max);
        self.k = k(config.scale.units(), self.w_max - self.window_size);
        self.is_slow_start = false;
    }

    /// Takes a share of a whole reduction from the window: the share of packets that were marked, `ce` of `all`. Marks
    /// that ended slow start have been answered.
    fn reduce_in_part(&mut self, config: &Config, seq: u32, (ce, all): (u64, u64)) {
        if is_after(seq, self.ecn_cwr_seq) {
            let before = self.window_size;
            let cut = (before - reduced_window(before, config.decrease, self.alpha)) * ce / all;
            let min_window = u64::from(config.min_window.max(1)) << WINDOW_BITS;
            self.window_size = (before - cut).max(min_window).min(before);
            self.ecn_cwr_seq = seq;
        }
    }

    /// Sets the window, but does not grow it beyond `limit`.
    fn grow(&mut self, window: u64, limit: u64) {
        self.window_size = window.min(limit.clamp(self.window_size, MAX_WINDOW));
    }
}

/// Whether sequence number `seq` is after `other`, modulo 2^32.
const fn is_after(seq: u32, other: u32) -> bool {
    other.wrapping_sub(seq) > MAX_SEQ_DISTANCE as u32
}

/// The sequence number that is one window, rounded down to whole segments, after `seq`.
fn advance(seq: u32, window: u64, mss: u16) -> u32 {
    let bytes = (window >> WINDOW_BITS) * u64::from(mss);
    seq.wrapping_add(bytes.min(MAX_SEQ_DISTANCE) as u32)
}

/// Nanoseconds in 2^-10 s, rounded down.
pub fn ticks(ns: u64) -> u64 {
    // 2^41 ns are 2,199 s.
    (ns.min(1 << 41) << 10) / 1_000_000_000
}

/// The window after a multiplicative decrease, in 2^-10 segments.
pub fn reduced_window(window: u64, decrease: Decrease, alpha: u32) -> u64 {
    match decrease {
        Decrease::Half => window >> 1,
        Decrease::Marked => {
            let alpha = u64::from(alpha.min(Alpha::MAX));
            window - ((window * alpha) >> (Alpha::BITS + 1))
        }
    }
}

/// `K`, the time until the window is `W_max` again: the cube root of `reduction / C`, with `reduction = W_max - W_min`.
pub fn k(c: u32, reduction: u64) -> u64 {
    cube_root((reduction.min(MAX_WINDOW) << CUBE_BITS) / u64::from(c.clamp(1, MAX_C)))
}

/// The cubic function (`W_cubic`) at time `t`: `C (t - K)^3 + W_max`, or zero if that is negative.
pub fn w_cubic(c: u32, w_max: u64, k: u64, t: u64) -> u64 {
    let distance = t.abs_diff(k).min(MAX_TICKS);
    // The cube is at most 2^63; its product with C may saturate.
    let cube = (distance * distance * distance).saturating_mul(u64::from(c.clamp(1, MAX_C)));
    let difference = cube >> CUBE_BITS;
    let window = if t >= k { w_max + difference } else { w_max.saturating_sub(difference) };
    window.min(MAX_WINDOW)
}

/// The window whose square root is larger by C / 2: `W + C sqrt(W) + C^2 / 4`.
pub fn w_root(c: u32, window: u64) -> u64 {
    let c = u64::from(c.clamp(1, MAX_C));
    window + ((c * (window << WINDOW_BITS).isqrt()) >> WINDOW_BITS) + ((c * c) >> (WINDOW_BITS + 2))
}

/// Integer cube root, rounded down.
pub fn cube_root(value: u64) -> u64 {
    let mut root = 0u64;
    for bit in (0..22).rev() {
        let candidate = root | 1 << bit;
        if candidate.checked_pow(3).is_some_and(|cube| cube <= value) {
            root = candidate;
        }
    }
    root
}
