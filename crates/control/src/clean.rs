//! CLEAN's law: the window that a proxy at the last hop enforces on one flow, from the marks on the data it passes on.
//! After a mark the window shrinks, at most once for each window of data, and returns to where it was along CUBIC's
//! curve. State: the window, the curve, what was answered, and the part that was marked ([`crate::ewma`]). Integers
//! only, so that a kernel computes the same numbers. Source: clean-campus, Algorithm 1, (1) to (3); docs/clean.md.
//!
//! | what | format | largest |
//! |---|---|---|
//! | windows: the present one, `W_max`, `W_min` | 2^-10 segments | [`MOST_WINDOW`], 2^20 segments |
//! | times on the curve: t, K | 2^-10 s, from nanoseconds | 2^21, more counts as that |
//! | C, the steepness of the curve | 2^-10 segments per cubic second | [`MOST_SCALE`], 2^12 |
//! | alpha, the part that was marked | 2^-10 | 1 |
//! | sequence numbers | bytes, modulo 2^32 as in TCP | |
//!
//! No product but one exceeds 64 bits; that one saturates ([`curve`]).

use shallop_core::{Bytes, Span, Time};

use crate::ewma::Marked;
use crate::ewma::smooth;

/// Windows are in 2^-10 segments.
pub const WINDOW_BITS: u32 = 10;
/// A segment.
pub const SEGMENT: u64 = 1 << WINDOW_BITS;
/// The largest window.
pub const MOST_WINDOW: u64 = 1 << (20 + WINDOW_BITS);
/// The largest C.
pub const MOST_SCALE: u32 = 1 << 12;
/// Half of the space of sequence numbers, less one: no window reaches further ahead.
const MOST_AHEAD: u64 = (1 << 31) - 1;
/// The longest time on the curve, 2,048 seconds.
const MOST_TICKS: u64 = 1 << 21;
/// What scales a cube of ticks to 2^-10 segments: 2^-30 for the cube and 2^-10 for C, less 2^10.
const CUBE_BITS: u32 = 30;

/// What is left of a window after a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Decrease {
    /// Half (Algorithm 1, line 6).
    Half,
    /// 1 - alpha / 2, with alpha the part that was marked (2).
    #[default]
    Marked,
}

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What is left of a window after a mark.
    pub decrease: Decrease,
    /// C in 2^-10 segments per cubic second, from 1 to [`MOST_SCALE`].
    pub scale: u32,
    /// The weight of the latest window of data is 2 to the power of minus this, at most [`Marked::BITS`].
    pub shift: u32,
    /// Alpha at first, in 2^-10.
    pub alpha: u32,
    /// The window at first, in segments; no less than `least`.
    pub initial: u32,
    /// What a reduction leaves at least, in segments, at least one.
    pub least: u32,
}

impl Default for Config {
    /// C = 0.4 and g = 1/16. What the paper leaves open: alpha is 1 at first (RFC 8257), the window ten segments (RFC
    /// 6928), and two are left at least (Linux: `dctcp_ssthresh`).
    fn default() -> Self {
        let decrease = Decrease::default();
        Self { decrease, scale: 410, shift: 4, alpha: Marked::ONE, initial: 10, least: 2 }
    }
}

/// What is known of a segment of data that passes the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// When.
    pub now: Time,
    /// The number of its first byte.
    pub seq: u32,
    /// It was marked on its way.
    pub marked: bool,
    /// The number of the first byte that the sender may not send yet.
    pub allowed: u32,
    /// Bytes of payload in a full segment of this flow.
    pub segment: u16,
    /// Growth ends at this window; [`MOST_WINDOW`] for no such bound.
    pub most: u64,
}

/// The law for one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clean {
    /// Nanoseconds since the run began at the last mark (`epochStartTime`).
    epoch: u64,
    /// `windowSize`, `W_max`, and K for these.
    window: u64,
    peak: u64,
    delay: u64,
    /// `ecnCWRSeq`: a mark on data up to here was answered.
    answered: u32,
    /// A window of data ends before this.
    until: u32,
    passed: u32,
    marked: u32,
    alpha: u32,
    /// `isSlowStart`.
    slow_start: bool,
}

impl Clean {
    /// The law of a flow whose next byte has this number.
    #[must_use]
    pub fn new(config: &Config, next: u32) -> Self {
        let window = u64::from(config.initial.max(config.least).max(1)) << WINDOW_BITS;
        Self {
            epoch: 0,
            window: window.min(MOST_WINDOW),
            peak: 0,
            delay: 0,
            answered: next.wrapping_sub(1),
            until: next,
            passed: 0,
            marked: 0,
            alpha: config.alpha.min(Marked::ONE),
            slow_start: true,
        }
    }

