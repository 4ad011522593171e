//! The configuration of a port.

use shallop_core::{BitsPerSec, Class, Span};

use crate::discipline::Discipline;
use crate::impairment::Impairment;
use crate::queue::QueueConfig;
use crate::wire::LinkChange;

/// What a port is made from.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Span,
    /// The queues; 32 at most.
    pub queues: Vec<QueueConfig>,
    /// For each class, by index, the queue that its packets join.
    pub queue_of: [u8; Class::COUNT],
    /// What the wire does to packets besides its delay, if anything.
    pub impairment: Option<Impairment>,
    /// Changes of rate and delay, earliest first. Meters keep their share of the link.
    pub changes: Vec<LinkChange>,
}

impl PortConfig {
    /// Whether the discipline of a queue may drop packets that were enqueued before: see [`crate::Port::take_dropped`].
    #[must_use]
    pub fn drops_enqueued(&self) -> bool {
        self.queues.iter().any(|queue| !matches!(queue.discipline, Discipline::Fifo(_)))
    }
}
