//! The configuration of a port.

use shallop_core::{BitsPerSec, Class, Span};

use crate::discipline::Discipline;
use crate::impairment::Impairment;
use crate::queue::QueueConfig;
use crate::wire::LinkChange;

#[derive(Clone, Debug)]
pub struct PortConfig {
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Span,
    /// At most 32 queues.
    pub queues: Vec<QueueConfig>,
    /// For each class, by index, the queue that its packets join.
    pub queue_of: [u8; Class::COUNT],
    pub impairment: Option<Impairment>,
    /// Changes of rate and delay, earliest first. Meters keep their share of the link.
    pub changes: Vec<LinkChange>,
}

impl PortConfig {
    /// A port whose packets all join the first queue, on a wire without impairment or changes.
    pub fn new(rate: BitsPerSec, delay: Span, queues: Vec<QueueConfig>) -> Self {
        let queue_of = [0; Class::COUNT];
        Self { rate, delay, queues, queue_of, impairment: None, changes: vec![] }
    }

    /// Whether the discipline of a queue may drop packets that were enqueued before: see [`crate::Port::take_dropped`].
    pub fn drops_enqueued(&self) -> bool {
        self.queues.iter().any(|queue| !matches!(queue.discipline, Discipline::Fifo(_)))
    }
}
