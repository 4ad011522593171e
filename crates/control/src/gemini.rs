//! Gemini: two congestion signals. Marks (ECN) indicate congestion in a data centre network (DCN), an increased RTT
//! indicates congestion in a wide area network (WAN). Marks reduce cwnd by `f_dcn = alpha F`, with
//! `F = 4K / (C RTT_base + K)`, delay reduces it by `f_wan = beta`; if both signals are present, the larger reduction
//! applies. An ACK without either signal adds `h / cwnd` segments, with `h = H C RTT_base`. Packets are always paced;
//! slow start and the response to losses are Reno's.
//!
//! State: cwnd ([`law`] has the formats), alpha in 2^-10, `RTT_base`, the minimum RTT of the connection, and `RTT_min`,
//! the minimum of the current window of data. cwnd is reduced at most once per window of data. With `recount` off the
//! delay signal counts only if all of its samples are of data sent after the last reduction for delay. All arithmetic
//! is in integers. Units: segments, bits, nanoseconds. Sources: Zeng et al., Congestion Control for Cross-Datacenter
//! Networks (ICNP 2019), and Zeng's doctoral thesis, chapter 3, Algorithm 1; kernel: `tcp_dctcp.c` for alpha,
//! `tcp_cong.c` for slow start and losses.

mod competitive;
pub mod law;

use crate::hystart::{self, SlowStart, SlowStartStep};
use crate::loss;
use crate::options::{ControllerName, LONGEST, Marking, Parameters};
use crate::pacing::Pacing;
use crate::window::{Ack, Basis, Loss, Start, Undo, Window};
use crate::{binary::Gain, ewma::Alpha};
use competitive::Competitive;
use law::{Cwnd, H_BITS, REDUCTION_BITS, STEP_BITS};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span, Stream, Time};
use shallop_options::{HostStack, Options, Problem, Section};

/// Size of a packet if the marking threshold K is in packets: an Ethernet frame with 1,500 bytes of payload, preamble
/// and inter-frame gap.
pub const PACKET: Bytes = Bytes::new(1_538);
/// Scale factor F before the first RTT sample: 1/2 as in DCTCP, in 2^-20. The increase step h is then one segment as in
/// Reno.
const DEFAULT_SCALE_FACTOR: u64 = 1 << (REDUCTION_BITS - 1);
const DEFAULT_STEP: u64 = 1 << STEP_BITS;

/// Parameters of Gemini, as a scenario sets them. Symbols and defaults: Table 3.4 of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults, check)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of a scenario")]
pub struct Config {
    /// C, the bandwidth of the network. The sender's link has the rate `access_rate` of the topology, so that this
    /// changes C unless `capacity` is written.
    #[key(Rate(BitsPerSec::at_least_one(1_000_000), BitsPerSec::gbps(1_000)), shown = "the rate of the sender's link")]
    pub capacity: Option<BitsPerSec>,
    /// K, the queue length at which switches mark, written as the `mark.above` of a switch; the default is 50 full
    /// frames of 1538 B per Gb/s.
    #[key(default = BufferSize::PerGbps(Bytes::new(50 * PACKET.get())))]
    pub k: BufferSize,
    /// T, the queueing delay above which the wide area counts as congested: the round-trip time less its minimum.
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_ms(5))]
    pub delay_threshold: Span,
    /// beta, the fraction of the congestion window given up for delay; 0.5 at most.
    #[key(Above(0.0, 0.99), default = 0.2)]
    pub decrease: f64,
    /// The largest fraction of the congestion window that marks take at once. The thesis has no bound (1): alpha F can
    /// exceed 1, and two segments are then left.
    #[key(Number(0.5, 1.0), default = 0.5)]
    pub max_reduction: f64,
    /// H: the additive increase in segments per round trip for each bit of C RTT. The increase is between 0.1 and 5
    /// segments.
    #[key(Number(0.0, 1e-3), default = 1.2e-7)]
    pub increase: f64,
    /// The gain of the moving average of marked bytes (g of DCTCP): a power of two down to 1/1024.
    #[key(Number(1.0 / 1024.0, 1.0), default = Gain::new(4))]
    pub alpha_gain: Gain,
    /// An error of measurement: each round-trip sample is too long by a time drawn uniformly from zero to this
    /// (Table 3.5).
    #[key(Time(Span::ZERO, LONGEST), default = Span::ZERO)]
    pub rtt_noise: Span,
    /// Whether marks reduce the window.
    #[key(default = true)]
    pub dcn: bool,
    /// Whether delay reduces the window.
    #[key(default = true)]
    pub wan: bool,
    /// Whether delay reduces the window again one round trip after a reduction, on the samples of data sent before
    /// it, as Algorithm 1 is written.
    #[key(default = true)]
    pub recount: bool,
    /// Whether the window follows CUBIC while other flows keep a queue that Gemini's reductions do not shorten.
    #[key(default = false)]
    pub competitive: bool,
    /// The quantity that losses halve: the bytes in flight (`"flight"`) or the congestion window (`"window"`).
    #[key(default = loss::Config::reno(stack).basis)]
    pub basis: Basis,
    /// Slow start.
    #[part(loss::Config::reno(stack).slow_start)]
    pub slow_start: hystart::Config,
}

