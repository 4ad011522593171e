//! The configuration from which a port is made: link, queues, impairment of the wire, and changes during the run.

use crate::{discipline::Discipline, impairment::Impairment, queue::QueueConfig, wire::LinkChange};
use shallop_core::{BitsPerSec, Class, Span};

#[derive(Clone, Debug)]
pub struct PortConfig {
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Queues of the port, at most 32.
    pub queues: Vec<QueueConfig>,
    /// Index of the queue that packets of each class join; the index is the class's.
    pub queue_of: [u8; Class::COUNT],
    pub impairment: Option<Impairment>,
    /// Changes of the link's rate and delay, earliest first. Meters keep their share of the rate.
    pub changes: Vec<LinkChange>,
}

impl PortConfig {
    /// A port whose packets all join the first queue, on a wire without impairment or changes.
    pub fn new(rate: BitsPerSec, delay: Span, queues: Vec<QueueConfig>) -> Self {
        let queue_of = [0; Class::COUNT];
        Self { rate, delay, queues, queue_of, impairment: None, changes: vec![] }
    }

    /// Whether the discipline of a queue may drop packets that it has enqueued; see [`crate::Port::take_dropped`].
    pub fn drops_enqueued(&self) -> bool {
        self.queues.iter().any(|queue| !matches!(queue.discipline, Discipline::Fifo(_)))
    }
}
