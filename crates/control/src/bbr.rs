//! BBR, version 1. A model of the path, its bottleneck bandwidth (`bw`) and its round-trip propagation delay
//! (`min_rtt`), sets the pacing rate and cwnd; losses and congestion marks do not. State: the model, the mode (STARTUP,
//! DRAIN, `PROBE_BW`, `PROBE_RTT`), and cwnd before a recovery or `PROBE_RTT`. Units: bytes; bits per second; gains in
//! 256ths (`BBR_UNIT`). Variables have the names of the source. Sources: kernel, `tcp_bbr.c`, with its estimate of ACK
//! aggregation (`bbr/ack_aggregation.rs`) and its long-term bandwidth sampling for policers (`bbr/lt_bw.rs`);
//! draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! Differences from Linux: time is not rounded to jiffies. Bytes in flight need no correction for packets in the pacing
//! queue (`bbr_packets_in_net_at_edt`), since a packet counts as in flight here when it leaves the host. RTT samples
//! carry no flag for delayed ACKs (`is_ack_delayed`).

mod ack_aggregation;
mod config;
mod cwnd;
mod lt_bw;

use crate::win_minmax::WindowedMax;
use crate::window::{Ack, Loss, RateSample, Start, Undo, Window};
use ack_aggregation::AckAggregation;
pub use config::Config;
use lt_bw::LtBw;
use shallop_core::{BitsPerSec, Bytes, Span, Time, seed};

/// A gain of 1 in fixed point: gains are in units of 1/256.
const BBR_UNIT: u64 = 256;
/// 2 / ln 2, the smallest pacing gain that doubles the delivery rate every round trip; and its inverse, which drains
/// the queue of STARTUP within a round trip.
const HIGH_GAIN: u64 = 739;
const DRAIN_GAIN: u64 = 88;
/// Pacing gains of the phases of `PROBE_BW`: probe for bandwidth, drain the queue of the probe, cruise.
const PACING_GAINS: [u64; 8] = [320, 192, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT];
/// Number of phases with which `PROBE_BW` may begin: all but the draining one (kernel: `bbr_cycle_rand`).
const CYCLE_RAND: u64 = 7;
/// Length of the window of the maximum-bandwidth filter, in rounds (kernel: `bbr_bw_rtts`).
const BW_ROUNDS: u64 = 10;
/// The pipe is full if the bandwidth grew by less than 25 % in each of three rounds (kernel: `bbr_full_bw_thresh`,
/// `bbr_full_bw_cnt`).
const FULL_BW_THRESH: u64 = 320;
const FULL_BW_CNT: u32 = 3;
/// Minimum cwnd in segments, which sustains ACK clocking with delayed ACKs (kernel: `bbr_cwnd_min_target`).
const MIN_CWND: u64 = 4;
/// Pacing rate in per cent of the gain times `bw`: the margin of 1 % keeps the queue short (kernel:
/// `bbr_pacing_margin_percent`).
const PACING_PERCENT: u64 = 99;
/// RTT from which the initial pacing rate is computed if there is no RTT sample yet.
const NOMINAL_RTT: Span = Span::from_ms(1);
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// Mode of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the delivery rate every round trip until the pipe is full.
    Startup,
    /// Drains the queue that STARTUP created.
    Drain,
    /// `PROBE_BW`, with the phase of the gain cycle (`cycle_idx`): 0 probes for bandwidth, 1 drains, 2 to 7 cruise.
    ProbeBw(usize),
    /// `PROBE_RTT`: reduces cwnd to measure `min_rtt` with an empty queue.
    ProbeRtt,
}

/// State of the sender's loss recovery (kernel: `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    Open,
    /// Fast recovery after a loss.
    Recovery,
    /// Recovery after a retransmission timeout (RTO).
    Loss,
}

/// Progress of `PROBE_RTT` once bytes in flight have fallen to the minimum cwnd.
#[derive(Clone, Copy, Debug)]
struct ProbeRtt {
    /// Earliest time at which the mode may end (kernel: `probe_rtt_done_stamp`).
    done_stamp: Time,
    /// Whether a round trip has passed in the mode (kernel: `probe_rtt_round_done`).
    round_done: bool,
}