/// A configuration in integers, as kernels use it ([`law`] has the formats).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    /// C, the bandwidth of the network, in Kb/s.
    pub capacity_kbps: u64,
    /// K, the marking threshold of switches, in bytes.
    pub mark_bytes: u64,
    /// T, the delay threshold, in nanoseconds.
    pub threshold_ns: u64,
    /// beta, the reduction for delay, in 2^-20.
    pub decrease: u64,
    /// H, the increase parameter, in 2^-40.
    pub increase: u64,
    /// Shift for the gain of alpha, which is 2^-`alpha_shift`.
    pub alpha_shift: u32,
    /// Whether marks reduce cwnd.
    pub dcn: bool,
    /// Whether delay reduces cwnd.
    pub wan: bool,
    /// Whether RTT samples of data sent before a reduction for delay may cause another reduction.
    pub recount: bool,
}

impl Integers {
    /// Converts back to a configuration in which every option has a value.
    pub fn config(&self) -> Config {
        let part = |value: u64, bits: u32| value as f64 / (1_u64 << bits) as f64;
        Config {
            capacity: Some(BitsPerSec::at_least_one(self.capacity_kbps * 1_000)),
            k: BufferSize::Bytes(Bytes::new(self.mark_bytes)),
            delay_threshold: Span::from_ns(self.threshold_ns),
            decrease: part(self.decrease, REDUCTION_BITS),
            increase: part(self.increase, H_BITS),
            alpha_gain: Gain::new(self.alpha_shift),
            dcn: self.dcn,
            wan: self.wan,
            recount: self.recount,
            ..Config::THESIS
        }
    }
}

impl Config {
    /// Converts to integers, for senders whose link has the rate `link`.
    pub fn integers(&self, link: BitsPerSec) -> Integers {
        let capacity = self.capacity.unwrap_or(link);
        Integers {
            capacity_kbps: capacity.get() / 1_000,
            mark_bytes: self.mark_above(capacity).map_or(0, Bytes::get),
            threshold_ns: self.delay_threshold.as_ps() / 1_000,
            decrease: fixed(self.decrease, REDUCTION_BITS).min(law::MAX_REDUCTION),
            increase: fixed(self.increase, H_BITS),
            alpha_shift: self.alpha_gain.shift(),
            dcn: self.dcn,
            wan: self.wan,
            recount: self.recount,
        }
    }
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "gemini",
        about: "marks in the data centre, delay in the wide area",
        marking: Marking::Exact,
    }];

    fn needs_each_mark(&self) -> bool {
        // The delay signal takes the place of marks where no switch marks.
        self.dcn && !self.wan
    }

    fn initial_threshold(&self) -> Option<Bytes> {
        self.slow_start.initial_threshold
    }
}

impl Config {
    /// Parameters of Table 3.4 of the thesis, with the TCP of Linux.
    pub const THESIS: Self = Self::defaults(HostStack::LinuxIdeal);

    /// Marking threshold K in bytes, in a network of this capacity; `None` if the buffer size has no bound.
    pub fn mark_above(&self, capacity: BitsPerSec) -> Option<Bytes> {
        match self.k {
            BufferSize::Packets(packets) => Some(PACKET * u64::from(packets)),
            size => size.bytes_at(capacity),
        }
    }

    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        if self.decrease <= 0.5 {
            return Ok(());
        }
        let message = format!("{} is more than half", self.decrease);
        let help = "Gemini gives up half of its window at most";
        Err(section.reject(Self::KEY.decrease, message).with_help(help))
    }
}

