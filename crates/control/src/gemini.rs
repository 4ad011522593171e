//! Gemini: two signals, one window. Marks tell of queues in a data centre, a delay that lasts tells of queues in the
//! wide area. Marks take alpha F of the window, F = 4K / (C RTT + K), delay takes beta, both together the larger; an
//! acknowledgement that tells of neither adds h / window, h = H C RTT. Always paced; slow start and losses as in Reno.
//!
//! State: whole segments and what was grown towards the next ([`law`] has the formats), alpha in 1/1024, the shortest
//! round trip of all and that of the present window of data. No cut before data sent after the last one is
//! acknowledged; without `recount` delay counts only where all that was measured was sent after the last answer to
//! delay. Arithmetic is on integers. Units: segments, bits, nanoseconds. Source: gemini-flashpass-thesis,
//! chapter 3, Algorithm 1; kernel: `tcp_dctcp.c` for alpha, `tcp_cong.c` for slow start and losses.

pub mod law;

use shallop_core::form::{Form, Part, key};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span, Stream, Time};

use crate::ewma::Marked;
use crate::hystart::{self, SlowStart, Step};
use crate::loss;
use crate::options::{Kind, LONGEST, Marking, Options, Refused};
use crate::pacing::Pacing;
use crate::reno;
use crate::window::{Ack, Basis, Loss, Start, Window};
use law::{CUT_BITS, INCREASE_BITS, STEP_BITS, Segments};

/// A packet of a threshold in packets: a full frame of the usual size, as it occupies the link.
pub const PACKET: Bytes = Bytes::new(1_538);
/// F and h before the first round-trip sample: those of DCTCP and Reno.
const UNKNOWN: (u64, u64) = (1 << (CUT_BITS - 1), 1 << STEP_BITS);

/// Options of its own.
pub const KEYS: Part = &[
    key(
        "capacity",
        Form::Rate(BitsPerSec::at_least_one(1_000_000), BitsPerSec::gbps(1_000)),
        "C: the bandwidth of the network. Default: that of the sender's link.",
    ),
    key(
        "k",
        Form::Buffer,
        "K: the threshold at which switches mark, as they say it. Default: \"76.9KB/Gbps\", 50 full frames.",
    ),
    key(
        "delay_threshold",
        Form::Time(Span::ZERO, LONGEST),
        "T: delay counts beyond this above the shortest. Default: \"5ms\".",
    ),
    key(
        "increase",
        Form::Number(0.0, 1e-3),
        "H: segments a round trip for each bit of C RTT, from 0.1 to 5 in all. Default: 1.2e-7.",
    ),
    key(
        "alpha_gain",
        Form::Number(1.0 / 1024.0, 1.0),
        "Weight of a window in the part that is marked: 1, 1/2, 1/4 to 1/1024. Default: 0.0625.",
    ),
    key(
        "rtt_noise",
        Form::Time(Span::ZERO, LONGEST),
        "Each round trip is measured too long by up to this, uniformly. Default: \"0s\".",
    ),
    key("dcn", Form::Truth, "Marks count. Default: true."),
    key("wan", Form::Truth, "Delay counts. Default: true."),
    key(
        "recount",
        Form::Truth,
        "Delay cuts again a round trip later, for data sent before the cut: as Algorithm 1 is written. Default: true.",
    ),
];

/// Its name.
pub const KINDS: &[Kind] =
    &[Kind { name: "gemini", keys: &[loss::KEYS, KEYS], marking: Marking::Exact }];

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// C, the bandwidth of the network; that of the flow's own link if not said.
    pub capacity: Option<BitsPerSec>,
    /// K, the threshold at which switches mark.
    pub mark: BufferSize,
    /// T: delay counts beyond this above the shortest.
    pub delay_threshold: Span,
    /// beta: the part of the window that delay takes.
    pub decrease: f64,
    /// H, in segments for each bit of C RTT.
    pub increase: f64,
    /// A window of data weighs 2^-`gain_shift` in alpha.
    pub gain_shift: u32,
    /// Each round-trip sample is too long by up to this, drawn uniformly.
    pub rtt_noise: Span,
    /// Marks count.
    pub dcn: bool,
    /// Delay counts.
    pub wan: bool,
    /// Delay counts again in the window after a cut, which was sent before it: Algorithm 1 as it is written. Otherwise
    /// each delay is answered once.
    pub recount: bool,
    /// What half is taken from after a loss.
    pub basis: Basis,
    /// Slow start.
    pub slow_start: hystart::Config,
}

impl Config {
    /// As in Table 3.4, on Linux: 50 packets for each Gb/s, 5 ms, 0.2, 1.2e-7.
    pub const THESIS: Self = Self {
        capacity: None,
        mark: BufferSize::PerGbps(Bytes::new(50 * PACKET.get())),
        delay_threshold: Span::from_ms(5),
        decrease: 0.2,
        increase: 1.2e-7,
        gain_shift: 4,
        rtt_noise: Span::ZERO,
        dcn: true,
        wan: true,
        recount: true,
        basis: Basis::Window,
        slow_start: hystart::Config { limit: u64::MAX, exit: hystart::Exit::Loss },
    };

