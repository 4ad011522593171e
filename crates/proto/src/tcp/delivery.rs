//! How fast the network delivers: a sample for every acknowledgement, and round trips counted in packets. State: bytes
//! delivered, and since when. Source: draft-cheng-iccrg-delivery-rate-estimation; kernel: `tcp_rate.c`.

use shallop_control::RateSample;
use shallop_core::{Bytes, Span, Time};

use super::news::{Newest, News};

/// What had been delivered when a segment was sent.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Bytes delivered.
    delivered: u64,
    /// When the last of them was.
    delivered_at: Time,
    /// When the segment was sent that was delivered last: a sample's sending begins there.
    first_sent: Time,
}

/// The count of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until so many bytes are delivered, samples may be low for want of data. Zero if not.
    limited_until: u64,
    /// A round trip ends with the delivery of a segment sent when this had been delivered.
    round_end: u64,
}

impl Delivery {
    /// All bytes delivered so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A segment is sent; `alone` if nothing else is in flight.
    pub fn stamp(&mut self, now: Time, alone: bool) -> Stamp {
        if alone {
            (self.delivered_at, self.first_sent) = (now, now);
        }
        let Self { delivered, delivered_at, first_sent, .. } = *self;
        Stamp { delivered, delivered_at, first_sent }
    }

    /// There is nothing to send although the window has room; `in_flight` was sent before.
    pub fn run_dry(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// True while samples may be low for want of data.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Counts what an acknowledgement delivers. Gives the sample, if there is one, and whether a round trip begins.
    pub fn on_ack(&mut self, now: Time, news: &News, shortest: Span) -> (Option<RateSample>, bool) {
        if news.bytes > 0 {
            self.delivered += news.bytes;
            self.delivered_at = now;
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let Some(Newest { sent, stamp, app_limited }) = news.newest else { return (None, false) };
        self.first_sent = sent.at;
        let round = stamp.delivered >= self.round_end;
        if round {
            self.round_end = self.delivered;
        }
        let sending = sent.at.saturating_since(stamp.first_sent);
        let interval = sending.max(now.saturating_since(stamp.delivered_at));
        let sample = RateSample {
            delivered: Bytes::new(self.delivered - stamp.delivered),
            interval,
            prior_delivered: Bytes::new(stamp.delivered),
            app_limited,
        };
        // Faster than the fastest round trip: acknowledgements were lost or compressed, and the sample means nothing.
        ((!interval.is_zero() && interval >= shortest).then_some(sample), round)
    }
}
