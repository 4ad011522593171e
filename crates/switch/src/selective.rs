//! Selective drop (Aeolus): above a threshold, packets that are not ECN-capable are dropped while others are kept, as
//! RED/ECN of commodity switching chips does with both thresholds equal. The arriving packet counts as part of the
//! queue, so packets that are not ECN-capable never make it longer than the threshold, unless the queue counts it as
//! one byte ([`crate::QueueConfig`]).

use crate::limit::{Limit, QueueLength};
use shallop_core::Ecn;

/// Queue length above which packets that are not ECN-capable are dropped.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveDrop {
    /// Longest queue, including the arriving packet, at which no packet is dropped.
    pub above: Limit,
}

impl SelectiveDrop {
    /// Whether to drop an arriving packet. `length` is the length of the queue including the packet.
    pub fn drops(&self, ecn: Ecn, length: QueueLength) -> bool {
        ecn == Ecn::NotEct && self.above.exceeded_by(length)
    }
}
