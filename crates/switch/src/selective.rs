//! Selective drop (Aeolus): above a threshold, packets that are not ECN-capable are dropped while others are kept, as
//! RED/ECN of commodity switching chips does with both thresholds equal. The arriving packet counts as part of the
//! queue, so packets that are not ECN-capable never make it longer than the threshold.

use shallop_core::Ecn;

use crate::limit::{Limit, QueueLength};

/// A threshold above which a queue drops packets that are not ECN-capable.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveDrop {
    /// Longest queue that packets which are not ECN-capable may make.
    pub above: Limit,
}

impl SelectiveDrop {
    /// Whether an arriving packet is dropped. `length` is the queue's length with the packet.
    pub fn drops(&self, ecn: Ecn, length: QueueLength) -> bool {
        ecn == Ecn::NotEct && self.above.exceeded_by(length)
    }
}
