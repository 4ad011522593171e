//! What one acknowledgement delivers: how many bytes, which transmissions give round-trip and rate samples, and whether
//! segments were reordered.

use shallop_core::{Span, Time};

use super::segment::{Segment, Snapshot, Transmission};
use super::timestamp::Timestamp;
use crate::rtt::Rtt;

/// The transmission that was sent last of those that an acknowledgement delivers (`RACK.segment` of RFC 8985).
#[derive(Clone, Copy, Debug)]
pub struct LastSent {
    pub transmission: Transmission,
    /// Delivery counters when it was sent.
    pub snapshot: Snapshot,
    /// Whether the sender was application-limited when it was sent.
    pub app_limited: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// A retransmission that was sent after this time is younger than the minimum round trip, so the acknowledgement
    /// must be for an earlier transmission of the segment (RFC 8985, 6.2, step 2).
    newest_plausible: Time,
    /// Bytes newly delivered, acknowledged cumulatively or selectively.
    pub delivered: u64,
    /// The delivered transmission that was sent last.
    pub last_sent: Option<LastSent>,
    /// The earliest and the latest sending time of delivered segments; `None` if any of them was retransmitted, so that
    /// a round-trip sample would be ambiguous (Karn's rule).
    pub send_times: Option<(Time, Time)>,
    retransmitted: bool,
    /// Whether a segment that was never retransmitted was delivered after one that was sent later.
    pub reordered: bool,
    /// Whether any segment was newly acknowledged selectively.
    pub sacked: bool,
    /// The lowest index of a delivered segment that was never retransmitted.
    pub first_original: Option<u64>,
    /// `TSecr` of the acknowledgement. Set only while the cumulative acknowledgement is processed: the timestamp
    /// belongs to the segment that advanced it, and not to segments in SACK blocks.
    pub tsecr: Option<Timestamp>,
}

/// What an acknowledgement tells loss detection.
#[derive(Clone, Copy, Debug)]
pub struct DetectionInput<'a> {
    pub now: Time,
    /// What the acknowledgement delivered.
    pub summary: &'a AckSummary,
    /// Whether fast recovery, or recovery after a timeout, is under way.
    pub in_recovery: bool,
    pub rtt: &'a Rtt,
}

impl AckSummary {
    /// An empty summary for an acknowledgement at `now`.
    pub fn new(now: Time, min_rtt: Span) -> Self {
        Self {
            newest_plausible: Time::after_start(now.since_start().saturating_sub(min_rtt)),
            ..Self::default()
        }
    }

    /// Adds a newly delivered segment of `len` bytes.
    pub fn add(&mut self, index: u64, len: u64, segment: &Segment) {
        let sent_at = segment.sent_at;
        self.delivered += len;
        if segment.retransmitted {
            (self.retransmitted, self.send_times) = (true, None);
            if sent_at > self.newest_plausible || self.is_for_earlier_transmission(sent_at) {
                return;
            }
        } else {
            self.first_original = Some(self.first_original.map_or(index, |first| first.min(index)));
            if !self.retransmitted {
                let (earliest, latest) = self.send_times.unwrap_or((sent_at, sent_at));
                self.send_times = Some((earliest.min(sent_at), latest.max(sent_at)));
            }
        }
        let transmission = Transmission { at: sent_at, index };
        if self.last_sent.is_none_or(|last| last.transmission < transmission) {
            let Segment { snapshot, app_limited, .. } = *segment;
            self.last_sent = Some(LastSent { transmission, snapshot, app_limited });
        }
    }

    /// Whether the echoed timestamp is older than a retransmission sent at `sent_at`, so that the acknowledgement is
    /// for an earlier transmission (RFC 8985, 6.2, step 2).
    fn is_for_earlier_transmission(&self, sent_at: Time) -> bool {
        self.tsecr.is_some_and(|tsecr| tsecr.is_before(Timestamp::at(sent_at)))
    }
}
