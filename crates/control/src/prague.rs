//! Prague, the congestion control of L4S for the Internet: DCTCP with a fine alpha, paced, with growth that does not
//! depend on the round trip below a virtual round-trip time. State: alpha in real numbers ([`RealAlpha`]), the
//! observation window, the time of the last reduction, and a score that tells a Classic queue from one of L4S. Units:
//! bytes, microseconds. Sources: draft-briscoe-iccrg-prague-congestion-control; `tcp_prague.c` of the L4S team's Linux,
//! from which names and constants are; RFC 9331, 4.3. Slow start and the response to losses are Reno's.

use crate::options::{ControllerName, LONGEST, Marking, Parameters};
use crate::reno::{self, Reno, windows_of_reno};
use crate::window::{Ack, Basis, Loss, Start, Undo, Window};
use crate::{binary::Gain, ewma::RealAlpha, loss};
use shallop_core::{Bytes, Span, Time};
use shallop_options::{HostStack, Options};

/// Minimum cwnd after a reduction, in packets (Linux: `MIN_CWND`).
const MIN_CWND: u64 = 2;
/// Pacing rate after slow start, in per cent of cwnd / SRTT.
const PACING_PERCENT: u64 = 100;
/// A burst of segmentation offload has the data of 2^-12 s at the pacing rate (Linux: `prague_burst_shift`).
const BURST_SHIFT: u32 = 12;

/// Parameters of Prague.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults)]
pub struct Config {
    /// Slow start and the response to losses.
    #[part(loss::Config::reno(stack))]
    pub loss: loss::Config,
    /// The weight of the latest observation window in alpha: a power of two down to 1/1024 (Linux: `PRAGUE_SHIFT_G`).
    #[key(Above(0.0, 1.0), default = Gain::new(4))]
    pub gain: Gain,
    /// The virtual round-trip time: flows with a shorter round trip grow, average and reduce as if they had this one
    /// (Linux: `prague_rtt_target`). `"0s"`: each flow follows its own round trip.
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_ms(25))]
    pub virtual_rtt: Span,
    /// Round trips after slow start for which a flow still follows its own round-trip time, so that short flows are
    /// not slowed (Linux: `prague_rtt_transition`).
    #[key(Integer(0, 1_000_000), default = 500)]
    pub rtt_transition: u32,
    /// Whether a sender that takes the queue for a Classic one answers marks as Reno would (Linux:
    /// `prague_ecn_fallback`).
    #[key(default = false)]
    pub classic_fallback: bool,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "prague",
        about: "marks of L4S: as much as the part that is marked",
        marking: Marking::Exact,
    }];
    const IS_L4S: bool = true;

    fn initial_threshold(&self) -> Option<Bytes> {
        self.loss.slow_start.initial_threshold
    }
}

impl Config {
    /// Prague of Linux on a host without segmentation offload.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
}

/// Evidence that the marks come from a Classic queue: a score that rises while the round-trip time varies by more than
/// [`Classic::VARIATION`] or the queue is deeper than [`Classic::DEPTH`], and falls while it varies by less.
#[derive(Clone, Copy, Debug, Default)]
struct Classic {
    /// Mean of the round-trip time and of its deviation, in microseconds.
    srtt: f64,
    deviation: f64,
    score: f64,
}

impl Classic {
    /// Variation and depth of the queue, in microseconds, from which on the score rises (Linux: `V0_LG`, `D0_LG`).
    const VARIATION: f64 = 750.0;
    const DEPTH: f64 = 2_000.0;
    /// The sender takes the queue for one of L4S up to this score, and for a Classic one from one more on; alpha has a
    /// floor that rises between the two (Linux: `L_STICKY`). The score is at most `MAX`.
    const L4S: f64 = 8.0;
    const MAX: f64 = 17.0;
    /// The least alpha that counts behind a Classic queue.
    const ALPHA: f64 = 0.625;

    /// Averages a round-trip time over about 2 W^1.5 packets, with W of `packets` (Linux: `prague_update_rtt_scaling`).
    fn on_rtt(&mut self, rtt: Span, packets: u64) {
        let rtt = rtt.as_secs_f64() * 1e6;
        let log = packets.max(1).ilog2();
        let weight = 1.0 / f64::from(1_u32 << (log + log / 2 + 1).min(18));
        if self.srtt == 0.0 {
            (self.srtt, self.deviation) = (rtt, 1.0);
        }
        let error = rtt - self.srtt;
        self.srtt += weight * error;
        self.deviation += weight / 2.0 * (error.abs() - self.deviation);
    }

