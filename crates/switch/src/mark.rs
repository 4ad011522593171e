//! ECN step marking on the instantaneous queue: one threshold, no averaging (PROTOCOLS: DCTCP's switch). The arriving
//! or leaving packet counts as part of the queue, so with a threshold of K packets the one that makes K + 1 is marked.

use crate::limit::{Holding, Limit};

/// When a queue looks at its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MarkAt {
    /// As the packet joins.
    #[default]
    Enqueue,
    /// As the packet starts to leave: the mark is younger by the time it waited.
    Dequeue,
}

/// A marking threshold.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Packets are marked while the queue holds more than this.
    pub above: Limit,
    /// When the queue is looked at.
    pub at: MarkAt,
}

impl Mark {
    /// Whether a packet is marked at this point, in a queue that holds this much with it.
    #[must_use]
    pub fn applies(&self, at: MarkAt, held: Holding) -> bool {
        self.at == at && self.above.exceeded_by(held)
    }
}
