//! A perfect path for a controller: every window is acknowledged a round trip after it was sent, evenly spaced.

#![allow(dead_code, reason = "each test file uses its own part of the support")]

pub mod narrow;

use shallop_control::{Ack, Loss, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

pub const SEGMENT: Bytes = Bytes::new(1460);

/// A flow of ten segments to begin with.
pub fn start() -> Start {
    Start {
        segment: SEGMENT,
        window: SEGMENT * 10,
        threshold: Bytes::MAX,
        link: BitsPerSec::gbps(1),
        draw: 7,
    }
}

/// The path and what it has seen.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub now: Time,
    pub rtt: Span,
    pub min_rtt: Span,
    pub limited: bool,
    pub una: u64,
}

impl Course {
    pub fn new(rtt: Span) -> Self {
        Self { now: Time::ZERO, rtt, min_rtt: rtt, limited: true, una: 0 }
    }

    /// The facts of an acknowledgement of so many bytes.
    pub fn facts(&self, window: &impl Window, acked: Bytes) -> Ack {
        Ack {
            now: self.now,
            acked,
            lost: Bytes::ZERO,
            marked: Bytes::ZERO,
            delivered: Bytes::new(self.una),
            rtt: Some(self.rtt),
            smoothed_rtt: self.rtt,
            min_rtt: self.min_rtt,
            rate: None,
            flight_before: window.window(),
            in_flight: window.window().saturating_sub(acked),
            window_limited: self.limited,
            advanced: acked,
            round_start: false,
            recovering: false,
            una: self.una,
            // Nothing was sent yet in answer to it.
            next: self.una.saturating_sub(acked.get()) + window.window().get(),
        }
    }

    /// One segment is acknowledged, when its turn in the round trip comes.
    pub fn segment(&mut self, window: &mut impl Window) {
        self.now += self.rtt.scale(SEGMENT.ratio(window.window()));
        self.una += SEGMENT.get();
        let ack = self.facts(window, SEGMENT);
        window.on_ack(&ack);
    }

    /// All that is in flight is acknowledged.
    pub fn round(&mut self, window: &mut impl Window) {
        for _ in 0..window.window().get() / SEGMENT.get() {
            self.segment(window);
        }
    }

    /// The whole window is in flight when congestion is found.
    pub fn loss(&self, window: &impl Window) -> Loss {
        self.loss_of(window.window())
    }

    pub fn loss_of(&self, in_flight: Bytes) -> Loss {
        let next = self.una + in_flight.get();
        Loss { now: self.now, in_flight, after_mark: false, una: self.una, next }
    }

    /// The mean window, in segments, when every `every`-th segment is lost, over `times` losses.
    pub fn mean_window(&mut self, window: &mut impl Window, every: u64, times: u64) -> f64 {
        window.on_loss(&self.loss(window));
        let mut begin = self.now;
        for nth in 0..times + 6 {
            if nth == 6 {
                begin = self.now;
            }
            (0..every).for_each(|_| self.segment(window));
            window.on_loss(&self.loss(window));
        }
        (every * times) as f64 * self.rtt.ratio(self.now - begin)
    }
}

/// Lines of a table of known answers, as fields.
pub fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
}

/// A number of such a table.
pub fn number(field: &str) -> f64 {
    field.parse().expect("tables of known answers hold numbers")
}