/// State of the delay signal, which indicates congestion in the wide area network.
#[derive(Clone, Debug)]
struct DelaySignal {
    /// Minimum RTT of the connection (`RTT_base`); [`Span::MAX`] before the first sample.
    rtt_base: Span,
    /// Minimum RTT of the current window of data (`RTT_min`); [`Span::MAX`] before its first sample.
    rtt_min: Span,
    /// Whether `RTT_min` of the last window was above `RTT_base + T`, and cwnd has not been reduced since.
    congested_wan: bool,
    /// SND.NXT at the last reduction of cwnd for delay, loss or RTO.
    snd_nxt_at_reduction: u64,
    /// Stream of random errors that are added to measured round-trip times, and their maximum; `None` without errors.
    noise: Option<(Stream, Span)>,
}

/// Gemini congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Gemini {
    /// Bandwidth C of the network.
    capacity: BitsPerSec,
    /// Queue length K at which switches mark.
    k: Bytes,
    /// Delay threshold T: queueing delay above which the WAN counts as congested.
    delay_threshold: Span,
    /// Reduction beta of cwnd for delay, in 2^-20.
    beta: u64,
    /// The largest reduction for marks, in 2^-20.
    max_f_dcn: u64,
    /// Parameter H of the additive increase, in 2^-40.
    h_parameter: u64,
    /// Scale factor F of the reduction for marks, in 2^-20.
    scale_factor: u64,
    /// Increase step h, in 2^-16 segments per round trip.
    step: u64,
    dcn: bool,
    wan: bool,
    recount: bool,
    basis: Basis,
    mss: Bytes,
    initial_window: u64,
    cwnd: Cwnd,
    /// Slow-start threshold in segments; `u64::MAX` before the first reduction.
    ssthresh: u64,
    /// Acknowledged bytes that do not yet fill a segment.
    partial_segment: Bytes,
    alpha: Alpha,
    delay: DelaySignal,
    /// SND.UNA and SND.NXT at the start of the current window of data.
    data_window: (u64, u64),
    /// SND.NXT at the last reduction of cwnd for any cause.
    snd_nxt_at_reduction: u64,
    slow_start: SlowStart,
    pacing: Pacing,
    /// `None` if the option is off.
    competitive: Option<Box<Competitive>>,
}