    /// Updates the score at the end of an observation window.
    fn end_window(&mut self, min_rtt: Span) {
        let depth = self.srtt - min_rtt.as_secs_f64() * 1e6;
        let vary = libm::log2(self.deviation.max(1.0) / Self::VARIATION) / 2.0;
        let deep = if depth > Self::DEPTH { libm::log2(depth / Self::DEPTH) / 2.0 } else { 0.0 };
        self.score = (self.score + vary + deep).clamp(0.0, Self::MAX);
    }

    /// The least alpha that counts.
    fn floor(&self) -> f64 {
        Self::ALPHA * (self.score - Self::L4S).clamp(0.0, 1.0)
    }
}

/// Prague congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Prague {
    reno: Reno,
    /// The fraction of cwnd or flight that a loss leaves.
    beta: f64,
    basis: Basis,
    mss: Bytes,
    /// Growth of less than a byte, in bytes (Linux: `cwnd_cnt`).
    carry: f64,
    alpha: RealAlpha,
    /// Whether a mark has arrived; alpha is 1 until then (Linux: `saw_ce`).
    saw_ce: bool,
    /// The observation window ends when SND.UNA reaches it, and the virtual round-trip time has passed since it began.
    window_end: u64,
    window_start: Time,
    last_reduction: Option<Time>,
    /// Observation windows since slow start ended (Linux: `round`).
    rounds: u32,
    transition: u32,
    virtual_rtt: Span,
    srtt: Span,
    classic: Option<Classic>,
}

impl Prague {
    /// Prague for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let reno = Reno::new(&reno::Config { loss: config.loss, pacing: true }, start);
        Self {
            reno: reno.paced_at(PACING_PERCENT),
            beta: 1.0 - config.loss.decrease,
            basis: config.loss.basis,
            mss: start.mss,
            carry: 0.0,
            alpha: RealAlpha::new(1.0, config.gain.value()),
            saw_ce: false,
            window_end: 0,
            window_start: Time::ZERO,
            last_reduction: None,
            rounds: 0,
            transition: config.rtt_transition,
            virtual_rtt: config.virtual_rtt,
            srtt: Span::ZERO,
            classic: config.classic_fallback.then(Classic::default),
        }
    }

    /// The average fraction of marked bytes (alpha), 0 to 1.
    pub const fn alpha(&self) -> f64 {
        self.alpha.value()
    }

    fn in_slow_start(&self) -> bool {
        self.reno.window() < self.reno.slow_start_threshold()
    }

    /// Whether the flow behaves as if its round trip took the virtual round-trip time (Linux: `prague_is_rtt_indep`).
    fn is_rtt_independent(&self) -> bool {
        self.rounds >= self.transition && !self.in_slow_start() && self.srtt < self.virtual_rtt
    }

    /// Whether a virtual round trip, if it is longer than the real one, has passed since `from`.
    fn has_passed(&self, from: Time, now: Time) -> bool {
        !self.is_rtt_independent() || now.saturating_since(from) >= self.virtual_rtt
    }

    /// Grows by the data that was not marked: by a segment in each round trip if none was, or by so much less that the
    /// rate grows as with the virtual round trip (Linux: `prague_rate_scaled_ai_ack_increase`).
    fn grow(&mut self, ack: &Ack) {
        let unmarked = ack.acked_sacked.saturating_sub(ack.marked);
        if self.in_slow_start() {
            self.reno.grow(&Ack { acked_sacked: unmarked, ..*ack });
            return;
        }
        self.reno.update_pacing(ack);
        if ack.in_cwnd_reduction || ack.snd_una_advance == Bytes::ZERO || !ack.is_cwnd_limited {
            return;
        }
        let scale = if self.is_rtt_independent() { self.srtt.ratio(self.virtual_rtt) } else { 1.0 };
        let cwnd = self.reno.window();
        self.carry += self.mss.get() as f64 * unmarked.ratio(cwnd) * scale * scale;
        let whole = Bytes::new(self.carry as u64);
        self.carry -= whole.get() as f64;
        self.reno.set(cwnd + whole, self.reno.slow_start_threshold());
    }

    /// Ends the observation window and begins the next.
    fn end_window(&mut self, ack: &Ack) {
        if self.saw_ce {
            self.alpha.end_window();
            if let Some(classic) = &mut self.classic {
                classic.end_window(ack.min_rtt);
            }
        }
        self.begin_window(ack);
        self.rounds = if self.in_slow_start() { self.rounds } else { self.rounds.saturating_add(1) };
    }

    fn begin_window(&mut self, ack: &Ack) {
        (self.window_end, self.window_start) = (ack.snd_nxt, ack.now);
    }

    /// Reduces by alpha / 2, at most once in a virtual round trip (Linux: `prague_enter_cwr`). Linux lets a mark
    /// within it begin a real round trip in which no mark counts, so that its reductions come in multiples of the real
    /// one; here the first mark after a virtual round trip counts, as the draft has it.
    fn reduce(&mut self, now: Time) {
        if self.last_reduction.is_some_and(|last| !self.has_passed(last, now)) {
            return;
        }
        self.last_reduction = Some(now);
        let alpha = self.alpha.value().max(self.classic.map_or(0.0, |classic| classic.floor()));
        let reduced = self.reno.window().get() as f64 * (1.0 - alpha / 2.0);
        self.reno.reduce_amid_growth(Bytes::new(reduced as u64), MIN_CWND);
    }

    /// cwnd after a loss, in bytes.
    fn reduced_for_loss(&self, loss: &Loss) -> Bytes {
        Bytes::new((self.basis.bytes(self.reno.window(), loss).get() as f64 * self.beta) as u64)
    }
}

