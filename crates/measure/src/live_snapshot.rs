//! State of a run in progress, for live displays.

use crate::probe::Measurements;
use shallop_core::{DropCause, QueueId, Span};
use shallop_plan::ResolvedRun;
use shallop_switch::Occupancy;
use std::cmp::Reverse;

/// Largest number of queues in a snapshot.
const MOST_QUEUES: usize = 12;
/// Largest number of flows in a snapshot.
const MOST_FLOWS: usize = 100;

/// Length of one queue in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueNow {
    /// Name of the port, then of the queue.
    pub name: String,
    /// Present length, in bytes.
    pub held: u64,
    /// Maximum length since the start of the run, in bytes.
    pub max: u64,
}

/// State of a run in progress, with counts since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSnapshot {
    /// Simulated time since the start of the run.
    pub at: Span,
    /// Queues of switches that were not always empty, at most twelve: those that are longest now first.
    pub queues: Vec<QueueNow>,
    /// Number of packets that queues dropped.
    pub dropped: u64,
    /// Number of packets lost on wires.
    pub lost: u64,
    /// Number of packets that were marked (CE).
    pub marked: u64,
    /// IP bytes of data that arrived, over all flows.
    pub ip_bytes: u64,
    /// IP bytes of data that arrived for each of the first 100 flows, in order of start.
    pub flows: Vec<u64>,
}

impl LiveSnapshot {
    /// State of a run at the time `at`. All ports must have caught up to it.
    #[must_use]
    pub fn new(setup: &ResolvedRun<'_>, at: Span, measured: &Measurements) -> Self {
        let network = &setup.network;
        let all = measured.queues.iter().filter(|(id, _)| network.is_switch_port(id.port));
        let mut queues: Vec<_> = all.filter(|(_, queue)| queue.max().get() > 0).collect();
        queues.sort_by_key(|(id, queue)| Reverse((queue.held(), queue.max(), Reverse(id.port))));
        let named = |(id, queue): &(QueueId, Occupancy)| QueueNow {
            name: format!("{} {}", network.port_name(id.port), setup.layout.queues[usize::from(id.queue)]),
            held: queue.held().get(),
            max: queue.max().get(),
        };
        let (mut dropped, mut lost) = (0, 0);
        for (_, _, cause, count) in measured.drops.all() {
            *(if cause == DropCause::WireLoss { &mut lost } else { &mut dropped }) += count;
        }
        let flows = measured.flows.all().into_iter().flatten().take(MOST_FLOWS);
        Self {
            at,
            queues: queues.into_iter().take(MOST_QUEUES).map(named).collect(),
            dropped,
            lost,
            marked: measured.marks,
            ip_bytes: measured.ip_bytes(),
            flows: flows.map(|flow| flow.ip_bytes).collect(),
        }
    }
}
