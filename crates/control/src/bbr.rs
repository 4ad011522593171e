//! BBR, version 1: a model of the path (how much it delivers, how long it takes empty) says how fast to send and how
//! much may be in flight; losses and marks do not. State: the model, the mode (startup, drain, probing for bandwidth,
//! probing for the round trip), and what recovery interrupted. Units: bytes; bits per second; gains in 256ths.
//! Source: kernel, `tcp_bbr.c` (with its estimate of bunched acknowledgements, `bursts.rs`, and of policers,
//! `policer.rs`); draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! Where this differs from Linux: time is not counted in jiffies; what is in flight is not corrected for what waits in
//! the host's pacing queue (`bbr_packets_in_net_at_edt`), as here a packet is in flight once it left; no sample is
//! known to be of a delayed acknowledgement. A recovery is never undone, as the sender does not find out.

mod bursts;
mod config;
mod policer;

use shallop_core::{BitsPerSec, Bytes, Span, Time, seed};

use crate::filter::Largest;
use crate::window::{Ack, Loss, RateSample, Start, Window};
use bursts::Bursts;
pub use config::{Config, KEYS, KINDS};
use policer::{Policer, Sight};

/// A gain of one.
const UNIT: u64 = 256;
/// 2 / ln 2: the least that doubles the rate each round trip; and its inverse, to drain what that piled up.
const HIGH: u64 = 739;
const DRAIN: u64 = 88;
/// Probes for more, gives back what was piled up, then keeps to what is known.
const CYCLE: [u64; 8] = [320, 192, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle begins anywhere but with giving back.
const STARTS: u64 = 7;
/// Rounds that the largest delivery rate is remembered.
const MEMORY: u64 = 10;
/// The pipe is full when the rate grew by less than a quarter for three rounds.
const GROWTH: u64 = 320;
const FLAT_ROUNDS: u32 = 3;
/// Segments in flight that keep the acknowledgements coming.
const LEAST: u64 = 4;
/// Of the rate believed, this many hundredths are sent.
const MARGIN: u64 = 99;
/// The round trip until one is known.
const NOMINAL: Span = Span::from_ms(1);
/// Below this rate a burst is one segment.
const SLOW: u64 = 1_200_000;
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// What it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles its rate each round trip.
    Startup,
    /// Drains the queue that made.
    Drain,
    /// In this phase of the cycle: 0 probes for more, 1 gives it back, the others cruise.
    ProbeBandwidth(usize),
    /// Holds back to see the empty path.
    ProbeRtt,
}

/// What the sender is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    None,
    Fast,
    Timeout,
}

/// A probe of the round trip, since so little was in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// How long it takes at least.
    until: Time,
    /// A round of it is over.
    round: bool,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: Config,
    segment: Bytes,
    initial: Bytes,
    window: Bytes,
    /// The window before a recovery or a probe of the round trip.
    before: Bytes,
    threshold: Bytes,
    pacing: BitsPerSec,
    /// The largest delivery rate, in bits per second by round.
    rate: Largest,
    rounds: u64,
    /// The round ends when a segment is delivered that was sent when so much had been.
    round_end: Bytes,
    round_start: bool,
    /// The shortest round trip, and when it was measured.
    shortest: Option<(Span, Time)>,
    mode: Mode,
    /// When the phase of the cycle began.
    phase_at: Time,
    chance: u64,
    full_rate: u64,
    flat_rounds: u32,
    probe: Option<Probe>,
    /// What was sent when between so much and so much had been delivered was held back to probe the round trip.
    held: Option<(Bytes, Bytes)>,
    restarting: bool,
    repair: Repair,
    /// What the sender was doing at the last acknowledgement.
    seen: Repair,
    /// As much leaves as arrives: the first round of a recovery.
    conserving: bool,
    /// All bytes delivered, and all taken for lost.
    delivered: Bytes,
    lost: Bytes,
    bursts: Bursts,
    policer: Policer,
}

