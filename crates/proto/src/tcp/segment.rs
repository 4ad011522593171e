//! The record of a segment in flight: its last transmission, and the delivery counters when it was sent.

use shallop_core::Time;

/// One transmission of a segment, ordered by time and then by position in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transmission {
    pub at: Time,
    pub index: u64,
}

/// The counters of the delivery-rate estimator at the time when a segment was sent.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// `P.delivered`: bytes delivered when the segment was sent.
    pub(super) delivered: u64,
    /// `P.delivered_time`: when the last byte was delivered, before the segment was sent.
    pub(super) delivered_at: Time,
    /// `P.first_sent_time`: the start of the send interval, which is the send time of the segment that was delivered
    /// last.
    pub(super) first_sent_at: Time,
}

/// What the sender knows about a segment's last transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// The segment is neither acknowledged nor marked lost.
    InFlight,
    /// The segment is marked lost and was not retransmitted since.
    Lost,
    Sacked,
}

#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub sent_at: Time,
    pub snapshot: Snapshot,
    pub state: SegmentState,
    /// Whether the segment was sent more than once, so that an acknowledgement of it is ambiguous.
    pub retransmitted: bool,
    /// Whether the sender was application-limited when the segment was last sent.
    pub app_limited: bool,
}

impl Segment {
    pub(super) const fn is_retransmission_in_flight(&self) -> bool {
        self.retransmitted && matches!(self.state, SegmentState::InFlight)
    }
}

const _: () = assert!(size_of::<Segment>() <= 40, "there may be 100,000 of them a flow");
