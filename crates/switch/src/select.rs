//! Selective drop, as RED/ECN of commodity chips does it with both thresholds equal: above the threshold packets that
//! are not ECN-capable are dropped, the others stay (flashpass-icnp21 III.C, aeolus-apnet18). The arriving packet
//! counts as part of the queue, so packets that are not ECN-capable never lift it above the threshold.

use shallop_core::Ecn;

use crate::limit::{Holding, Limit};

/// A selective-drop threshold.
#[derive(Clone, Copy, Debug)]
pub struct Select {
    /// Packets that are not ECN-capable are dropped if they would make the queue hold more than this.
    pub above: Limit,
}

impl Select {
    /// Whether this rule drops a packet on arrival, in a queue that would hold this much with it.
    #[must_use]
    pub fn drops(&self, ecn: Ecn, held: Holding) -> bool {
        ecn == Ecn::NotEct && self.above.exceeded_by(held)
    }
}
