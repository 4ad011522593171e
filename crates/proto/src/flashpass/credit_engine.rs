//! The credit engine of a `FlashPass` sender: when to send emulation packets, what each credit means, and when to send
//! data. It knows neither bytes nor reliability: its owner says how many packets need a credit, and sends one data
//! packet at each departure time, so that other protocols can use it as well.
//!
//! State: the epochs of emulation packets in flight, and the departure times of data packets. Emulation packets are
//! identified by their send time. Credits return in the order of emulation, so a credit shows that earlier emulation
//! packets without a credit are lost. The feedback law is told the loss of whole epochs ([`super::epochs`]). Source:
//! flashpass-icnp21, III.

use std::collections::VecDeque;

use shallop_control::{Epoch, Rate};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Stream, Time};

use super::epochs::{EmulationEpoch, Epochs};
use super::head::{TIMESTAMP_STEP, round_up_to_step};
use crate::counters::Credits;
use crate::wire::MIN_FRAME;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditEngineConfig {
    /// The full emulation rate: the share of the host's link for the emulation queue.
    pub rate: BitsPerSec,
    /// `T_wait`, the time from an emulation packet to its data packet. Longer than the longest round trip of the
    /// network.
    pub wait: Span,
    /// Epochs in a round trip; at least 1.
    pub epochs: u32,
    /// Emulation packets leave early or late by at most this fraction of their gap; below 0.5.
    pub jitter: f64,
    /// The lowest loss of emulation packets, 0 to 1, that the decision to tag assumes (the maximal target loss of Eq.
    /// 2).
    pub expected_loss: f64,
    /// Whether emulation continues, with packets that queues may drop first, while the expected credits cover the
    /// demand.
    pub over_provision: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// Send time, which its credit returns.
    pub time: Time,
    /// Whether it is tagged: the expected credits cover the demand without it, so queues may drop it first.
    pub tagged: bool,
}

#[derive(Debug)]
pub struct CreditEngine<R> {
    config: CreditEngineConfig,
    law: R,
    random: Stream,
    /// Gap between emulation packets at the full rate.
    full_gap: Span,
    next_emulation: Time,
    /// In this epoch, packets leave at most this much early or late.
    jitter: Span,
    /// Whether emulation is paused: the expected credits cover the demand, and no tagged packets are sent.
    paused: bool,
    /// Packets to send, with or without a departure time; `None` without end.
    demand: Option<u64>,
    epochs: Epochs,
    /// Departure times of data packets, earliest first. Each credit gives one.
    departures: VecDeque<Time>,
    rtt: Option<Span>,
    /// The loss, 0 to 1, of the latest closed epoch.
    loss: f64,
    emulated: u64,
    credits: Credits,
}

impl<R: Rate> CreditEngine<R> {
    pub fn new(config: CreditEngineConfig, law: R, random: Stream) -> Self {
        Self {
            config,
            law,
            random,
            full_gap: Pace::new(config.rate).quote(Bytes::new(u64::from(MIN_FRAME))),
            next_emulation: Time::ZERO,
            jitter: Span::ZERO,
            paused: false,
            demand: Some(0),
            epochs: Epochs::default(),
            departures: VecDeque::new(),
            rtt: None,
            loss: 0.0,
            emulated: 0,
            credits: Credits::default(),
        }
    }

    /// Sets the number of packets to send, including packets that have a departure time; `None` without end. Emulation
    /// continues from `now` if departure times do not cover them.
    pub fn set_demand(&mut self, now: Time, packets: Option<u64>) {
        let idle = !self.needs_credits();
        self.demand = packets;
        if idle && self.needs_credits() {
            self.next_emulation = round_up_to_step(self.next_emulation.max(now));
        }
        self.resume_if_uncovered(now);
    }

