//! The credit engine of a `FlashPass` sender: when to send emulation packets, what each credit allows, and when to send
//! data. It knows neither bytes nor retransmissions: the sender states how many packets need a credit, and sends one
//! data packet at each departure time. So other protocols can use the engine as well.
//!
//! State: the epochs of emulation packets in flight, and the departure times of data packets. An emulation packet is
//! identified by its send time. Credits return in the order of emulation packets, so a credit shows that earlier
//! emulation packets without a credit are lost; on a path that reorders, the engine waits for as long as credits have
//! overtaken each other. The feedback law receives the loss of whole epochs ([`super::epochs`]).
//! Source: flashpass-icnp21, III.

use super::epochs::{EmulationEpoch, Epochs};
use super::head::{TIMESTAMP_STEP, round_up_to_step};
use crate::metered_run::{Clock, MeteredRun, jittered_slot};
use crate::{counters::Credits, wire::MIN_FRAME};
use shallop_control::{Epoch, Rate};
use shallop_core::{BitsPerSec, Bytes, Class, Pace, Span, Stream, Time};
use std::collections::VecDeque;

/// The part of the waiting time by which credits may overtake each other, before they count as lost.
const MAX_REORDERING: u64 = 4;
/// The number of packets of a run that are examined one by one if some may be tagged or miss their slots.
const MAX_EXAMINED: u64 = 32;
/// The most by which a packet may leave early or late, as a fraction of the gap, so that it keeps its slot (below 0.5)
/// also with rounded numbers.
const MAX_SLOT_OFFSET: f64 = 0.499;

#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "four choices that do not depend on each other")]
pub struct CreditEngineConfig {
    /// The maximum rate of emulation packets: the share of the host's link for the emulation queue.
    pub rate: BitsPerSec,
    /// `T_wait`, the time from an emulation packet to its data packet. It must exceed every round trip of the network.
    pub wait: Span,
    /// The number of epochs in a round trip; at least 1.
    pub epochs: u32,
    /// The most by which an emulation packet leaves early or late, as a fraction of the gap; below 0.5.
    pub jitter: f64,
    /// The least loss of emulation packets, 0 to 1, that the sender assumes when it decides whether to tag them (the
    /// maximal target loss of Eq. 2).
    pub expected_loss: f64,
    /// Whether the feedback law receives the loss of whole epochs. Otherwise it receives, once a round trip, the
    /// credits that came in it and the emulation packets that left in it (Algorithm 1, line 1).
    pub attribute: bool,
    /// Without `attribute`: the feedback law receives a loss once this number of emulation packets has left.
    pub min_sample: u32,
    /// Whether tagged emulation packets count, in the loss of an epoch and in the credits that are expected.
    pub count_tagged: bool,
    /// Whether a measured loss above `expected_loss` takes its place.
    pub expect_measured: bool,
    /// Whether emulation continues while the expected credits cover the demand. The additional packets are tagged, and
    /// queues may drop them first.
    pub over_provision: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// Send time of the emulation packet, which identifies it; the credit returns it.
    pub time: Time,
    /// Whether the emulation packet is tagged, so that queues may drop it first: the expected credits cover the demand
    /// without it.
    pub tagged: bool,
}