/// BBR congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: Config,
    mss: Bytes,
    initial_window: Bytes,
    cwnd: Bytes,
    /// cwnd before recovery or `PROBE_RTT` reduced it.
    prior_cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: BitsPerSec,
    /// Maximum delivery rate over the last rounds, in bits per second.
    bw: WindowedMax,
    /// Number of round trips so far (kernel: `rtt_cnt`).
    rtt_cnt: u64,
    /// The round ends when a packet is delivered that was sent at this value of `delivered` or later (kernel:
    /// `next_rtt_delivered`).
    next_rtt_delivered: Bytes,
    round_start: bool,
    /// Minimum RTT, and the time of its sample (kernel: `min_rtt_us`, `min_rtt_stamp`).
    min_rtt: Option<(Span, Time)>,
    mode: Mode,
    /// Time at which the current phase of the gain cycle began (kernel: `cycle_mstamp`).
    cycle_stamp: Time,
    /// State of the flow's pseudo-random number generator.
    random: u64,
    /// Bandwidth when it last grew by 25 %, and rounds since (kernel: `full_bw`, `full_bw_cnt`).
    full_bw: u64,
    full_bw_cnt: u32,
    probe_rtt: Option<ProbeRtt>,
    /// Packets sent while the count of delivered bytes was in this range were held back by `PROBE_RTT`. Their rate
    /// samples count as app-limited.
    probe_rtt_delivered: Option<(Bytes, Bytes)>,
    /// Whether transmission restarted after an idle period, and no ACK has arrived since.
    idle_restart: bool,
    ca_state: CaState,
    /// Recovery state of the sender at the previous ACK.
    prev_ca_state: CaState,
    /// Whether the first round of fast recovery is in progress: the sender then sends as many bytes as are delivered.
    packet_conservation: bool,
    /// Bytes delivered and bytes lost since the start of the connection.
    delivered: Bytes,
    lost: Bytes,
    ack_aggregation: AckAggregation,
    lt_bw: LtBw,
}

