//! The credit engine of a `FlashPass` sender: when to emulate, what each credit means, when to send. It knows nothing
//! of bytes or reliability: whoever owns it says how many packets still want a credit, and sends one packet each time
//! the calendar says so. A driver of another protocol can use it as it is.
//!
//! Emulation packets are known by their send time. Credits come back in that order, so a credit tells that emulation
//! packets sent before its own are lost; the feedback law hears of the loss of whole epochs (see [`super::epochs`]).

use std::collections::VecDeque;

use shallop_control::{Epoch, Rate};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Stream, Time};

use super::epochs::{Epochs, Record};
use super::head::{STEP, on_step};
use crate::report::Credits;
use crate::wire::MIN_FRAME;

/// What a credit engine is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassConfig {
    /// The full emulation rate: the emulation queue's share of the host's link.
    pub rate: BitsPerSec,
    /// From an emulation packet to its data packet; longer than the longest round trip of the network.
    pub wait: Span,
    /// Epochs in a round trip.
    pub epochs: u32,
    /// Emulation packets are sent up to this fraction of their gap earlier or later, less than a half.
    pub jitter: f64,
    /// The loss of emulation packets that tagging counts on at least (Eq. 2's maximal target loss).
    pub expected_loss: f64,
    /// Whether emulation goes on, tagged for selective drop, while the credits on their way are expected to be enough.
    pub over_provision: bool,
}

/// An emulation packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// When it is sent; its credit will carry this.
    pub time: Time,
    /// The credits on their way are expected to be enough: this one may be dropped first.
    pub spare: bool,
}

/// The credit engine.
#[derive(Debug)]
pub struct Pass<R> {
    config: PassConfig,
    law: R,
    chance: Stream,
    /// Gap between emulation packets at the full rate.
    full_gap: Span,
    /// When the next emulation packet is due.
    next: Time,
    /// The jitter of this epoch: packets may be so much early or late.
    reach: Span,
    /// Emulation is held: enough credits are on their way, and nothing spare is sent.
    held: bool,
    /// Packets that want to be sent, in the calendar or not; `None` without end.
    wanted: Option<u64>,
    epochs: Epochs,
    /// Send times granted, earliest first.
    calendar: VecDeque<Time>,
    rtt: Option<Span>,
    /// Loss of the latest epoch whose fate is known.
    loss: f64,
    sent: u64,
    credits: Credits,
}

impl<R: Rate> Pass<R> {
    /// An engine that wants nothing yet.
    #[must_use]
    pub fn new(config: PassConfig, law: R, chance: Stream) -> Self {
        Self {
            config,
            law,
            chance,
            full_gap: Pace::new(config.rate).quote(Bytes::new(u64::from(MIN_FRAME))),
            next: Time::ZERO,
            reach: Span::ZERO,
            held: false,
            wanted: Some(0),
            epochs: Epochs::default(),
            calendar: VecDeque::new(),
            rtt: None,
            loss: 0.0,
            sent: 0,
            credits: Credits::default(),
        }
    }

    /// So many packets want to be sent, those with a place in the calendar among them; `None` without end. Emulation
    /// goes on from `now` if they are more than the calendar covers.
    pub fn want(&mut self, now: Time, packets: Option<u64>) {
        let idle = !self.emulates();
        self.wanted = packets;
        if idle && self.emulates() {
            self.next = on_step(self.next.max(now));
        }
        self.release(now);
    }

    /// The shortest time seen from an emulation packet to its credit.
    #[must_use]
    pub fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// What became of credits so far.
    #[must_use]
    pub fn credits(&self) -> Credits {
        self.credits
    }

    /// Emulation packets sent so far.
    #[must_use]
    pub fn emulated(&self) -> u64 {
        self.sent
    }

    /// The law, for those who watch it.
    #[must_use]
    pub fn law(&self) -> &R {
        &self.law
    }

    /// The emulation packet that is due by `now`, if any.
    pub fn emulate(&mut self, now: Time) -> Option<Emulation> {
        if !self.emulates() || self.next > now {
            return None;
        }
        self.begin_epoch_if_due(now);
        self.held = false;
        let spare = self.is_covered();
        if spare && !self.config.over_provision {
            self.held = true;
            // Those on their way are given up at the latest when their data would have to be sent.
            self.next = on_step(self.epochs.given_up(self.config.wait).max(now + STEP));
            return None;
        }
        self.sent += 1;
        self.epochs.send(spare);
        // Within the jitter around the grid: earlier by all of it, then later by up to twice as much.
        let late = Span::from_ps(self.chance.below(self.reach.as_ps() * 2 + 1));
        self.next = on_step((self.epochs.next_start() - self.reach) + late);
        Some(Emulation { time: now, spare })
    }