impl Bbr {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        let mut new = Self {
            config: *config,
            segment: start.segment.max(Bytes::new(1)),
            initial: start.window,
            window: start.window.max(start.segment),
            before: Bytes::ZERO,
            threshold: Bytes::MAX,
            pacing: BitsPerSec::at_least_one(1),
            rate: Largest::default(),
            rounds: 0,
            round_end: Bytes::ZERO,
            round_start: false,
            shortest: None,
            mode: Mode::Startup,
            phase_at: Time::ZERO,
            chance: start.draw,
            full_rate: 0,
            flat_rounds: 0,
            probe: None,
            held: None,
            restarting: false,
            repair: Repair::None,
            seen: Repair::None,
            conserving: false,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            bursts: Bursts::default(),
            policer: Policer::default(),
        };
        new.pace_by(NOMINAL);
        new
    }

    /// What it is doing.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The delivery rate believed; `None` before any was measured.
    #[must_use]
    pub fn believed(&self) -> Option<BitsPerSec> {
        BitsPerSec::new(self.policer.rate().unwrap_or(self.rate.best()))
    }

    /// The shortest round trip; `None` before any was measured.
    #[must_use]
    pub fn shortest_rtt(&self) -> Option<Span> {
        self.shortest.map(|(rtt, _)| rtt)
    }

    /// The pipe was filled.
    fn is_full(&self) -> bool {
        self.flat_rounds >= FLAT_ROUNDS
    }

    /// What the rate believed is multiplied by, in 256ths.
    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::ProbeBandwidth(_) if self.policer.rate().is_some() => UNIT,
            Mode::ProbeBandwidth(phase) => CYCLE[phase],
            Mode::ProbeRtt => UNIT,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::ProbeBandwidth(_) => (self.config.window_gain * UNIT as f64).round() as u64,
            Mode::ProbeRtt => UNIT,
        }
    }

    /// The first window each round trip of this length.
    fn pace_by(&mut self, rtt: Span) {
        let rate = bits(self.window, rtt.max(Span::from_us(1)));
        self.pacing = paced(rate, HIGH);
    }

    /// What is in flight at this rate with no queue, times a gain, in segments. The first window before any round trip.
    fn product(&self, rate: u64, gain: u64) -> u64 {
        let Some((rtt, _)) = self.shortest else { return self.initial.get() / self.segment.get() };
        let bits = (u128::from(rate) * u128::from(rtt.as_ps())).saturating_mul(gain.into());
        let segment = u128::from(self.segment.get() * 8 * UNIT) * PS_PER_SEC;
        u32::try_from(bits.div_ceil(segment)).unwrap_or(u32::MAX).into()
    }

    /// Segments, with room for what the hosts hold at both ends and for acknowledgements of every second segment.
    fn roomy(&self, segments: u64) -> Bytes {
        let least = if self.pacing.get() < SLOW { 1 } else { 2 };
        let most = (self.config.send_quantum.get() / self.segment.get()).clamp(1, 127);
        let burst = self.pacing.get() / 8 / 1024 / self.segment.get();
        let even = (segments + 3 * burst.max(least).min(most)).next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBandwidth(0);
        self.segment * (even + if probing { 2 } else { 0 })
    }

    /// What is in flight with no queue but what a gain adds, by the largest rate measured.
    fn in_flight_at(&self, gain: u64) -> Bytes {
        self.roomy(self.product(self.rate.best(), gain))
    }

    fn limited(&self, sample: &RateSample) -> bool {
        let sent_at = sample.prior_delivered;
        let held = self.held.is_some_and(|(from, until)| from <= sent_at && sent_at <= until);
        sample.app_limited || held
    }

    /// Takes in a delivery rate, and the end of a round. True if the application limited it.
    fn measure(&mut self, ack: &Ack) -> bool {
        self.round_start = false;
        self.lost += ack.lost;
        self.delivered = ack.delivered;
        let Some(sample) = &ack.rate else { return false };
        if sample.prior_delivered >= self.round_end {
            (self.round_end, self.round_start) = (ack.delivered, true);
            self.rounds += 1;
            self.conserving = false;
        }
        let limited = self.limited(sample);
        self.police(ack.now, ack.lost > Bytes::ZERO, limited);
        let rate = bits(sample.delivered, sample.interval);
        if !limited || rate >= self.rate.best() {
            self.rate.add(self.rounds, rate, MEMORY);
        }
        self.bursts.on_ack(ack, self.round_start, self.believed(), self.window);
        limited
    }

    fn police(&mut self, now: Time, losing: bool, limited: bool) {
        if !self.config.policer {
            return;
        }
        let probing = matches!(self.mode, Mode::ProbeBandwidth(_));
        let (delivered, lost, round) = (self.delivered, self.lost, self.round_start);
        let sight = Sight { now, delivered, lost, losing, limited, round };
        if self.policer.on_ack(&sight, probing) {
            self.probe_bandwidth(now);
        }
    }

    /// Begins the cycle anywhere but with giving back.
    fn probe_bandwidth(&mut self, now: Time) {
        self.chance = seed::hash(self.chance);
        let draw = ((u128::from(self.chance) * u128::from(STARTS)) >> 64) as usize;
        self.mode = Mode::ProbeBandwidth((CYCLE.len() - draw) % CYCLE.len());
        self.phase_at = now;
    }

    /// Moves the cycle on, if it is time.
    fn cycle(&mut self, ack: &Ack) {
        let Mode::ProbeBandwidth(phase) = self.mode else { return };
        let shortest = self.shortest_rtt().unwrap_or(Span::MAX);
        let whole = ack.now.saturating_since(self.phase_at) > shortest;
        let before = ack.flight_before;
        let over = match self.pacing_gain() {
            UNIT => whole,
            // Until what was asked for is in flight, unless the path does not hold that much.
            up @ UNIT.. => whole && (ack.lost > Bytes::ZERO || before >= self.in_flight_at(up)),
            _ => whole || before <= self.in_flight_at(UNIT),
        };
        if over {
            self.mode = Mode::ProbeBandwidth((phase + 1) % CYCLE.len());
            self.phase_at = ack.now;
        }
    }

    /// Ends startup when the rate no longer grows, and drains until there is no queue.
    fn fill(&mut self, ack: &Ack, limited: bool) {
        if !self.is_full() && self.round_start && !limited {
            let rate = self.rate.best();
            if rate >= self.full_rate.saturating_mul(GROWTH) / UNIT {
                (self.full_rate, self.flat_rounds) = (rate, 0);
            } else {
                self.flat_rounds += 1;
            }
        }
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
            self.threshold = self.in_flight_at(UNIT);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.in_flight_at(UNIT) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// Takes in a round trip; if none was shorter for long, holds back until the path is empty.
    fn time(&mut self, ack: &Ack) {
        let every = self.config.probe_rtt_every;
        let old = |(_, at): (Span, Time)| ack.now.saturating_since(at) > every;
        let expired = self.shortest.is_some_and(old);
        if ack.rtt.is_some() && self.shortest.is_none() {
            self.pace_by(ack.smoothed_rtt);
        }
        if let Some(rtt) = ack.rtt
            && (expired || self.shortest_rtt().is_none_or(|shortest| rtt < shortest))
        {
            self.shortest = Some((rtt, ack.now));
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            (self.mode, self.probe) = (Mode::ProbeRtt, None);
            self.save();
            self.held = Some((ack.delivered, ack.delivered));
        }
        if self.mode == Mode::ProbeRtt {
            let from = self.held.map_or(ack.delivered, |(from, _)| from);
            self.held = Some((from, ack.delivered + ack.in_flight));
            if let Some(probe) = &mut self.probe {
                probe.round |= self.round_start;
                if probe.round {
                    self.end_probe(ack.now);
                }
            } else if ack.in_flight <= self.segment * LEAST {
                let until = ack.now + self.config.probe_rtt_for;
                (self.probe, self.round_end) = (Some(Probe { until, round: false }), ack.delivered);
            }
        }
        self.restarting = false;
    }

    /// Ends the probe of the round trip, if it has lasted long enough.
    fn end_probe(&mut self, now: Time) {
        if self.probe.is_none_or(|probe| now <= probe.until) {
            return;
        }
        if let Some((_, at)) = &mut self.shortest {
            *at = now;
        }
        self.window = self.window.max(self.before);
        if self.is_full() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Remembers the window, unless something has cut it already.
    fn save(&mut self) {
        let cut = self.seen != Repair::None || self.mode == Mode::ProbeRtt;
        self.before = if cut { self.before.max(self.window) } else { self.window };
    }

    fn set_pacing(&mut self, gain: u64) {
        let rate = self.believed().map_or(self.pacing, |rate| paced(rate.get(), gain));
        // Startup does not slow down before it has seen the pipe full.
        if self.is_full() || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Recovery: as much as arrives leaves in the first round, twice as much at most after it, and in the end the
    /// window is what it was.
    fn recover(&mut self, ack: &Ack) {
        if ack.lost > Bytes::ZERO {
            self.window = self.window.saturating_sub(ack.lost).max(self.segment);
        }
        let flight = ack.in_flight + ack.acked;
        if self.repair == Repair::Fast && self.seen != Repair::Fast {
            self.conserving = true;
            (self.round_end, self.window) = (ack.delivered, flight);
        } else if self.repair == Repair::None && self.seen != Repair::None {
            self.conserving = false;
            self.window = self.window.max(self.before);
        }
        self.seen = self.repair;
        if self.conserving {
            self.window = self.window.max(flight);
        }
    }

    fn set_window(&mut self, ack: &Ack) {
        self.recover(ack);
        if !self.conserving {
            let room = self.is_full().then(|| self.bursts.room(self.believed()));
            let room = room.unwrap_or_default().get() / self.segment.get();
            let rate = self.believed().map_or(0, BitsPerSec::get);
            let target = self.roomy(self.product(rate, self.window_gain()) + room);
            let grown = self.window + ack.acked;
            if self.is_full() {
                self.window = grown.min(target);
            } else if self.window < target || ack.delivered < self.initial {
                self.window = grown;
            }
            self.window = self.window.max(self.segment * LEAST);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(self.segment * LEAST);
        }
    }
}

/// Bits per second of so many bytes in so long.
fn bits(bytes: Bytes, span: Span) -> u64 {
    let bits = u128::from(bytes.get()) * 8 * PS_PER_SEC / u128::from(span.as_ps().max(1));
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// A rate times a gain, less the margin.
fn paced(rate: u64, gain: u64) -> BitsPerSec {
    let bits = u128::from(rate) * u128::from(gain * MARGIN) / u128::from(UNIT * 100);
    BitsPerSec::at_least_one(u64::try_from(bits).unwrap_or(u64::MAX))
}

impl Window for Bbr {
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        self.shortest = Some((rtt, now));
        self.pace_by(rtt);
    }

    fn on_restart(&mut self, now: Time, app_limited: bool) {
        if !app_limited && self.held.is_none_or(|(_, until)| until < self.delivered) {
            return;
        }
        self.restarting = true;
        self.bursts.restart(now);
        match self.mode {
            Mode::ProbeBandwidth(_) => self.set_pacing(UNIT),
            Mode::ProbeRtt => self.end_probe(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let limited = self.measure(ack);
        self.cycle(ack);
        self.fill(ack, limited);
        self.time(ack);
        self.set_pacing(self.pacing_gain());
        self.set_window(ack);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        self.save();
        self.repair = Repair::Fast;
    }

    fn on_rto(&mut self, loss: &Loss, _first: bool) {
        self.save();
        (self.repair, self.seen) = (Repair::Timeout, Repair::Timeout);
        self.window = self.segment;
        (self.full_rate, self.round_start) = (0, true);
        self.police(loss.now, true, false);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.repair = Repair::None;
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.threshold
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        Some(self.pacing)
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}