    /// The shortest time so far from an emulation packet to its credit.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    pub fn credits(&self) -> Credits {
        self.credits
    }

    /// Emulation packets sent so far.
    pub fn emulated(&self) -> u64 {
        self.emulated
    }

    pub fn law(&self) -> &R {
        &self.law
    }

    /// Returns the emulation packet that is due by `now`, if any.
    pub fn emulate(&mut self, now: Time) -> Option<Emulation> {
        if !self.needs_credits() || self.next_emulation > now {
            return None;
        }
        self.begin_epoch_if_due(now);
        self.paused = false;
        let tagged = self.is_covered();
        if tagged && !self.config.over_provision {
            self.paused = true;
            // Packets in flight count as lost at the latest when their data would have to be sent.
            let expiry = self.epochs.expiry(self.config.wait);
            self.next_emulation = round_up_to_step(expiry.max(now + TIMESTAMP_STEP));
            return None;
        }
        self.emulated += 1;
        self.epochs.on_send(tagged);
        // Uniform within the jitter around the slot of the next packet.
        let offset = Span::from_ps(self.random.below(self.jitter.as_ps() * 2 + 1));
        self.next_emulation = round_up_to_step((self.epochs.next_slot() - self.jitter) + offset);
        Some(Emulation { time: now, tagged })
    }

    /// A credit arrived for the emulation packet that was sent at `time`.
    pub fn on_credit(&mut self, now: Time, time: Time) {
        self.on_credit_of_late(now, time, Span::ZERO);
    }

    /// A credit arrived for the emulation packet that was due at `time` and left `late` after that, as on real hosts.
    /// Its data packet leaves one waiting time after the emulation packet left.
    pub fn on_credit_of_late(&mut self, now: Time, time: Time, late: Span) {
        self.credits.granted += 1;
        while let Some(epoch) = self.epochs.close_before(time) {
            self.report_epoch(now, &epoch);
        }
        if self.epochs.on_credit(time) {
            let sample = now.saturating_since(time.saturating_add(late));
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        let departure = time.saturating_add(late).saturating_add(self.config.wait);
        if departure < now || !self.needs_credits() {
            self.credits.wasted += 1;
            return;
        }
        if self.departures.back().is_some_and(|&last| last > departure) {
            let index = self.departures.partition_point(|&other| other <= departure);
            self.departures.insert(index, departure);
        } else {
            self.departures.push_back(departure);
        }
        self.resume_if_uncovered(now);
    }

    /// When the next data packet is to be sent.
    pub fn next_departure(&self) -> Option<Time> {
        self.departures.front().copied()
    }

    /// Departure times of all data packets that have a credit, earliest first.
    pub fn departures(&self) -> impl Iterator<Item = Time> {
        self.departures.iter().copied()
    }

    /// Takes a departure time that is due by `now`. If there is one, returns true, and a data packet is to be sent.
    pub fn take_departure(&mut self, now: Time) -> bool {
        let due = self.departures.front().is_some_and(|&due| due <= now);
        if due {
            self.departures.pop_front();
            self.credits.used += 1;
            if let Some(demand) = &mut self.demand {
                *demand = demand.saturating_sub(1);
            }
        }
        due
    }

    pub fn next_emulation(&self) -> Option<Time> {
        self.needs_credits().then_some(self.next_emulation)
    }

    /// The mean gap between emulation packets at the rate of the law.
    pub fn gap(&self) -> Span {
        self.full_gap.scale(1.0 / self.law.rate())
    }

    pub fn wakeup(&self) -> Option<Time> {
        match (self.next_emulation(), self.next_departure()) {
            (Some(emulation), Some(data)) => Some(emulation.min(data)),
            (emulation, data) => emulation.or(data),
        }
    }

    /// Whether any packet to send has no departure time.
    fn needs_credits(&self) -> bool {
        self.demand.is_none_or(|demand| demand > self.departures.len() as u64)
    }

    /// Equation 2: whether the expected credits cover the demand. Credits are expected for untagged emulation packets
    /// in flight, less the measured or the configured loss, whichever is higher.
    fn is_covered(&self) -> bool {
        let Some(demand) = self.demand else { return false };
        let missing = demand.saturating_sub(self.departures.len() as u64);
        let passing = 1.0 - self.config.expected_loss.max(self.loss);
        self.epochs.untagged_in_flight() as f64 * passing >= missing as f64
    }

    /// Ends a pause if the expected credits no longer cover the demand.
    fn resume_if_uncovered(&mut self, now: Time) {
        if self.paused && !self.is_covered() {
            self.paused = false;
            self.next_emulation = round_up_to_step(now);
        }
    }

    /// Starts a new epoch if there is none, if emulation was interrupted, or if the current epoch has lasted its part
    /// of a round trip (of the waiting time, while no round trip is known).
    fn begin_epoch_if_due(&mut self, now: Time) {
        let epochs = u64::from(self.config.epochs.max(1));
        let length = self.rtt.map_or(self.config.wait, |rtt| rtt / epochs);
        if !self.epochs.is_over(now, length) {
            return;
        }
        while let Some(epoch) = self.epochs.close_expired(now, self.config.wait) {
            self.report_epoch(now, &epoch);
        }
        let (rate, gap) = (self.law.rate(), self.gap());
        self.jitter = gap.scale(self.config.jitter);
        self.epochs.begin(now, rate, gap);
    }

    /// Reports an epoch to the law, if untagged packets were sent in it.
    fn report_epoch(&mut self, now: Time, closed: &EmulationEpoch) {
        if closed.untagged_sent == 0 {
            return;
        }
        let epoch = Epoch {
            now,
            rate: closed.rate,
            sent: closed.untagged_sent,
            returned: closed.untagged_returned,
            elapsed: now.saturating_since(closed.start),
            returned_rate: 0.0,
            min_rate: self.full_gap.ratio(self.rtt.unwrap_or(self.config.wait)),
        };
        self.loss = epoch.loss();
        self.law.on_epoch(&epoch);
    }
}