impl Bbr {
    /// BBR for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let mut new = Self {
            config: *config,
            mss: start.mss.max(Bytes::new(1)),
            initial_window: start.initial_window,
            cwnd: start.initial_window.max(start.mss),
            prior_cwnd: Bytes::ZERO,
            ssthresh: Bytes::MAX,
            pacing_rate: BitsPerSec::at_least_one(1),
            bw: WindowedMax::default(),
            rtt_cnt: 0,
            next_rtt_delivered: Bytes::ZERO,
            round_start: false,
            min_rtt: None,
            mode: Mode::Startup,
            cycle_stamp: Time::ZERO,
            random: start.seed,
            full_bw: 0,
            full_bw_cnt: 0,
            probe_rtt: None,
            probe_rtt_delivered: None,
            idle_restart: false,
            ca_state: CaState::Open,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            ack_aggregation: AckAggregation::default(),
            lt_bw: LtBw::default(),
        };
        new.init_pacing_rate(NOMINAL_RTT);
        new
    }

    /// Current mode of the state machine.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Bottleneck bandwidth: `lt_bw` if a policer is detected, otherwise the maximum delivery rate; `None` before the
    /// first sample.
    pub fn bw(&self) -> Option<BitsPerSec> {
        BitsPerSec::new(self.lt_bw.bw().unwrap_or(self.bw.get()))
    }

    /// Round-trip propagation delay, the minimum RTT; `None` before the first sample.
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// Whether STARTUP has found the pipe full.
    fn full_bw_reached(&self) -> bool {
        self.full_bw_cnt >= FULL_BW_CNT
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw(_) if self.lt_bw.bw().is_some() => BBR_UNIT,
            Mode::ProbeBw(phase) => PACING_GAINS[phase],
            Mode::ProbeRtt => BBR_UNIT,
        }
    }

    fn cwnd_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(_) => (self.config.window_gain * BBR_UNIT as f64).round() as u64,
            Mode::ProbeRtt => BBR_UNIT,
        }
    }

    /// Sets the pacing rate to the high gain times cwnd / RTT (kernel: `bbr_init_pacing_rate_from_rtt`).
    fn init_pacing_rate(&mut self, rtt: Span) {
        let rate = bits_per_sec(self.cwnd, rtt.max(Span::from_us(1)));
        self.pacing_rate = pacing_rate(rate, HIGH_GAIN);
    }

    fn is_app_limited(&self, sample: &RateSample) -> bool {
        let sent_at = sample.prior_delivered;
        let in_probe_rtt = self.probe_rtt_delivered.is_some_and(|(from, to)| from <= sent_at && sent_at <= to);
        sample.is_app_limited || in_probe_rtt
    }

    /// Updates the round count and `bw`. Returns true if the sample is app-limited.
    fn update_bw(&mut self, ack: &Ack) -> bool {
        self.round_start = false;
        self.lost += ack.losses;
        self.delivered = ack.delivered;
        let Some(sample) = &ack.rate_sample else { return false };
        if sample.prior_delivered >= self.next_rtt_delivered {
            (self.next_rtt_delivered, self.round_start) = (ack.delivered, true);
            self.rtt_cnt += 1;
            self.packet_conservation = false;
        }
        let is_app_limited = self.is_app_limited(sample);
        self.lt_bw_sampling(ack.now, ack.losses > Bytes::ZERO, is_app_limited);
        let bw = bits_per_sec(sample.delivered, sample.interval);
        if !is_app_limited || bw >= self.bw.get() {
            self.bw.update(self.rtt_cnt, bw, BW_ROUNDS);
        }
        self.ack_aggregation.on_ack(ack, self.round_start, self.bw(), self.cwnd);
        is_app_limited
    }

    fn lt_bw_sampling(&mut self, now: Time, has_losses: bool, is_app_limited: bool) {
        if !self.config.policer {
            return;
        }
        let probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        let (delivered, lost, round_start) = (self.delivered, self.lost, self.round_start);
        let sample = lt_bw::Sample { now, delivered, lost, has_losses, is_app_limited, round_start };
        if self.lt_bw.on_sample(&sample, probe_bw) {
            self.enter_probe_bw(now);
        }
    }

    /// Enters `PROBE_BW` at a random phase, any but the draining one (kernel: `bbr_reset_probe_bw_mode`).
    fn enter_probe_bw(&mut self, now: Time) {
        self.random = seed::hash(self.random);
        let draw = ((u128::from(self.random) * u128::from(CYCLE_RAND)) >> 64) as usize;
        self.mode = Mode::ProbeBw((PACING_GAINS.len() - draw) % PACING_GAINS.len());
        self.cycle_stamp = now;
    }

    /// Advances the gain cycle at the end of a phase (kernel: `bbr_update_cycle_phase`).
    fn update_cycle_phase(&mut self, ack: &Ack) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let min_rtt = self.min_rtt().unwrap_or(Span::MAX);
        let is_full_length = ack.now.saturating_since(self.cycle_stamp) > min_rtt;
        let in_flight = ack.prior_in_flight;
        let done = match self.pacing_gain() {
            BBR_UNIT => is_full_length,
            // Lasts until the bytes of the gain are in flight, or a loss shows that the path cannot hold them.
            gain @ BBR_UNIT.. => is_full_length && (ack.losses > Bytes::ZERO || in_flight >= self.inflight(gain)),
            // Lasts until the queue of the probe is drained.
            _ => is_full_length || in_flight <= self.inflight(BBR_UNIT),
        };
        if done {
            self.mode = Mode::ProbeBw((phase + 1) % PACING_GAINS.len());
            self.cycle_stamp = ack.now;
        }
    }

    /// Enters DRAIN when the pipe is full, and `PROBE_BW` when the queue is drained (kernel:
    /// `bbr_check_full_bw_reached`, `bbr_check_drain`).
    fn check_full_bw_and_drain(&mut self, ack: &Ack, is_app_limited: bool) {
        if !self.full_bw_reached() && self.round_start && !is_app_limited {
            let bw = self.bw.get();
            if bw >= self.full_bw.saturating_mul(FULL_BW_THRESH) / BBR_UNIT {
                (self.full_bw, self.full_bw_cnt) = (bw, 0);
            } else {
                self.full_bw_cnt += 1;
            }
        }
        if self.mode == Mode::Startup && self.full_bw_reached() {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(BBR_UNIT);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.inflight(BBR_UNIT) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Updates `min_rtt`. Enters `PROBE_RTT` when it expires, and leaves it when it is done.
    fn update_min_rtt(&mut self, ack: &Ack) {
        let window = self.config.probe_rtt_every;
        let is_old = |(_, stamp): (Span, Time)| ack.now.saturating_since(stamp) > window;
        let expired = self.min_rtt.is_some_and(is_old);
        if ack.rtt.is_some() && self.min_rtt.is_none() {
            self.init_pacing_rate(ack.srtt);
        }
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt().is_none_or(|min_rtt| rtt < min_rtt))
        {
            self.min_rtt = Some((rtt, ack.now));
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            (self.mode, self.probe_rtt) = (Mode::ProbeRtt, None);
            self.save_cwnd();
            self.probe_rtt_delivered = Some((ack.delivered, ack.delivered));
        }
        if self.mode == Mode::ProbeRtt {
            let from = self.probe_rtt_delivered.map_or(ack.delivered, |(from, _)| from);
            self.probe_rtt_delivered = Some((from, ack.delivered + ack.in_flight));
            if let Some(probe_rtt) = &mut self.probe_rtt {
                probe_rtt.round_done |= self.round_start;
                if probe_rtt.round_done {
                    self.check_probe_rtt_done(ack.now);
                }
            } else if ack.in_flight <= self.mss * MIN_CWND {
                let done_stamp = ack.now + self.config.probe_rtt_for;
                self.probe_rtt = Some(ProbeRtt { done_stamp, round_done: false });
                self.next_rtt_delivered = ack.delivered;
            }
        }
        self.idle_restart = false;
    }

    /// Leaves `PROBE_RTT` if it has lasted long enough.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.is_none_or(|probe_rtt| now <= probe_rtt.done_stamp) {
            return;
        }
        if let Some((_, stamp)) = &mut self.min_rtt {
            *stamp = now;
        }
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bw().map_or(self.pacing_rate, |bw| pacing_rate(bw.get(), gain));
        // The pacing rate does not decrease before the pipe is full.
        if self.full_bw_reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
}

