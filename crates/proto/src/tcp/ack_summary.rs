//! What one acknowledgement delivers: how many bytes, which transmissions give round-trip and rate samples, and whether
//! segments were reordered.

use super::segment::{Segment, Snapshot, Transmission};
use super::timestamp::Timestamp;
use crate::rtt::Rtt;
use shallop_core::{Span, Time};

/// Of the transmissions that an acknowledgement delivers, the one that was sent last (`RACK.segment` of RFC 8985).
#[derive(Clone, Copy, Debug)]
pub struct LastSent {
    pub transmission: Transmission,
    /// The delivery counters when the transmission was sent.
    pub snapshot: Snapshot,
    /// Whether the sender was application-limited when the transmission was sent.
    pub app_limited: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// A retransmission sent after this time is younger than the minimum round-trip time, so the acknowledgement must
    /// be for an earlier transmission of the segment (RFC 8985, 6.2, step 2).
    newest_plausible: Time,
    /// Bytes newly delivered by the acknowledgement, cumulatively or selectively.
    pub delivered: u64,
    /// Of the transmissions delivered by the acknowledgement, the one that was sent last.
    pub last_sent: Option<LastSent>,
    /// The earliest and the latest sending time of the delivered segments. `None` if any of them was retransmitted,
    /// because a round-trip sample would be ambiguous (Karn's rule).
    pub send_times: Option<(Time, Time)>,
    retransmitted: bool,
    /// Whether a segment that was never retransmitted was delivered after a segment that was sent later.
    pub reordered: bool,
    /// Whether the SACK blocks of the acknowledgement delivered any segment.
    pub sacked: bool,
    /// The lowest index of the delivered segments that were never retransmitted.
    pub first_original: Option<u64>,
    /// `TSecr` of the acknowledgement, set only while the cumulative acknowledgement is processed: the timestamp
    /// belongs to the segment that advanced SND.UNA, and not to segments in SACK blocks.
    pub tsecr: Option<Timestamp>,
}

/// What loss detection needs to know of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct DetectionInput<'a> {
    pub now: Time,
    pub summary: &'a AckSummary,
    /// Whether fast recovery, or recovery after a timeout, is in progress.
    pub in_recovery: bool,
    pub rtt: &'a Rtt,
}

impl AckSummary {
    /// Makes a summary of an acknowledgement that arrived at `now`, with nothing delivered yet.
    pub fn new(now: Time, min_rtt: Span) -> Self {
        Self { newest_plausible: Time::after_start(now.since_start().saturating_sub(min_rtt)), ..Self::default() }
    }

    /// Adds a segment of `len` bytes that the acknowledgement delivers.
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
    /// for an earlier transmission of the segment (RFC 8985, 6.2, step 2).
    fn is_for_earlier_transmission(&self, sent_at: Time) -> bool {
        self.tsecr.is_some_and(|tsecr| tsecr.is_before(Timestamp::at(sent_at)))
    }
}
