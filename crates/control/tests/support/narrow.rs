//! A path that carries no more than its rate, with room for any queue: what was sent is acknowledged at that rate, and
//! the queue shows in the round trips. For controllers that model the path.

use std::collections::VecDeque;

use shallop_control::{Ack, Loss, RateSample, Window};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};

use super::SEGMENT;

/// The path, and what is on it.
#[derive(Clone, Debug)]
pub struct Narrow {
    pub now: Time,
    /// The round trip without a queue.
    pub base: Span,
    pub rate: BitsPerSec,
    pub in_flight: Bytes,
    pub delivered: Bytes,
    /// Something never sent again was acknowledged last.
    pub timed: bool,
    pub limited: bool,
    /// A loss was found since the last acknowledgement.
    pub lost: Bytes,
    /// A round ends when so much is delivered.
    round_end: Bytes,
    /// What the pace has left over.
    spare: f64,
    /// The round trips of what is in flight, by the queue each segment met.
    trips: VecDeque<Span>,
}

impl Narrow {
    pub fn new(rate: BitsPerSec, base: Span) -> Self {
        let (in_flight, delivered, lost) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        let (now, round_end) = (Time::ZERO, Bytes::new(1));
        let (timed, limited, spare, trips) = (true, true, 0.0, VecDeque::new());
        Self {
            now,
            base,
            rate,
            in_flight,
            delivered,
            timed,
            limited,
            lost,
            round_end,
            spare,
            trips,
        }
    }

    /// What the path holds without a queue.
    pub fn product(&self) -> Bytes {
        self.rate.bytes_in(self.base)
    }

    /// What is in flight is more than the path holds, by so many segments.
    pub fn queue(&self) -> f64 {
        self.in_flight.ratio(SEGMENT) - self.product().ratio(SEGMENT)
    }

    /// What the pace and the window allow leaves in so long.
    fn send(&mut self, window: &impl Window, elapsed: Span) {
        let room = window.window().saturating_sub(self.in_flight);
        let paced = window.pacing().map_or(room.get() as f64, |pace| {
            self.spare += pace.get() as f64 / 8.0 * elapsed.as_secs_f64();
            self.spare.min(room.get() as f64)
        });
        let left = (paced / SEGMENT.get() as f64).floor() * SEGMENT.get() as f64;
        self.spare = (self.spare - left).clamp(0.0, SEGMENT.get() as f64);
        for _ in 0..left as u64 / SEGMENT.get() {
            self.in_flight += SEGMENT;
            self.trips.push_back(self.trip());
        }
    }

    /// How long what is in flight takes to pass.
    fn trip(&self) -> Span {
        Pace::new(self.rate).quote(self.in_flight).max(self.base)
    }

    /// The facts of an acknowledgement of one segment, with so much in flight before it, delivered in so long.
    fn facts(&self, before: Bytes, interval: Span, rtt: Span) -> Ack {
        let prior_delivered = self.delivered.saturating_sub(before);
        let delivered = self.delivered - prior_delivered;
        let una = self.delivered.get();
        Ack {
            now: self.now,
            acked: SEGMENT,
            lost: self.lost,
            marked: Bytes::ZERO,
            delivered: self.delivered,
            rtt: self.timed.then_some(rtt),
            smoothed_rtt: rtt,
            min_rtt: self.base,
            rate: Some(RateSample {
                delivered,
                interval,
                prior_delivered,
                app_limited: !self.limited,
            }),
            flight_before: before,
            in_flight: self.in_flight,
            window_limited: self.limited,
            advanced: SEGMENT,
            round_start: self.delivered >= self.round_end,
            recovering: false,
            una,
            next: una + self.in_flight.get(),
        }
    }

    /// One segment is acknowledged.
    pub fn segment(&mut self, window: &mut impl Window) {
        if self.in_flight < SEGMENT {
            self.in_flight = SEGMENT;
        }
        let (before, passes) = (self.in_flight, self.trip());
        let rtt = self.trips.pop_front().unwrap_or(passes);
        let gap = passes.scale(SEGMENT.ratio(before));
        self.now += gap;
        self.delivered += SEGMENT;
        self.in_flight = before - SEGMENT;
        let ack = self.facts(before, passes, rtt);
        if ack.round_start {
            self.round_end = self.delivered + before;
        }
        self.lost = Bytes::ZERO;
        window.on_ack(&ack);
        self.send(window, gap);
    }

    /// Acknowledgements until a round begins.
    pub fn round(&mut self, window: &mut impl Window) {
        let end = self.round_end;
        while self.delivered < end {
            self.segment(window);
        }
    }

    /// So many segments in flight are lost, which the next acknowledgement tells.
    pub fn lose(&mut self, segments: u64) {
        self.lost += SEGMENT * segments;
        self.in_flight -= SEGMENT * segments;
        self.trips.truncate((self.in_flight.get() / SEGMENT.get()) as usize);
    }

    /// Everything in flight is acknowledged to nobody, and nothing is sent for so long.
    pub fn fall_silent(&mut self, span: Span) {
        self.now += span;
        (self.in_flight, self.round_end) = (Bytes::ZERO, self.delivered + SEGMENT);
        self.trips.clear();
    }

    pub fn loss(&self) -> Loss {
        let una = self.delivered.get();
        let next = una + self.in_flight.get();
        Loss { now: self.now, in_flight: self.in_flight, after_mark: false, una, next }
    }
}