/// The rate in bit/s of `bytes` per `interval`.
fn bits_per_sec(bytes: Bytes, interval: Span) -> u64 {
    let bits = u128::from(bytes.get()) * 8 * PS_PER_SEC / u128::from(interval.as_ps().max(1));
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// Pacing rate for a bandwidth in bit/s and a gain, less the pacing margin.
fn pacing_rate(bw: u64, gain: u64) -> BitsPerSec {
    let bits = u128::from(bw) * u128::from(gain * PACING_PERCENT) / u128::from(BBR_UNIT * 100);
    BitsPerSec::at_least_one(u64::try_from(bits).unwrap_or(u64::MAX))
}

impl Window for Bbr {
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        self.min_rtt = Some((rtt, now));
        self.init_pacing_rate(rtt);
    }

    fn on_restart(&mut self, now: Time, app_limited: bool) {
        let in_probe_rtt = self.probe_rtt_delivered.is_some_and(|(_, to)| to >= self.delivered);
        if !app_limited && !in_probe_rtt {
            return;
        }
        self.idle_restart = true;
        self.ack_aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw(_) => self.set_pacing_rate(BBR_UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let is_app_limited = self.update_bw(ack);
        self.update_cycle_phase(ack);
        self.check_full_bw_and_drain(ack, is_app_limited);
        self.update_min_rtt(ack);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        self.save_cwnd();
        self.ca_state = CaState::Recovery;
    }

    fn on_rto(&mut self, loss: &Loss, _first: bool) {
        self.save_cwnd();
        (self.ca_state, self.prev_ca_state) = (CaState::Loss, CaState::Loss);
        self.cwnd = self.mss;
        (self.full_bw, self.round_start) = (0, true);
        self.lt_bw_sampling(loss.now, true, false);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.ca_state = CaState::Open;
    }

    /// Forgets that the pipe was full or policed, since the loss was spurious (kernel: `bbr_undo_cwnd`). The end of
    /// recovery restores cwnd.
    fn on_undo(&mut self, _undo: &Undo) {
        if !self.full_bw_reached() {
            (self.full_bw, self.full_bw_cnt) = (0, 0);
        }
        self.lt_bw = LtBw::default();
    }

    fn window(&self) -> Bytes {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.ssthresh
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        Some(self.pacing_rate)
    }

    fn min_tso_segs(&self) -> u32 {
        if self.pacing_rate.get() < cwnd::MIN_TSO_RATE { 1 } else { 2 }
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}