    /// By its options. Slow start and losses are those of the host's Reno.
    ///
    /// # Errors
    /// As [`loss::slow_start`], and if a weight or a decrease is none that it can have.
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let (thesis, reno) = (Self::THESIS, reno::Config::of(options.host));
        let gain = options.or("alpha_gain", 1.0 / f64::from(1 << thesis.gain_shift));
        let Some(gain_shift) = Marked::shift(gain) else {
            let message = format!("{gain} is no power of a half");
            let help = "write 0.5, 0.25, 0.125, 0.0625 and so on";
            return Err(Refused::new("alpha_gain", message, help));
        };
        let decrease = options.or("decrease", thesis.decrease);
        if decrease > 0.5 {
            let message = format!("{decrease} is more than half");
            let help = "Gemini gives up half of its window at most";
            return Err(Refused::new("decrease", message, help));
        }
        Ok(Self {
            capacity: options.get("capacity"),
            mark: options.or("k", thesis.mark),
            delay_threshold: options.or("delay_threshold", thesis.delay_threshold),
            decrease,
            increase: options.or("increase", thesis.increase),
            gain_shift,
            rtt_noise: options.or("rtt_noise", thesis.rtt_noise),
            dcn: options.or("dcn", thesis.dcn),
            wan: options.or("wan", thesis.wan),
            recount: options.or("recount", thesis.recount),
            basis: loss::basis(options, reno.basis),
            slow_start: loss::slow_start(options, reno.slow_start)?,
        })
    }
}

/// What is known of round trips.
#[derive(Clone, Debug)]
struct Delay {
    /// The shortest of all, and of the present window of data; [`Span::MAX`] before the first.
    base: Span,
    least: Span,
    /// The shortest of the last window is too long, and nothing has been done about it.
    congested: bool,
    /// Data below was sent before the last answer to delay.
    answered: u64,
    noise: Option<(Stream, Span)>,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Gemini {
    capacity: BitsPerSec,
    mark: Bytes,
    threshold: Span,
    /// beta, H, F and h as `law` has them.
    beta: u64,
    increase: u64,
    scale: u64,
    step: u64,
    dcn: bool,
    wan: bool,
    recount: bool,
    basis: Basis,
    segment: Bytes,
    initial: u64,
    window: Segments,
    /// Slow start ends at so many segments; `u64::MAX` while unknown.
    slow_to: u64,
    /// Bytes acknowledged that are not a whole segment yet.
    odd: Bytes,
    marked: Marked,
    delay: Delay,
    /// The present window of data.
    round: (u64, u64),
    /// Data below was sent before the last cut.
    cut: u64,
    slow_start: SlowStart,
    pacing: Pacing,
}

impl Gemini {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        let capacity = config.capacity.unwrap_or(start.link);
        let mark = match config.mark {
            BufferSize::Packets(packets) => PACKET * u64::from(packets),
            size => size.bytes_at(capacity).unwrap_or(Bytes::ZERO),
        };
        let segments = |bytes: Bytes| bytes.get() / start.segment.get().max(1);
        let initial = segments(start.window).clamp(1, law::MOST_WINDOW);
        let unlimited = start.threshold == Bytes::MAX;
        let noise = || Seed::new(start.draw).stream("rtt noise", 0);
        Self {
            capacity,
            mark,
            threshold: config.delay_threshold,
            beta: fixed(config.decrease, CUT_BITS).min(law::MOST_CUT),
            increase: fixed(config.increase, INCREASE_BITS),
            scale: UNKNOWN.0,
            step: UNKNOWN.1,
            dcn: config.dcn,
            wan: config.wan,
            recount: config.recount,
            basis: config.basis,
            segment: start.segment,
            initial,
            window: Segments { whole: initial, grown: 0 },
            slow_to: if unlimited { u64::MAX } else { segments(start.threshold) },
            odd: Bytes::ZERO,
            marked: Marked::new(Marked::ONE, config.gain_shift),
            delay: Delay {
                base: Span::MAX,
                least: Span::MAX,
                congested: false,
                answered: 0,
                noise: (!config.rtt_noise.is_zero()).then(|| (noise(), config.rtt_noise)),
            },
            round: (0, 0),
            cut: 0,
            slow_start: SlowStart::new(&config.slow_start, start.segment).paced(true),
            pacing: Pacing::new(true),
        }
    }

    /// The shortest round trip so far; `None` before the first sample.
    #[must_use]
    pub fn base(&self) -> Option<Span> {
        (self.delay.base < Span::MAX).then_some(self.delay.base)
    }

    /// The smoothed part of the data that was marked, in 1/1024.
    #[must_use]
    pub const fn alpha(&self) -> u32 {
        self.marked.alpha()
    }

    /// F in 2^-20 and h in 2^-16.
    #[must_use]
    pub const fn factors(&self) -> (u64, u64) {
        (self.scale, self.step)
    }

    /// The shortest round trip of all decides F and h.
    fn learn(&mut self, rtt: Span) {
        if rtt < self.delay.base {
            self.delay.base = rtt;
            let product = law::product(self.capacity, rtt);
            self.scale = law::scale(self.mark, product);
            self.step = law::step(self.increase, product);
        }
    }