impl Window for Prague {
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        if let (Some(classic), Some(rtt)) = (&mut self.classic, ack.rtt) {
            classic.on_rtt(rtt, self.reno.slow_start_threshold().get() / self.mss.get());
        }
        if !self.saw_ce && ack.marked != Bytes::ZERO {
            self.saw_ce = true;
            self.begin_window(ack);
        }
        if self.saw_ce {
            self.alpha.count(ack.acked_sacked, ack.marked);
        }
        if ack.snd_una >= self.window_end && self.has_passed(self.window_start, ack.now) {
            self.end_window(ack);
        }
        if ack.marked != Bytes::ZERO && self.is_rtt_independent() && !ack.in_cwnd_reduction {
            self.reduce(ack.now);
        }
        self.grow(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.reduce(self.reduced_for_loss(loss), MIN_CWND);
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reno.reset(first.then(|| self.reduced_for_loss(loss)));
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.reduce(mark.now);
    }

    fn on_idle(&mut self, idle: Span) {
        self.reno.on_idle(idle);
    }

    fn on_undo(&mut self, undo: &Undo) {
        self.reno.on_undo(undo);
    }

    windows_of_reno!();

    /// About a quarter of a millisecond, so that bursts stay below the thresholds of L4S queues.
    fn max_tso_segs(&self) -> u32 {
        let bytes = self.pacing().map_or(0, |rate| (rate.get() / 8) >> BURST_SHIFT);
        u32::try_from(bytes / self.mss.get()).unwrap_or(u32::MAX).max(self.min_tso_segs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_rises_by_half_a_binary_logarithm_of_variation_and_depth() {
        // The deviation, 3 ms, is four times its reference of 750 us and adds log2(4) / 2 = 1. The depth, 28 - 20 ms,
        // is four times its reference of 2 ms and adds 1, too.
        let mut classic = Classic { srtt: 28_000.0, deviation: 3_000.0, score: 0.0 };
        let floors: Vec<f64> = (0..6)
            .map(|_| {
                classic.end_window(Span::from_ms(20));
                classic.floor()
            })
            .collect();
        assert_eq!(floors, [0.0, 0.0, 0.0, 0.0, 0.625, 0.625]);
        // A shallow, steady queue: 187.5 us are a quarter of the reference.
        (classic.srtt, classic.deviation) = (20_500.0, 187.5);
        (0..4).for_each(|_| classic.end_window(Span::from_ms(20)));
        assert!((classic.score - 8.0).abs() < 1e-9 && classic.floor() == 0.0, "{classic:?}");
    }
}
