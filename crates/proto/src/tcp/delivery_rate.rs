//! Delivery-rate samples, and round trips counted in packets. State: bytes delivered, and the times from which the next
//! sample is measured. Names like `P.delivered` are from the draft. Sources:
//! draft-cheng-iccrg-delivery-rate-estimation; kernel: `tcp_rate.c`.

use super::ack_summary::{AckSummary, LastSent};
use super::segment::Snapshot;
use shallop_control::RateSample;
use shallop_core::{Bytes, Span, Time};

#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryRate {
    /// `C.delivered`: bytes delivered since the start of the flow.
    pub(super) delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// `C.app_limited`: samples are application-limited until this many bytes have been delivered; zero if they are
    /// not.
    app_limited_until: u64,
    /// A round trip ends when a segment is delivered that was sent after this many bytes had been delivered.
    next_round_delivered: u64,
}

impl DeliveryRate {
    /// Returns the counters to be stored with a segment that is sent at `now`. If nothing is in flight (`idle`), a new
    /// sampling interval begins.
    pub fn on_send(&mut self, now: Time, idle: bool) -> Snapshot {
        if idle {
            (self.delivered_at, self.first_sent_at) = (now, now);
        }
        let Self { delivered, delivered_at, first_sent_at, .. } = *self;
        Snapshot { delivered, delivered_at, first_sent_at }
    }

    /// Records that the application has nothing to send although the congestion window has room. `in_flight` is in
    /// bytes.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Whether rate samples are application-limited now.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Counts the bytes that an acknowledgement delivers. Returns the rate sample, if there is one, and whether a round
    /// trip begins.
    pub fn on_ack(&mut self, now: Time, summary: &AckSummary, min_rtt: Span) -> (Option<RateSample>, bool) {
        if summary.delivered > 0 {
            self.delivered += summary.delivered;
            self.delivered_at = now;
        }
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let Some(LastSent { transmission, snapshot, app_limited }) = summary.last_sent else {
            return (None, false);
        };
        self.first_sent_at = transmission.at;
        let round_start = snapshot.delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
        }
        let send_interval = transmission.at.saturating_since(snapshot.first_sent_at);
        let ack_interval = now.saturating_since(snapshot.delivered_at);
        let interval = send_interval.max(ack_interval);
        let sample = RateSample {
            delivered: Bytes::new(self.delivered - snapshot.delivered),
            interval,
            prior_delivered: Bytes::new(snapshot.delivered),
            is_app_limited: app_limited,
        };
        // An interval below the minimum round-trip time means that acknowledgements were lost or compressed: the sample
        // would overestimate the rate.
        let valid = !interval.is_zero() && interval >= min_rtt;
        (valid.then_some(sample), round_start)
    }
}