impl Gemini {
    /// Gemini for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let capacity = config.capacity.unwrap_or(start.link_rate);
        let k = config.mark_above(capacity).unwrap_or(Bytes::ZERO);
        let segments = |bytes: Bytes| bytes.get() / start.mss.get().max(1);
        let initial_window = segments(start.initial_window).clamp(1, law::MAX_CWND);
        let unlimited = start.initial_ssthresh == Bytes::MAX;
        let noise = || Seed::new(start.seed).stream("rtt noise", 0);
        Self {
            capacity,
            k,
            delay_threshold: config.delay_threshold,
            beta: fixed(config.decrease, REDUCTION_BITS).min(law::MAX_REDUCTION),
            max_f_dcn: fixed(config.max_reduction, REDUCTION_BITS),
            h_parameter: fixed(config.increase, H_BITS),
            scale_factor: DEFAULT_SCALE_FACTOR,
            step: DEFAULT_STEP,
            dcn: config.dcn,
            wan: config.wan,
            recount: config.recount,
            basis: config.basis,
            mss: start.mss,
            initial_window,
            cwnd: Cwnd { segments: initial_window, cwnd_cnt: 0 },
            ssthresh: if unlimited { u64::MAX } else { segments(start.initial_ssthresh) },
            partial_segment: Bytes::ZERO,
            alpha: Alpha::new(Alpha::MAX, config.alpha_gain.shift()),
            delay: DelaySignal {
                rtt_base: Span::MAX,
                rtt_min: Span::MAX,
                congested_wan: false,
                snd_nxt_at_reduction: 0,
                noise: (!config.rtt_noise.is_zero()).then(|| (noise(), config.rtt_noise)),
            },
            data_window: (0, 0),
            snd_nxt_at_reduction: 0,
            slow_start: SlowStart::new(&config.slow_start, start.mss).paced(true),
            pacing: Pacing::new(true),
            competitive: config.competitive.then(|| Competitive::new(start)),
        }
    }

    /// Minimum RTT of the connection (`RTT_base`); `None` before the first sample.
    pub fn rtt_base(&self) -> Option<Span> {
        (self.delay.rtt_base < Span::MAX).then_some(self.delay.rtt_base)
    }

    /// The average fraction of marked bytes (alpha), in 2^-10.
    pub const fn alpha(&self) -> u32 {
        self.alpha.value()
    }

    /// Scale factor F of the reduction for marks, in 2^-20.
    pub const fn scale_factor(&self) -> u64 {
        self.scale_factor
    }

    /// Increase step h, in 2^-16 segments per round trip.
    pub const fn increase_step(&self) -> u64 {
        self.step
    }

    /// Lowers `RTT_base` to a smaller sample, and updates F and h, which depend on it.
    fn update_rtt_base(&mut self, rtt: Span) {
        if rtt < self.delay.rtt_base {
            self.delay.rtt_base = rtt;
            let bdp = law::bdp(self.capacity, rtt);
            self.scale_factor = law::scale_factor(self.k, bdp);
            self.step = law::increase_step(self.h_parameter, bdp);
        }
    }

    /// Algorithm 1, lines 1 to 3: updates alpha, `RTT_base` and `RTT_min`, and the delay signal at the end of a window
    /// of data, when all data in flight at its beginning is acknowledged.
    fn update_transport_state(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        self.alpha.count(ack.acked_sacked, ack.marked);
        self.count_marks(ack);
        if let Some(rtt) = ack.rtt {
            let rtt = self.delay.with_noise(rtt);
            self.delay.rtt_min = self.delay.rtt_min.min(rtt);
            self.update_rtt_base(rtt);
        }
        let (window_start, window_end) = self.data_window;
        if ack.snd_una >= window_end {
            self.alpha.end_window();
            let sent_since = window_start >= self.delay.snd_nxt_at_reduction;
            let valid = (self.recount || sent_since) && self.delay.rtt_min < Span::MAX;
            let (base, threshold) = (self.delay.rtt_base.as_ps(), self.delay_threshold.as_ps());
            let limit = Span::from_ps(base.saturating_add(threshold));
            self.delay.congested_wan = self.wan && valid && self.delay.rtt_min > limit;
            self.end_window_of_queue(ack.now);
            self.delay.rtt_min = Span::MAX;
            self.data_window = (ack.snd_una, ack.snd_nxt);
        }
    }

    /// Algorithm 1, lines 5 to 9: reduces cwnd for the present signals, at most once per round trip.
    fn reduce_cwnd(&mut self, congested_dcn: bool, snd_una: u64, snd_nxt: u64) {
        if snd_una <= self.snd_nxt_at_reduction {
            return;
        }
        self.note_cwnd_before_reduction();
        let alpha_f = || law::f_dcn_up_to(self.alpha.value(), self.scale_factor, self.max_f_dcn);
        let f_dcn = if congested_dcn { alpha_f() } else { 0 };
        let f_wan = if self.delay.congested_wan { self.beta } else { 0 };
        self.cwnd = law::reduce_by(self.cwnd, f_dcn.max(f_wan));
        self.ssthresh = self.cwnd.segments;
        self.snd_nxt_at_reduction = snd_nxt;
        if self.delay.congested_wan {
            self.delay.snd_nxt_at_reduction = snd_nxt;
        }
        self.slow_start.on_congestion();
    }

    /// Grows cwnd in slow start, or by h per round trip (Algorithm 1, lines 11 and 12).
    fn grow(&mut self, ack: &Ack) {
        if ack.in_cwnd_reduction || ack.snd_una_advance == Bytes::ZERO || !ack.is_cwnd_limited {
            return;
        }
        let mut acked = ack.acked_sacked;
        if self.cwnd.segments < self.ssthresh {
            match self.slow_start.on_ack(ack, self.window()) {
                SlowStartStep::Exit => self.ssthresh = self.cwnd.segments,
                SlowStartStep::Grow(by) => {
                    let grown = self.cwnd.segments + self.whole_segments(by);
                    self.cwnd.segments = grown.min(self.ssthresh).min(law::MAX_CWND);
                    acked = self.mss * grown.saturating_sub(self.ssthresh);
                }
            }
            if self.cwnd.segments < self.ssthresh {
                return;
            }
        }
        let acked = self.whole_segments(acked);
        self.cwnd = law::grow(self.cwnd, acked, self.step);
    }

    /// Number of whole segments in `bytes` plus the partial segment before; the rest is the new partial segment.
    fn whole_segments(&mut self, bytes: Bytes) -> u64 {
        let total = bytes.saturating_add(self.partial_segment).get();
        let mss = self.mss.get().max(1);
        self.partial_segment = Bytes::new(total % mss);
        total / mss
    }

    /// ssthresh after a loss or RTO, in segments: half of the basis, at least two.
    fn ssthresh_for_loss(&self, loss: &Loss) -> u64 {
        let basis = self.basis.bytes(self.window(), loss).get() / self.mss.get().max(1);
        (basis / 2).max(2)
    }

    /// Sets cwnd after a loss or RTO, which also answers the delay signal before it.
    fn set_cwnd_for_loss(&mut self, segments: u64, loss: &Loss) {
        self.cwnd = Cwnd { segments, cwnd_cnt: 0 };
        self.delay.congested_wan = false;
        self.snd_nxt_at_reduction = loss.snd_nxt;
        self.delay.snd_nxt_at_reduction = loss.snd_nxt;
        self.slow_start.on_congestion();
    }
}

