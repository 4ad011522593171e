//! Gemini: two signals, one window. Marks tell of queues in a data centre, a delay that lasts tells of queues in the
//! wide area. Marks take alpha F of the window, F = 4K / (C RTT + K), delay takes beta, both together the larger; an
//! acknowledgement that tells of neither adds h / window, h = H C RTT. Always paced; slow start and losses as in Reno.
//!
//! State: whole segments and what was grown towards the next ([`law`] has the formats), alpha in 1/1024, the shortest
//! round trip of all and that of the present window of data. One answer to one congestion: no cut before data sent
//! after the last one is acknowledged, and delay counts only where all that was measured was sent after the last
//! answer to delay. Arithmetic is on integers. Units: segments, bits, nanoseconds. Source: gemini-flashpass-thesis,
//! chapter 3, Algorithm 1; kernel: `tcp_dctcp.c` for alpha, `tcp_cong.c` for slow start and losses.

pub mod law;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span, Stream};

use crate::ewma::Marked;
use crate::hystart::{self, SlowStart, Step};
use crate::pacing::Pacing;
use crate::window::{Ack, Basis, Loss, Start, Window};
use law::{CUT_BITS, INCREASE_BITS, STEP_BITS, Segments};

/// A packet of a threshold in packets: a full frame of the usual size, as it occupies the link.
pub const PACKET: Bytes = Bytes::new(1_538);
/// F and h before the first round-trip sample: those of DCTCP and Reno.
const UNKNOWN: (u64, u64) = (1 << (CUT_BITS - 1), 1 << STEP_BITS);

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
    /// Delay counts again in the window after a cut, which was sent before it: Algorithm 1, read literally.
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
        recount: false,
        basis: Basis::Window,
        slow_start: hystart::Config { limit: u64::MAX, exit: hystart::Exit::Loss },
    };
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

    /// Takes in what an acknowledgement tells; a window of data ends when all that was sent at its begin is
    /// acknowledged.
    fn observe(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        self.marked.count(ack.acked, ack.marked);
        if let Some(rtt) = ack.rtt {
            let rtt = self.delay.sample(rtt);
            if rtt < self.delay.base {
                self.delay.base = rtt;
                let product = law::product(self.capacity, rtt);
                self.scale = law::scale(self.mark, product);
                self.step = law::step(self.increase, product);
            }
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
    fn sample(&mut self, rtt: Span) -> Span {
        let error = match &mut self.noise {
            Some((stream, most)) => stream.below(most.as_ps().saturating_add(1)),
            None => 0,
        };
        let rtt = Span::from_ps(rtt.as_ps().saturating_add(error));
        self.least = self.least.min(rtt);
        rtt
    }
}

/// A fraction in units of 2^-`bits`.
fn fixed(value: f64, bits: u32) -> u64 {
    (value * (1u64 << bits) as f64).round() as u64
}

impl Window for Gemini {
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