    /// Takes in what an acknowledgement tells; a window of data ends when all that was sent at its begin is
    /// acknowledged.
    fn observe(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        self.marked.count(ack.acked, ack.marked);
        if let Some(rtt) = ack.rtt {
            let rtt = self.delay.measured(rtt);
            self.delay.least = self.delay.least.min(rtt);
            self.learn(rtt);
        }
        if ack.una >= self.round.1 {
            self.marked.end_window();
            let fresh = self.recount || self.round.0 >= self.delay.answered;
            let known = fresh && self.delay.least < Span::MAX;
            let longest =
                Span::from_ps(self.delay.base.as_ps().saturating_add(self.threshold.as_ps()));
            self.delay.congested = self.wan && known && self.delay.least > longest;
            self.delay.least = Span::MAX;
            self.round = (ack.una, ack.next);
        }
    }

    /// Cuts the window for what the signals say, at most once in a round trip. Algorithm 1, lines 5 to 9.
    fn answer(&mut self, marked: bool, una: u64, next: u64) {
        if una <= self.cut {
            return;
        }
        let dcn = if marked { law::marked_cut(self.marked.alpha(), self.scale) } else { 0 };
        let wan = if self.delay.congested { self.beta } else { 0 };
        self.window = law::shrink(self.window, dcn.max(wan));
        self.slow_to = self.window.whole;
        self.cut = next;
        if self.delay.congested {
            self.delay.answered = next;
        }
        self.slow_start.on_congestion();
    }

    fn grow(&mut self, ack: &Ack) {
        if ack.recovering || ack.advanced == Bytes::ZERO || !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if self.window.whole < self.slow_to {
            match self.slow_start.on_ack(ack, self.window()) {
                Step::Leave => self.slow_to = self.window.whole,
                Step::Grow(by) => {
                    let grown = self.window.whole + self.segments(by);
                    self.window.whole = grown.min(self.slow_to).min(law::MOST_WINDOW);
                    acked = self.segment * grown.saturating_sub(self.slow_to);
                }
            }
            if self.window.whole < self.slow_to {
                return;
            }
        }
        let acked = self.segments(acked);
        self.window = law::grow(self.window, acked, self.step);
    }

    /// Whole segments among these bytes and what was left of earlier ones.
    fn segments(&mut self, bytes: Bytes) -> u64 {
        let all = bytes.saturating_add(self.odd).get();
        let segment = self.segment.get().max(1);
        self.odd = Bytes::new(all % segment);
        all / segment
    }

    /// Half of what a loss found, at least two segments.
    fn half(&self, loss: &Loss) -> u64 {
        let from = self.basis.of(self.window(), loss).get() / self.segment.get().max(1);
        (from / 2).max(2)
    }

    /// A loss answers what was seen before it.
    fn begin_anew(&mut self, whole: u64, loss: &Loss) {
        self.window = Segments { whole, grown: 0 };
        self.delay.congested = false;
        (self.cut, self.delay.answered) = (loss.next, loss.next);
        self.slow_start.on_congestion();
    }
}

impl Delay {
    /// A round trip, with the error it is given.
    fn measured(&mut self, rtt: Span) -> Span {
        let error = match &mut self.noise {
            Some((stream, most)) => stream.below(most.as_ps().saturating_add(1)),
            None => 0,
        };
        Span::from_ps(rtt.as_ps().saturating_add(error))
    }
}

/// A fraction in units of 2^-`bits`.
fn fixed(value: f64, bits: u32) -> u64 {
    (value * (1u64 << bits) as f64).round() as u64
}

impl Window for Gemini {
    /// The handshake's round trip is one of all (kernel: `tcp_min_rtt`). Nothing of the flow's own is queued then.
    fn on_handshake(&mut self, _now: Time, rtt: Span) {
        let rtt = self.delay.measured(rtt);
        self.learn(rtt);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.observe(ack);
        let marked = self.dcn && ack.marked > Bytes::ZERO;
        if marked || self.delay.congested {
            self.answer(marked, ack.una, ack.next);
        } else {
            self.grow(ack);
        }
    }

    /// Also where marks, which take less, have just shrunk the window (kernel: `dctcp_react_to_loss`).
    fn on_loss(&mut self, loss: &Loss) {
        self.slow_to = self.half(loss);
        self.begin_anew(self.slow_to, loss);
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        if first {
            self.slow_to = self.half(loss);
        }
        self.begin_anew(1, loss);
    }

    /// Marks echoed by an acknowledgement that delivered nothing; others were answered with it.
    fn on_mark(&mut self, mark: &Loss) {
        if self.dcn {
            self.answer(true, mark.una, mark.next);
        }
    }

    fn on_idle(&mut self, _idle: Span) {
        self.window.whole = self.window.whole.min(self.initial);
        self.window.grown = 0;
    }

    fn window(&self) -> Bytes {
        self.segment * self.window.whole
    }

    fn slow_start_threshold(&self) -> Bytes {
        Bytes::new(self.segment.get().saturating_mul(self.slow_to))
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.window(), self.slow_start_threshold())
    }
}