impl DelaySignal {
    /// Adds a random measurement error to an RTT sample, if the scenario asks for it.
    fn with_noise(&mut self, rtt: Span) -> Span {
        let error = match &mut self.noise {
            Some((stream, max)) => stream.below(max.as_ps().saturating_add(1)),
            None => 0,
        };
        Span::from_ps(rtt.as_ps().saturating_add(error))
    }
}

/// A real number as fixed point with `bits` fractional bits.
fn fixed(value: f64, bits: u32) -> u64 {
    (value * (1u64 << bits) as f64).round() as u64
}

impl Window for Gemini {
    /// Counts the RTT of the handshake for `RTT_base` (kernel: `tcp_min_rtt`), since no data of the flow is queued at
    /// that time.
    fn on_handshake(&mut self, _now: Time, rtt: Span) {
        let rtt = self.delay.with_noise(rtt);
        self.update_rtt_base(rtt);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.update_transport_state(ack);
        let congested_dcn = self.dcn && ack.marked > Bytes::ZERO;
        match congested_dcn || self.delay.congested_wan {
            _ if self.compete(ack) => {}
            true => self.reduce_cwnd(congested_dcn, ack.snd_una, ack.snd_nxt),
            false => self.grow(ack),
        }
    }

    /// Halves cwnd even if marks have just reduced it, as that reduction may be small (kernel: `dctcp_react_to_loss`).
    fn on_loss(&mut self, loss: &Loss) {
        self.ssthresh = self.ssthresh_for_loss(loss);
        self.set_cwnd_for_loss(self.ssthresh, loss);
        self.on_loss_of_cubic(loss, None);
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        if first {
            self.ssthresh = self.ssthresh_for_loss(loss);
        }
        self.set_cwnd_for_loss(1, loss);
        self.on_loss_of_cubic(loss, Some(first));
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.end_recovery();
    }

    /// Reduces cwnd for ECN-Echo on an ACK that delivered no data. `on_ack` handles all other ACKs with ECN-Echo.
    fn on_mark(&mut self, mark: &Loss) {
        if self.dcn && !self.is_competing() {
            self.reduce_cwnd(true, mark.snd_una, mark.snd_nxt);
        }
    }

    fn on_idle(&mut self, _idle: Span) {
        self.stop_competing();
        self.cwnd.segments = self.cwnd.segments.min(self.initial_window);
        self.cwnd.cwnd_cnt = 0;
    }

    /// Restores cwnd as DCTCP does, from which the kernel module is derived. Marks and delay still reduce cwnd at most
    /// once per round trip.
    fn on_undo(&mut self, undo: &Undo) {
        let segments = |bytes: Bytes| bytes.get() / self.mss.get().max(1);
        let (cwnd, ssthresh) = (segments(undo.prior_cwnd), segments(undo.prior_ssthresh));
        self.cwnd.segments = self.cwnd.segments.max(cwnd);
        let unlimited = undo.prior_ssthresh == Bytes::MAX;
        self.ssthresh = if unlimited { u64::MAX } else { self.ssthresh.max(ssthresh) };
        self.undo_cubic(undo);
    }

    fn window(&self) -> Bytes {
        self.mss * self.cwnd.segments
    }

    fn slow_start_threshold(&self) -> Bytes {
        Bytes::new(self.mss.get().saturating_mul(self.ssthresh))
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.window(), self.slow_start_threshold())
    }
}