#[derive(Debug)]
pub struct CreditEngine<R> {
    config: CreditEngineConfig,
    law: R,
    random: Stream,
    /// Gap between emulation packets at the maximum rate.
    full_gap: Span,
    next_emulation: Time,
    /// The most by which packets of the current epoch leave early or late.
    jitter: Span,
    /// Whether emulation is paused, because the expected credits cover the demand and no tagged packets are sent.
    paused: bool,
    /// The number of data packets to send, with or without a departure time; `None` for a stream without end.
    demand: Option<u64>,
    epochs: Epochs,
    /// Departure times of data packets, earliest first. Each credit adds one.
    departures: VecDeque<Time>,
    rtt: Option<Span>,
    /// The send time of the newest emulation packet with a credit, and by how much credits have overtaken each other.
    newest: Time,
    reordering: Span,
    /// The last loss of emulation packets, 0 to 1, that the feedback law received.
    loss: f64,
    /// Without `attribute`: when the current round trip began, and the counts of emulation packets and credits then.
    round: Option<(Time, [u64; 2])>,
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
            newest: Time::ZERO,
            reordering: Span::ZERO,
            loss: 0.0,
            round: None,
            emulated: 0,
            credits: Credits::default(),
        }
    }

    /// Sets the number of data packets to send, including those that have a departure time; `None` for a stream without
    /// end. Emulation continues from `now` if there are more packets than departure times.
    pub fn set_demand(&mut self, now: Time, packets: Option<u64>) {
        let idle = !self.needs_credits();
        self.demand = packets;
        if idle && self.needs_credits() {
            self.next_emulation = round_up_to_step(self.next_emulation.max(now));
        }
        self.resume_if_uncovered(now);
    }

    /// The shortest time, so far, from an emulation packet to its credit.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    pub fn credits(&self) -> Credits {
        self.credits
    }

    /// The number of emulation packets sent so far.
    pub fn emulated(&self) -> u64 {
        self.emulated
    }

    /// The newest loss of emulation packets, 0 to 1, that the feedback law received.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    pub fn law(&self) -> &R {
        &self.law
    }

    /// Returns the emulation packet that is due by `now`, if there is one.
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
        self.epochs.on_send(tagged && !self.config.count_tagged);
        self.next_emulation = jittered_slot(self.epochs.next_slot(), self.jitter, &mut self.random);
        Some(Emulation { time: now, tagged })
    }

    /// The next emulation packets that leave before `until` and are neither tagged nor the first of an epoch.
    pub(super) fn run(&self, until: Time) -> Option<MeteredRun> {
        let at = self.next_emulation().filter(|&at| !self.paused && !self.begins_epoch(at) && !self.is_covered())?;
        let epoch = self.epochs.current()?;
        let clock = Clock::Slots { slot: self.epochs.next_slot(), gap: epoch.gap, jitter: self.jitter };
        let until = until.min(epoch.start.saturating_add(self.epoch_length()));
        let (sent, random, class) = (self.emulated, self.random.clone(), Class::Emulation);
        let mut run = MeteredRun { at, until, sent, last: at, class, min_size: MIN_FRAME, sizes: 1, random, clock };
        // With this jitter, no packet misses its slot.
        let keeps_slots = self.jitter + TIMESTAMP_STEP <= epoch.gap.scale(MAX_SLOT_OFFSET);
        if self.demand.is_some() || !keeps_slots {
            run.until = self.end_of_run(run.clone(), epoch);
        }
        (at < run.until).then_some(run)
    }

    /// A time before which all packets of the run are neither tagged nor miss their slots.
    fn end_of_run(&self, mut run: MeteredRun, epoch: &EmulationEpoch) -> Time {
        for number in 0..MAX_EXAMINED {
            if run.at >= run.until || epoch.misses_slot(run.at, number) || self.is_covered_after(number) {
                break;
            }
            run.advance();
        }
        run.at.min(run.until)
    }

    pub(super) fn end_run(&mut self, run: &MeteredRun) -> u64 {
        let sent = run.sent - self.emulated;
        self.epochs.on_sent_untagged(sent);
        (self.emulated, self.next_emulation, self.random) = (run.sent, run.at, run.random.clone());
        sent
    }

    /// Processes a credit for the emulation packet that was sent at `time`.
    pub fn on_credit(&mut self, now: Time, time: Time) {
        self.on_credit_of_late(now, time, Span::ZERO);
    }

    /// Processes a credit for an emulation packet that was due at `time` and left `late` after that, as on real hosts.
    /// Its data packet leaves one waiting time after the emulation packet left.
    pub fn on_credit_of_late(&mut self, now: Time, time: Time, late: Span) {
        self.credits.granted += 1;
        self.newest = self.newest.max(time);
        self.reordering =
            self.reordering.max(self.newest.saturating_since(time)).min(self.config.wait / MAX_REORDERING);
        while let Some(epoch) = self.epochs.close_before(self.newest - self.reordering) {
            self.report_epoch(now, &epoch);
        }
        if self.epochs.on_credit(time) {
            let sample = now.saturating_since(time.saturating_add(late));
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        self.end_round_if_due(now);
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

    /// When the next data packet is due; `None` without credits.
    pub fn next_departure(&self) -> Option<Time> {
        self.departures.front().copied()
    }

    /// Departure times of all data packets that have a credit, earliest first.
    pub fn departures(&self) -> impl Iterator<Item = Time> {
        self.departures.iter().copied()
    }

    /// Removes a departure time that is due by `now`. Returns true if there was one; then the sender must send a data
    /// packet.
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

    /// The mean gap between emulation packets at the current rate of the feedback law.
    pub fn gap(&self) -> Span {
        self.full_gap.scale(1.0 / self.law.rate())
    }

    pub fn wakeup(&self) -> Option<Time> {
        match (self.next_emulation(), self.next_departure()) {
            (Some(emulation), Some(data)) => Some(emulation.min(data)),
            (emulation, data) => emulation.or(data),
        }
    }

    /// Whether some data packet has no departure time.
    fn needs_credits(&self) -> bool {
        self.demand.is_none_or(|demand| demand > self.departures.len() as u64)
    }

    /// Whether the expected credits cover the demand (Eq. 2 of the paper). Credits are expected for the emulation
    /// packets in flight that count, less the configured loss, or the measured one if it is higher.
    fn is_covered(&self) -> bool {
        self.is_covered_after(0)
    }

    /// Whether the expected credits cover the demand after this number of further untagged packets.
    fn is_covered_after(&self, packets: u64) -> bool {
        let Some(demand) = self.demand else { return false };
        let missing = demand.saturating_sub(self.departures.len() as u64);
        let CreditEngineConfig { expected_loss, expect_measured, .. } = self.config;
        let passing = 1.0 - if expect_measured { expected_loss.max(self.loss) } else { expected_loss };
        (self.epochs.untagged_in_flight + packets) as f64 * passing >= missing as f64
    }

    /// Ends a pause of emulation if the expected credits no longer cover the demand.
    fn resume_if_uncovered(&mut self, now: Time) {
        if self.paused && !self.is_covered() {
            self.paused = false;
            self.next_emulation = round_up_to_step(now);
        }
    }

    /// Whether an emulation packet at `now` begins a new epoch: there is none, emulation was interrupted, or the
    /// current epoch has lasted its part of a round trip. Until a round trip is measured, the waiting time takes its
    /// place.
    fn begins_epoch(&self, now: Time) -> bool {
        let renewed = self.round.is_some_and(|(begun, _)| self.epochs.began_before(begun));
        self.epochs.is_over(now, self.epoch_length()) || renewed
    }

    fn epoch_length(&self) -> Span {
        if self.config.attribute { self.round_length() } else { Span::MAX }
    }

    fn begin_epoch_if_due(&mut self, now: Time) {
        if !self.begins_epoch(now) {
            return;
        }
        while let Some(epoch) = self.epochs.close_expired(now, self.config.wait) {
            self.report_epoch(now, &epoch);
        }
        let (rate, gap) = (self.law.rate(), self.gap());
        self.jitter = gap.scale(self.config.jitter);
        self.epochs.begin(now, rate, gap);
    }

    /// The time between two changes of the rate.
    fn round_length(&self) -> Span {
        let epochs = u64::from(self.config.epochs.max(1));
        self.rtt.map_or(self.config.wait, |rtt| rtt / epochs)
    }

    /// Without `attribute`: reports the loss of a round trip that has passed, and in which `min_sample` emulation
    /// packets have left, to the feedback law, at the arrival of a credit. The first round trip begins with the first
    /// credit.
    fn end_round_if_due(&mut self, now: Time) {
        if self.config.attribute {
            return;
        }
        let counts = [self.emulated, self.credits.granted];
        let (begun, before) = *self.round.get_or_insert((now, counts));
        let [sent, returned] = [counts[0] - before[0], counts[1] - before[1]];
        if now.saturating_since(begun) < self.round_length() || sent < u64::from(self.config.min_sample) {
            return;
        }
        self.round = Some((now, counts));
        self.report(Epoch {
            now,
            rate: self.law.rate(),
            sent,
            returned: returned.min(sent),
            elapsed: now.saturating_since(begun),
            returned_rate: 0.0,
            min_rate: self.min_rate(),
        });
    }

    /// One packet per round trip, as a fraction of the maximum rate.
    fn min_rate(&self) -> f64 {
        self.full_gap.ratio(self.rtt.unwrap_or(self.config.wait))
    }

    fn report(&mut self, epoch: Epoch) {
        self.loss = epoch.loss();
        self.law.on_epoch(&epoch);
    }

    /// Reports the loss in a closed epoch to the feedback law, if untagged packets were sent in it.
    fn report_epoch(&mut self, now: Time, closed: &EmulationEpoch) {
        if closed.untagged_sent == 0 || !self.config.attribute {
            return;
        }
        self.report(Epoch {
            now,
            rate: closed.rate,
            sent: closed.untagged_sent,
            returned: closed.untagged_returned,
            elapsed: now.saturating_since(closed.start),
            returned_rate: 0.0,
            min_rate: self.min_rate(),
        });
    }
}
