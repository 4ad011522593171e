//! Test paths. [`FixedRtt`] has no queue: every segment of a window is acknowledged one RTT after it was sent, evenly
//! spaced. [`bottleneck::Bottleneck`] has a rate and a queue.

pub mod bottleneck;

use shallop_control::{Ack, Loss, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

pub const SEGMENT: Bytes = Bytes::new(1460);

/// A connection with an initial window of ten segments.
pub fn start() -> Start {
    Start {
        mss: SEGMENT,
        initial_window: SEGMENT * 10,
        initial_ssthresh: Bytes::MAX,
        link_rate: BitsPerSec::gbps(1),
        seed: 7,
    }
}

/// A path with a fixed RTT, and the state of the sender.
#[derive(Clone, Copy, Debug)]
pub struct FixedRtt {
    pub now: Time,
    pub rtt: Span,
    pub min_rtt: Span,
    pub is_cwnd_limited: bool,
    pub snd_una: u64,
}

impl FixedRtt {
    pub fn new(rtt: Span) -> Self {
        Self { now: Time::ZERO, rtt, min_rtt: rtt, is_cwnd_limited: true, snd_una: 0 }
    }

    pub fn ack(&self, window: &impl Window, acked_sacked: Bytes) -> Ack {
        Ack {
            now: self.now,
            acked_sacked,
            delivered: Bytes::new(self.snd_una),
            rtt: Some(self.rtt),
            srtt: self.rtt,
            min_rtt: self.min_rtt,
            prior_in_flight: window.window(),
            in_flight: window.window().saturating_sub(acked_sacked),
            is_cwnd_limited: self.is_cwnd_limited,
            snd_una_advance: acked_sacked,
            snd_una: self.snd_una,
            // The segments that this ACK allows are not sent yet.
            snd_nxt: self.snd_una.saturating_sub(acked_sacked.get()) + window.window().get(),
            ..Ack::default()
        }
    }

    pub fn segment(&mut self, window: &mut impl Window) {
        self.now += self.rtt.scale(SEGMENT.ratio(window.window()));
        self.snd_una += SEGMENT.get();
        let ack = self.ack(window, SEGMENT);
        window.on_ack(&ack);
    }

    /// A congestion event with the whole window in flight.
    pub fn loss(&self, window: &impl Window) -> Loss {
        let prior_in_flight = window.window();
        let (snd_una, snd_nxt) = (self.snd_una, self.snd_una + prior_in_flight.get());
        Loss { now: self.now, prior_in_flight, in_cwr: false, snd_una, snd_nxt }
    }

    /// Mean cwnd in segments over `times` losses after the first six, if one segment in `every` is lost.
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

/// Rows of a table of known answers as fields, without comments and header.
pub fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
}

pub fn number(field: &str) -> f64 {
    field.parse().expect("tables of known answers hold numbers")
}
