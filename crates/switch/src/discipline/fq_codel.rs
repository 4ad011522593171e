//! `FQ-CoDel` (RFC 8290): flows are hashed to queues, each under `CoDel`. The queues are served by deficit round robin,
//! new queues first, so that a sparse flow does not wait behind flows that build queues. When the memory or the packet
//! limit is exhausted, packets are dropped from the head of the longest queue.
//!
//! The hash covers the packet's destination endpoint instead of the 5-tuple; it differs for each flow and each
//! direction. Flows that share a connection (`sim/src/flow_table.rs`) hash to different queues.
//!
//! Choices that the RFC leaves open: a queue has used up its credits at zero, as in Linux ("has already dequeued at
//! least a quantum of bytes"). If several queues are longest, the lowest bucket loses packets. `CoDel` compares the
//! backlog of the flow's queue with the largest packet. Empty queues leave the lists when the link becomes idle, as in
//! Linux, where the driver then polls the discipline once more. A drop for lack of memory compares all active queues,
//! at most one for each packet.

use super::backlog::{Backlog, Dropped, Overflow};
use super::codel::{CoDel, CoDelConfig};
use super::{AqmConfig, AqmPort, ManagedQueue};
use crate::{limit::QueueLength, mark::Decision};
use shallop_core::seed::hash;
use shallop_core::{Bytes, DropCause, Ecn, End, Envelope, Packet, Time};
use shallop_options::Options;
use std::collections::VecDeque;

/// Options of the discipline `fq-codel` in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct FqCoDelConfig {
    /// CoDel of each queue.
    #[part]
    pub codel: CoDelConfig,
    /// The number of queues to which flows are hashed.
    #[key(Integer(1, 65_536), default = 1_024)]
    pub flows: u32,
    /// The bytes on the wire that a queue may send in a round.
    #[key(Size(Bytes::new(64), Bytes::new(1_000_000_000)), shown = "the largest packet of the link")]
    pub quantum: Option<Bytes>,
    /// The number of packets that all queues may hold together, besides the limit of the buffer.
    #[key(Integer(1, 100_000_000), default = 10_240)]
    pub limit: u32,
    /// The largest number of packets that are dropped at once from the longest queue to make room. It loses at most
    /// half of its packets.
    #[key(Integer(1, 100_000), default = 64)]
    pub drop_batch: u32,
}

impl AqmConfig for FqCoDelConfig {
    fn marks(&self) -> bool {
        self.codel.marks()
    }

    fn marks_in_proportion(&self) -> bool {
        self.codel.marks_in_proportion()
    }
}

/// Value in `buckets` for a bucket without a queue. A queue is allocated when a packet first hashes to its bucket.
const UNUSED: u32 = u32::MAX;

/// Queue of all flows that hash to one bucket.
#[derive(Clone, Debug)]
struct FlowQueue<C> {
    bucket: u32,
    backlog: Backlog<C>,
    codel: CoDel,
    /// Bytes that the queue may still send in this round of deficit round robin; negative if its last packet was larger
    /// than the rest.
    credits: i64,
    /// Whether the queue is in one of the lists `new` and `old`.
    active: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct FqCoDel<C> {
    config: FqCoDelConfig,
    /// Size of the largest packet of the link, in bytes on the wire.
    mtu: Bytes,
    /// Random salt of the hash from endpoints to buckets.
    salt: u64,
    /// Index of each bucket's queue in the list of queues, or [`UNUSED`].
    buckets: Vec<u32>,
    queues: Vec<FlowQueue<C>>,
    /// Indices of new queues: active queues that have not used up their first quantum.
    new: VecDeque<u32>,
    /// Indices of old queues: all active queues that are not new.
    old: VecDeque<u32>,
}

impl<C: Copy> FqCoDel<C> {
    fn bucket(&self, end: End) -> u32 {
        (hash(self.salt ^ u64::from(end.0)) % self.buckets.len() as u64) as u32
    }

    /// Index of the queue for packets to the endpoint `end`; allocates a queue if the bucket has none.
    fn queue_of(&mut self, end: End) -> u32 {
        let bucket = self.bucket(end);
        let index = &mut self.buckets[bucket as usize];
        if *index == UNUSED {
            *index = self.queues.len() as u32;
            let (backlog, codel) = (Backlog::default(), CoDel::new(self.mtu));
            self.queues.push(FlowQueue { bucket, backlog, codel, credits: 0, active: false });
        }
        *index
    }

