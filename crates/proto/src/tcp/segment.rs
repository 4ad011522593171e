//! The record of a segment in flight: its last transmission, and the delivery counters when it was sent.

use shallop_core::Time;

/// One transmission of a segment. Ordered by time; transmissions of the same instant by position in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transmission {
    /// When the segment was sent.
    pub at: Time,
    /// The index of the segment.
    pub index: u64,
}

/// The counters of the delivery-rate estimator when a segment was sent.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// `P.delivered`: bytes delivered by then.
    pub(super) delivered: u64,
    /// `P.delivered_time`: when the last of them was delivered.
    pub(super) delivered_at: Time,
    /// `P.first_sent_time`: when the segment was sent that was delivered last. The send interval starts there.
    pub(super) first_sent_at: Time,
}

/// What the sender knows of a segment's last transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// In flight: not acknowledged, and not marked lost.
    InFlight,
    /// Marked lost, and not retransmitted yet.
    Lost,
    /// Selectively acknowledged.
    Sacked,
}

/// The record of a segment between SND.UNA and SND.NXT.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// When it was sent last.
    pub sent_at: Time,
    /// The delivery counters at that time.
    pub snapshot: Snapshot,
    /// What is known of that transmission.
    pub state: SegmentState,
    /// It was sent more than once, so that its acknowledgement is ambiguous.
    pub retransmitted: bool,
    /// The sender was application-limited when it was sent last.
    pub app_limited: bool,
}

impl Segment {
    /// True if a retransmission of it is in flight.
    pub(super) const fn is_retransmission_in_flight(&self) -> bool {
        self.retransmitted && matches!(self.state, SegmentState::InFlight)
    }
}

const _: () = assert!(size_of::<Segment>() <= 40, "there may be 100,000 of them a flow");
