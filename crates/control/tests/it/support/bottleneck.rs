//! A path with a bottleneck: segments are delivered at its rate, and an unlimited queue adds to the RTT. For
//! controllers that model the path.

use super::SEGMENT;
use shallop_control::{Ack, Loss, RateSample, Window};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};
use std::collections::VecDeque;

/// The path, and the state of the sender.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    pub now: Time,
    pub base_rtt: Span,
    pub rate: BitsPerSec,
    pub in_flight: Bytes,
    pub delivered: Bytes,
    pub is_cwnd_limited: bool,
    /// Bytes that the next ACK reports lost.
    pub losses: Bytes,
    round_end: Bytes,
    /// Bytes that the pacing rate has allowed and that do not fill a segment yet.
    pacing_credit: f64,
    rtts: VecDeque<Span>,
}

impl Bottleneck {
    pub fn new(rate: BitsPerSec, base_rtt: Span) -> Self {
        Self {
            now: Time::ZERO,
            base_rtt,
            rate,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            is_cwnd_limited: true,
            losses: Bytes::ZERO,
            round_end: Bytes::new(1),
            pacing_credit: 0.0,
            rtts: VecDeque::new(),
        }
    }

    /// Sends the segments that the pacing rate and cwnd allow within `elapsed`.
    fn send(&mut self, window: &impl Window, elapsed: Span) {
        let room = window.window().saturating_sub(self.in_flight);
        let allowed = window.pacing().map_or(room.get() as f64, |rate| {
            self.pacing_credit += rate.get() as f64 / 8.0 * elapsed.as_secs_f64();
            self.pacing_credit.min(room.get() as f64)
        });
        let sent = (allowed / SEGMENT.get() as f64).floor() * SEGMENT.get() as f64;
        self.pacing_credit = (self.pacing_credit - sent).clamp(0.0, SEGMENT.get() as f64);
        for _ in 0..sent as u64 / SEGMENT.get() {
            self.in_flight += SEGMENT;
            self.rtts.push_back(self.rtt());
        }
    }

    fn rtt(&self) -> Span {
        Pace::new(self.rate).quote(self.in_flight).max(self.base_rtt)
    }

    /// An ACK of one segment. `prior_in_flight` bytes, in flight before it, were delivered within `interval`.
    fn ack(&self, prior_in_flight: Bytes, interval: Span, rtt: Span) -> Ack {
        let prior_delivered = self.delivered.saturating_sub(prior_in_flight);
        let delivered = self.delivered - prior_delivered;
        let snd_una = self.delivered.get();
        Ack {
            now: self.now,
            acked_sacked: SEGMENT,
            losses: self.losses,
            delivered: self.delivered,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: self.base_rtt,
            rate_sample: Some(RateSample {
                delivered,
                interval,
                prior_delivered,
                is_app_limited: !self.is_cwnd_limited,
            }),
            prior_in_flight,
            in_flight: self.in_flight,
            is_cwnd_limited: self.is_cwnd_limited,
            snd_una_advance: SEGMENT,
            round_start: self.delivered >= self.round_end,
            snd_una,
            snd_nxt: snd_una + self.in_flight.get(),
            ..Ack::default()
        }
    }

    pub fn segment(&mut self, window: &mut impl Window) {
        if self.in_flight < SEGMENT {
            self.in_flight = SEGMENT;
        }
        let (prior_in_flight, interval) = (self.in_flight, self.rtt());
        let rtt = self.rtts.pop_front().unwrap_or(interval);
        let gap = interval.scale(SEGMENT.ratio(prior_in_flight));
        self.now += gap;
        self.delivered += SEGMENT;
        self.in_flight = prior_in_flight - SEGMENT;
        let ack = self.ack(prior_in_flight, interval, rtt);
        if ack.round_start {
            self.round_end = self.delivered + prior_in_flight;
        }
        self.losses = Bytes::ZERO;
        window.on_ack(&ack);
        self.send(window, gap);
    }

    /// Acknowledges segments until the next round begins.
    pub fn round(&mut self, window: &mut impl Window) {
        let end = self.round_end;
        while self.delivered < end {
            self.segment(window);
        }
    }

    /// Loses segments in flight; the next ACK reports the loss.
    pub fn lose(&mut self, segments: u64) {
        self.losses += SEGMENT * segments;
        self.in_flight -= SEGMENT * segments;
        self.rtts.truncate((self.in_flight.get() / SEGMENT.get()) as usize);
    }

    /// The sender is idle for `length`; nothing is in flight afterwards.
    pub fn idle(&mut self, length: Span) {
        self.now += length;
        (self.in_flight, self.round_end) = (Bytes::ZERO, self.delivered + SEGMENT);
        self.rtts.clear();
    }

    /// A congestion event with the current bytes in flight.
    pub fn loss(&self) -> Loss {
        let snd_una = self.delivered.get();
        let snd_nxt = snd_una + self.in_flight.get();
        Loss { now: self.now, prior_in_flight: self.in_flight, in_cwr: false, snd_una, snd_nxt }
    }
}