    /// Adds an inactive queue to the list of new queues, with a quantum of credits.
    fn activate(&mut self, index: u32) {
        let quantum = self.quantum();
        let queue = &mut self.queues[index as usize];
        if !queue.active {
            queue.active = true;
            queue.credits = quantum;
            self.new.push_back(index);
        }
    }

    /// Bytes on the wire that a queue may send in a round.
    fn quantum(&self) -> i64 {
        self.config.quantum.unwrap_or(self.mtu).get().max(1).cast_signed()
    }
}

impl<C: Copy> ManagedQueue<C> for FqCoDel<C> {
    type Config = FqCoDelConfig;

    fn new(config: &FqCoDelConfig, port: &AqmPort) -> Self {
        let buckets = vec![UNUSED; config.flows.max(1) as usize];
        let (queues, new, old) = (Vec::new(), VecDeque::new(), VecDeque::new());
        let salt = port.stream.clone().draw();
        Self { config: *config, mtu: port.mtu, salt, buckets, queues, new, old }
    }

    fn is_over_limit(&self, length: QueueLength) -> bool {
        length.packets > self.config.limit
    }

    fn enqueue(&mut self, now: Time, packet: Packet<C>, _arrived: Ecn) {
        let index = self.queue_of(packet.envelope.end);
        self.activate(index);
        self.queues[index as usize].backlog.push(now, packet);
    }

    /// Drops packets from the head of the longest queue. The arriving packet counts as the tail of its flow's queue.
    fn overflow(&mut self, arriving: Envelope, cause: DropCause, dropped: &mut Vec<Dropped>) -> Overflow {
        let own = self.queue_of(arriving.end);
        let length = |index: u32| {
            let queue = &self.queues[index as usize];
            let more = if index == own { arriving.bytes() } else { Bytes::ZERO };
            (queue.backlog.bytes() + more, std::cmp::Reverse(queue.bucket))
        };
        let active = self.new.iter().chain(&self.old).copied();
        let longest = active.max_by_key(|&index| length(index)).unwrap_or(own);
        let longest = if length(own) > length(longest) { own } else { longest };
        let queue = &mut self.queues[longest as usize];
        let packets = queue.backlog.len() + usize::from(longest == own);
        let batch = (packets / 2).clamp(1, self.config.drop_batch.max(1) as usize);
        let before = dropped.len();
        for _ in 0..batch {
            let Some(head) = queue.backlog.pop() else { break };
            dropped.push(Dropped { packet: head.packet.envelope, cause });
        }
        if dropped.len() > before { Overflow::MadeRoom } else { Overflow::DropArriving }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)> {
        let quantum = self.quantum();
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index as usize];
            if queue.credits <= 0 {
                queue.credits += quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let mut drop = |packet| dropped.push(Dropped { packet, cause: DropCause::Aqm });
            let FlowQueue { backlog, codel, .. } = queue;
            if let Some((packet, mark)) = codel.dequeue(&self.config.codel, now, backlog, &mut drop) {
                queue.credits -= packet.envelope.bytes().get().cast_signed();
                return Some((packet, mark));
            }
            list.pop_front();
            if from_new {
                self.old.push_back(index);
            } else {
                queue.active = false;
            }
        }
    }

    /// Deactivates all queues, since they are empty when the link is idle. The packet's queue then becomes a new queue
    /// that has sent the packet.
    fn on_idle_arrival(&mut self, _now: Time, packet: Envelope) -> Decision {
        for index in self.new.drain(..).chain(self.old.drain(..)) {
            self.queues[index as usize].active = false;
        }
        let index = self.queue_of(packet.end);
        self.activate(index);
        self.queues[index as usize].credits -= packet.bytes().get().cast_signed();
        Decision::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    #[test]
    fn flows_spread_over_the_queues_by_a_salted_hash() {
        let spread = |salt| {
            let port = AqmPort { mtu: Bytes::new(1500), stream: Seed::new(salt).stream("aqm", 0) };
            let fq = FqCoDel::<u32>::new(&FqCoDelConfig::defaults(()), &port);
            let mut buckets: Vec<u32> = (0..100).map(|n| fq.bucket(End::receiver(n))).collect();
            buckets.sort_unstable();
            buckets.dedup();
            buckets
        };
        // 100 flows in 1024 queues occupy 95.3 queues on average (RFC 8290, section 5.3).
        let (one, two) = (spread(1), spread(2));
        assert!((88..=100).contains(&one.len()) && one != two, "{}", one.len());
    }
}