    /// The window in 2^-10 segments.
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.window
    }

    /// The window in bytes, with segments of this size, rounded up.
    #[must_use]
    pub fn bytes(&self, segment: u16) -> Bytes {
        Bytes::new((self.window * u64::from(segment)).div_ceil(SEGMENT))
    }

    /// The part that was marked, in 2^-10.
    #[must_use]
    pub const fn alpha(&self) -> u32 {
        self.alpha
    }

    /// `ecnCWRSeq`: a mark on data up to here was answered.
    #[must_use]
    pub const fn answered(&self) -> u32 {
        self.answered
    }

    /// True until the first mark.
    #[must_use]
    pub const fn is_slow_start(&self) -> bool {
        self.slow_start
    }

    /// A segment passes.
    pub fn on_data(&mut self, config: &Config, passed: &Passed) {
        self.count(config, passed);
        let now = passed.now.since_start().as_ps() / 1_000;
        if passed.marked {
            self.epoch = now;
            if is_after(passed.seq, self.answered) {
                self.shrink(config, passed);
            }
        } else if self.slow_start {
            self.grow(self.window + SEGMENT, passed.most);
        } else {
            let elapsed = ticks(now.saturating_sub(self.epoch));
            self.grow(curve(config.scale, self.peak, self.delay, elapsed), passed.most);
        }
    }

    /// A silence of this length does not count on the curve.
    pub fn on_silence(&mut self, length: Span) {
        self.epoch = self.epoch.saturating_add(length.as_ps() / 1_000);
    }

    /// Counts it, after the window of data before it if that is over.
    fn count(&mut self, config: &Config, passed: &Passed) {
        if !is_after(self.until, passed.seq) {
            if self.passed > 0 {
                let (all, marked) = (u64::from(self.passed), u64::from(self.marked));
                self.alpha = smooth(self.alpha, config.shift.min(Marked::BITS), all, marked);
            }
            (self.passed, self.marked) = (0, 0);
            self.until = ahead(passed.seq, self.window, passed.segment);
        }
        self.passed = self.passed.saturating_add(1);
        self.marked = self.marked.saturating_add(u32::from(passed.marked));
    }

    fn shrink(&mut self, config: &Config, passed: &Passed) {
        self.peak = self.window;
        self.answered = ahead(passed.seq, self.window - SEGMENT, passed.segment);
        // What was let go by a larger window, or by one rounded up, is on its way as well.
        let sent = passed.allowed.wrapping_sub(1);
        if is_after(sent, self.answered) {
            self.answered = sent;
        }
        let left = left(self.window, config.decrease, self.alpha);
        let least = u64::from(config.least.max(1)) << WINDOW_BITS;
        self.window = left.max(least).min(self.peak);
        self.delay = delay(config.scale, self.peak - self.window);
        self.slow_start = false;
    }

    /// Takes over a window, but does not grow beyond `most`.
    fn grow(&mut self, window: u64, most: u64) {
        self.window = window.min(most.clamp(self.window, MOST_WINDOW));
    }
}

/// Whether a byte comes after another, by their numbers modulo 2^32.
const fn is_after(seq: u32, other: u32) -> bool {
    other.wrapping_sub(seq) > MOST_AHEAD as u32
}

/// The number of the byte a window of whole segments further on.
fn ahead(seq: u32, window: u64, segment: u16) -> u32 {
    let bytes = (window >> WINDOW_BITS) * u64::from(segment);
    seq.wrapping_add(bytes.min(MOST_AHEAD) as u32)
}

/// Nanoseconds in 2^-10 s, rounded down.
#[must_use]
pub fn ticks(ns: u64) -> u64 {
    // 2^41 ns are 2,199 s.
    (ns.min(1 << 41) << 10) / 1_000_000_000
}

/// What a mark leaves of a window.
#[must_use]
pub fn left(window: u64, decrease: Decrease, alpha: u32) -> u64 {
    match decrease {
        Decrease::Half => window >> 1,
        Decrease::Marked => {
            let alpha = u64::from(alpha.min(Marked::ONE));
            window - ((window * alpha) >> (Marked::BITS + 1))
        }
    }
}

/// K: the time after which the curve is back where it was, from what the window lost: the cube root of that over C.
#[must_use]
pub fn delay(scale: u32, lost: u64) -> u64 {
    cube_root((lost.min(MOST_WINDOW) << CUBE_BITS) / u64::from(scale.clamp(1, MOST_SCALE)))
}

/// The window on the curve `C (t - K)^3 + W_max`; zero where it would be negative.
#[must_use]
pub fn curve(scale: u32, peak: u64, delay: u64, elapsed: u64) -> u64 {
    let off = elapsed.abs_diff(delay).min(MOST_TICKS);
    // At most 2^63 before C.
    let cube = (off * off * off).saturating_mul(u64::from(scale.clamp(1, MOST_SCALE)));
    let by = cube >> CUBE_BITS;
    let window = if elapsed >= delay { peak + by } else { peak.saturating_sub(by) };
    window.min(MOST_WINDOW)
}

/// The largest whole number whose cube is not above this.
#[must_use]
pub fn cube_root(of: u64) -> u64 {
    let mut root = 0u64;
    for bit in (0..22).rev() {
        let next = root | 1 << bit;
        if next.checked_pow(3).is_some_and(|cube| cube <= of) {
            root = next;
        }
    }
    root
}