    /// A credit came for the emulation packet sent at `time`.
    pub fn on_credit(&mut self, now: Time, time: Time) {
        self.credits.granted += 1;
        while let Some(record) = self.epochs.close_before(time) {
            self.tell(now, &record);
        }
        if self.epochs.returned(time) {
            let sample = now.saturating_since(time);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        let due = time.saturating_add(self.config.wait);
        if due < now || !self.emulates() {
            self.credits.wasted += 1;
            return;
        }
        if self.calendar.back().is_some_and(|&last| last > due) {
            let place = self.calendar.partition_point(|&other| other <= due);
            self.calendar.insert(place, due);
        } else {
            self.calendar.push_back(due);
        }
        self.release(now);
    }

    /// When the next data packet is to be sent.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.calendar.front().copied()
    }

    /// Uses the place in the calendar that is due by `now`: true if there is one, and a data packet is to be sent.
    pub fn take(&mut self, now: Time) -> bool {
        let due = self.calendar.front().is_some_and(|&due| due <= now);
        if due {
            self.calendar.pop_front();
            self.credits.used += 1;
            if let Some(wanted) = &mut self.wanted {
                *wanted = wanted.saturating_sub(1);
            }
        }
        due
    }

    /// Gives up every place in the calendar, as when the transfer turned out to be over.
    pub fn clear(&mut self) {
        self.credits.wasted += self.calendar.len() as u64;
        self.calendar.clear();
        self.wanted = Some(0);
    }

    /// When something is to be done: an emulation packet or a data packet.
    #[must_use]
    pub fn wakeup(&self) -> Option<Time> {
        let emulation = self.emulates().then_some(self.next);
        match (emulation, self.due()) {
            (Some(emulation), Some(data)) => Some(emulation.min(data)),
            (emulation, data) => emulation.or(data),
        }
    }

    /// True while packets want a credit that have no place in the calendar.
    fn emulates(&self) -> bool {
        self.wanted.is_none_or(|wanted| wanted > self.calendar.len() as u64)
    }

    /// Equation 2: whether the credits on their way, as far as they can be counted on, cover what is wanted. Spare
    /// emulation packets are not counted on. The loss counted with is the measured one where that is higher.
    fn is_covered(&self) -> bool {
        let Some(wanted) = self.wanted else { return false };
        let missing = wanted.saturating_sub(self.calendar.len() as u64);
        let passing = 1.0 - self.config.expected_loss.max(self.loss);
        self.epochs.plain_in_flight() as f64 * passing >= missing as f64
    }

    /// Ends a hold if the credits on their way are no longer enough.
    fn release(&mut self, now: Time) {
        if self.held && !self.is_covered() {
            self.held = false;
            self.next = on_step(now);
        }
    }

    /// Starts a new epoch if there is none, if the current one has lasted its part of a round trip (or as long as its
    /// credits could be of use, while no round trip is known), or if emulation paused.
    fn begin_epoch_if_due(&mut self, now: Time) {
        let epochs = u64::from(self.config.epochs.max(1));
        let length = self.rtt.map_or(self.config.wait, |rtt| rtt / epochs);
        if !self.epochs.is_over(now, length) {
            return;
        }
        while let Some(record) = self.epochs.close_older(now, self.config.wait) {
            self.tell(now, &record);
        }
        let rate = self.law.rate();
        let gap = self.full_gap.scale(1.0 / rate);
        self.reach = gap.scale(self.config.jitter);
        self.epochs.begin(now, rate, gap);
    }

    /// Tells the law of an epoch, if anything but spare packets was sent in it.
    fn tell(&mut self, now: Time, record: &Record) {
        if record.plain == 0 {
            return;
        }
        let epoch = Epoch {
            now,
            rate: record.rate,
            sent: record.plain,
            returned: record.plain_returned,
            elapsed: now.saturating_since(record.start),
            returned_rate: 0.0,
            floor: self.full_gap.ratio(self.rtt.unwrap_or(self.config.wait)),
        };
        self.loss = epoch.loss();
        self.law.on_epoch(&epoch);
    }
}
