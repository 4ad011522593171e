//! Selective drop (Aeolus): above a threshold, packets that are not ECN-capable are dropped while others are kept, as
//! RED/ECN of commodity switching chips does with both thresholds equal. The arriving packet counts as part of the
//! queue, so packets that are not ECN-capable never make it longer than the threshold.

use shallop_core::Ecn;

use crate::limit::{Limit, QueueLength};

/// A selective-drop threshold.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveDrop {
    /// Packets that are not ECN-capable are dropped if they would make the queue longer than this.
    pub above: Limit,
}

impl SelectiveDrop {
    /// Whether an arriving packet is dropped, in a queue that would have this length with it.
    #[must_use]
    pub fn drops(&self, ecn: Ecn, length: QueueLength) -> bool {
        ecn == Ecn::NotEct && self.above.exceeded_by(length)
    }
}
