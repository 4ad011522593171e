//! The record of a segment in flight: its last transmission, and the delivery counters when it was sent.

use shallop_core::Time;

/// One transmission of a segment, ordered by time and then by position in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transmission {
    pub at: Time,
    pub index: u64,
}

/// Counters of the delivery-rate estimator when a segment was sent.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// `P.delivered`: bytes delivered by then.
    pub(super) delivered: u64,
    /// `P.delivered_time`: when the last of these bytes was delivered.
    pub(super) delivered_at: Time,
    /// `P.first_sent_time`: when the segment was sent that was delivered last, where the send interval starts.
    pub(super) first_sent_at: Time,
}

/// What the sender knows about a segment's last transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Neither acknowledged nor marked lost.
    InFlight,
    /// Marked lost and not retransmitted yet.
    Lost,
    Sacked,
}

#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub sent_at: Time,
    pub snapshot: Snapshot,
    pub state: SegmentState,
    /// Whether it was sent more than once, so that its acknowledgement is ambiguous.
    pub retransmitted: bool,
    /// Whether the sender was application-limited when it was sent last.
    pub app_limited: bool,
}

impl Segment {
    pub(super) const fn is_retransmission_in_flight(&self) -> bool {
        self.retransmitted && matches!(self.state, SegmentState::InFlight)
    }
}

const _: () = assert!(size_of::<Segment>() <= 40, "there may be 100,000 of them a flow");
