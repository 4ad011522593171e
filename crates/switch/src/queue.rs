//! One queue of a port. **[`Queue::enqueue`] decides whether a packet is admitted or dropped.** The rules apply in this
//! order: selective drop, RED (of the queue and of its shared memory), memory. A policer comes before all of them
//! ([`Queue::conforms`]). A packet is marked if the step threshold of the queue, the RED of the queue or the RED of the
//! shared memory marks it.
//!
//! The FIFO is in this file. A queue with another discipline (`discipline`) is called managed: its discipline may also
//! drop packets that were enqueued before; `Queue::take_dropped` returns these.

use crate::discipline::backlog::{Dropped, Overflow};
use crate::discipline::{AnyQueue, Discipline};
use crate::limit::{QueueLength, fits};
use crate::mark::{AqmInput, Decision, MarkAt, MarkThreshold};
use crate::{aggregate::FrameAggregation, buffer::Buffer};
use crate::{meter::Meter, red::Red, ring::Ring, selective::SelectiveDrop};
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Time};

#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Strict priority; queues with lower numbers are served first.
    pub priority: u8,
    /// Share of the link among backlogged queues of equal priority, in proportion to their weights.
    pub weight: u32,
    pub discipline: Discipline,
    pub select: Option<SelectiveDrop>,
    /// Whether `select` counts the arriving packet as one byte: the queue drops once it reaches the threshold.
    pub select_reached: bool,
    /// Rate limit of the queue. A managed queue waits for the tokens of the largest packet, since its discipline
    /// chooses the packet only at dequeue.
    pub meter: Option<Meter>,
    /// Token bucket that drops the packets for which it has no tokens as they arrive.
    pub policer: Option<Meter>,
    pub aggregate: Option<FrameAggregation>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let (select, meter, policer, aggregate) = (None, None, None, None);
        let (priority, weight, discipline, select_reached) = (0, 1, Discipline::default(), false);
        Self { priority, weight, discipline, select, select_reached, meter, policer, aggregate }
    }
}

#[derive(Clone, Debug)]
pub struct Queue<C> {
    packets: Ring<Packet<C>>,
    length: QueueLength,
    mark: Option<MarkThreshold>,
    reds: Box<[Red]>,
    select: Option<SelectiveDrop>,
    select_reached: bool,
    pub(crate) meter: Option<Meter>,
    policer: Option<Box<Meter>>,
    aggregate: Option<FrameAggregation>,
    pub(crate) managed: Option<Box<Managed<C>>>,
    /// Whether the queue is managed or aggregates frames.
    pub(crate) special: bool,
}

/// State of a queue with a discipline other than the FIFO.
#[derive(Clone, Debug)]
pub(crate) struct Managed<C> {
    aqm: AnyQueue<C>,
    /// Size of the largest packet of the link, in bytes on the wire.
    mtu: Bytes,
    /// Packets that the discipline has dropped and `Queue::take_dropped` has not yet returned.
    dropped: Vec<Dropped>,
    /// The packet that was dequeued last, held here so that a reference to it can be returned.
    dequeued: Option<Packet<C>>,
}

impl<C: Copy> Queue<C> {
    pub fn new(config: &QueueConfig) -> Self {
        let (mut mark, mut reds, mut managed) = (None, Box::default(), None);
        match &config.discipline {
            Discipline::Fifo(fifo) => {
                mark = fifo.mark;
                reds = fifo.red.iter().map(Red::new).collect();
            }
            Discipline::Aqm(aqm, port) => {
                let (aqm, mtu) = (aqm.queue(port), port.mtu);
                managed = Some(Box::new(Managed { aqm, mtu, dropped: Vec::new(), dequeued: None }));
            }
        }
        Self {
            packets: Ring::default(),
            length: QueueLength::default(),
            mark,
            reds,
            select: config.select,
            select_reached: config.select_reached,
            meter: config.meter,
            policer: config.policer.map(Box::new),
            aggregate: config.aggregate,
            special: managed.is_some() || config.aggregate.is_some(),
            managed,
        }
    }

    pub fn length(&self) -> QueueLength {
        self.length
    }

    /// Enqueues a packet in the FIFO with index `index` in its port, and returns whether the packet was marked.
    ///
    /// # Errors
    /// Cause of the drop, if the packet is dropped.
    pub fn enqueue(
        &mut self, now: Time, packet: &Packet<C>, index: usize, buffer: &mut impl Buffer,
    ) -> Result<bool, DropCause> {
        let size = packet.envelope.bytes();
        let after = self.length.with(size);
        let decision = self.decide_arrival(now, packet, index, buffer)?;
        if let Err(cause) = buffer.store(now, index, self.length, size) {
            return Err(self.refusal(cause));
        }
        self.length = after;
        let marked = matches!(decision, Decision::Mark) || marks(self.mark, packet, MarkAt::Enqueue, after);
        let stored = self.packets.push(|| *packet);
        *stored = *packet;
        if marked {
            stored.envelope.ecn = Ecn::Ce;
        }
        Ok(marked)
    }

    /// Enqueues a packet in a managed queue, whose discipline may drop other packets to make room. Returns whether the
    /// packet was marked.
    #[cold]
    pub(crate) fn enqueue_managed(
        &mut self, now: Time, packet: &Packet<C>, index: usize, buffer: &mut impl Buffer,
    ) -> Result<bool, DropCause> {
        let decision = self.decide_arrival(now, packet, index, buffer)?;
        let Some(managed) = &mut self.managed else { return Err(DropCause::QueueFull) };
        let Managed { aqm, dropped, .. } = &mut **managed;
        let decision = decision.max(aqm.on_arrival(now, packet.envelope));
        if let Decision::Drop(cause) = decision {
            return Err(cause);
        }
        let mark = matches!(decision, Decision::Mark);
        let size = packet.envelope.bytes();
        let store = |aqm: &AnyQueue<C>, length: QueueLength, buffer: &mut _| {
            fits(!aqm.is_over_limit(length.with(size)), DropCause::QueueFull)?;
            Buffer::store(buffer, now, index, length, size)
        };
        while let Err(cause) = store(aqm, self.length, buffer) {
            let first = dropped.len();
            if aqm.overflow(packet.envelope, cause, dropped) == Overflow::DropArriving {
                return Err(self.refusal(cause));
            }
            self.length = release(&dropped[first..], now, self.length, index, buffer);
        }
        self.length = self.length.with(size);
        aqm.enqueue(now, packet, mark);
        Ok(mark)
    }

    /// Applies selective drop and RED to an arriving packet. Returns `Pass` or `Mark`; a drop is the error.
    #[inline]
    fn decide_arrival(
        &mut self, now: Time, packet: &Packet<C>, index: usize, buffer: &mut impl Buffer,
    ) -> Result<Decision, DropCause> {
        let (size, ecn) = (packet.envelope.bytes(), packet.envelope.ecn);
        let after = self.length.with(size);
        let counted = if self.select_reached { self.length.with(Bytes::new(1)) } else { after };
        if self.select.is_some_and(|select| select.drops(ecn, counted)) {
            return Err(DropCause::Selective);
        }
        let at = Some(MarkAt::Enqueue);
        let mut decision = buffer.decide(index, &AqmInput { now, at, ecn, size });
        if !self.reds.is_empty() {
            decision = decision.max(self.decide_red(now, ecn, after));
        }
        match decision {
            Decision::Drop(cause) => Err(cause),
            decision => Ok(decision),
        }
    }

    #[cold]
    #[inline(never)]
    fn decide_red(&mut self, now: Time, ecn: Ecn, length: QueueLength) -> Decision {
        let decide = |red: &mut Red| red.decide(now, Some(MarkAt::Enqueue), ecn, length.bytes);
        self.reds.iter_mut().map(decide).max().unwrap_or(Decision::Pass)
    }

    /// Cause to report for a drop for lack of memory: a metered queue that reaches its own limit is full because of its
    /// meter.
    #[cold]
    pub(crate) fn refusal(&self, cause: DropCause) -> DropCause {
        let metered = self.meter.is_some_and(|meter| !meter.is_fixed()) && cause == DropCause::QueueFull;
        if metered { DropCause::MeteredQueueFull } else { cause }
    }

    /// Earliest time at which the meter lets the next packet leave; the start of the run if there is no meter.
    pub fn ready(&mut self) -> Time {
        if self.meter.is_none() {
            return Time::ZERO;
        }
        match (self.head_size(), &mut self.meter) {
            (Some(size), Some(meter)) => meter.ready(size),
            _ => Time::ZERO,
        }
    }

    /// Dequeues a packet of a FIFO at `start`. Returns the packet and whether it was marked at dequeue.
    pub fn dequeue(&mut self, start: Time, index: usize, buffer: &mut impl Buffer) -> Option<(&Packet<C>, bool)> {
        let before = self.length;
        let packet = self.packets.pop()?;
        let (size, ecn) = (packet.envelope.bytes(), packet.envelope.ecn);
        let at = Some(MarkAt::Dequeue);
        let input = AqmInput { now: start, at, ecn, size: Bytes::ZERO };
        let mut decision = buffer.decide(index, &input);
        self.length = before.without(size);
        buffer.release(start, index, before, size);
        if let Some(meter) = &mut self.meter {
            meter.consume(start, size);
        }
        for red in &mut self.reds {
            decision = decision.max(decide_departure(red, start, ecn, before));
        }
        let marked = matches!(decision, Decision::Mark) || marks(self.mark, packet, MarkAt::Dequeue, before);
        if marked {
            packet.envelope.ecn = Ecn::Ce;
        }
        Some((packet, marked))
    }

    /// Dequeues a packet from a FIFO or a managed queue. `None` if the queue is empty, or its discipline has dropped
    /// all packets.
    #[cold]
    pub(crate) fn dequeue_any(
        &mut self, start: Time, index: usize, buffer: &mut impl Buffer,
    ) -> Option<(&Packet<C>, bool)> {
        if self.managed.is_some() {
            self.dequeue_managed(start, index, buffer)
        } else {
            self.dequeue(start, index, buffer)
        }
    }

    /// Dequeues a packet from a managed queue, whose discipline chooses the packet and may drop others first.
    fn dequeue_managed(&mut self, start: Time, index: usize, buffer: &mut impl Buffer) -> Option<(&Packet<C>, bool)> {
        let Managed { aqm, dropped, dequeued, .. } = &mut **self.managed.as_mut()?;
        let first = dropped.len();
        let head = aqm.dequeue(start, dropped);
        let before = release(&dropped[first..], start, self.length, index, buffer);
        self.length = before;
        let (packet, mark) = head?;
        let (size, ecn) = (packet.envelope.bytes(), packet.envelope.ecn);
        let at = Some(MarkAt::Dequeue);
        let input = AqmInput { now: start, at, ecn, size: Bytes::ZERO };
        let marked = mark || matches!(buffer.decide(index, &input), Decision::Mark);
        self.length = before.without(size);
        buffer.release(start, index, before, size);
        if let Some(meter) = &mut self.meter {
            meter.consume(start, size);
        }
        let packet = dequeued.insert(packet);
        if marked {
            packet.envelope.ecn = Ecn::Ce;
        }
        Some((packet, marked))
    }

    /// Removes the packets that the discipline has dropped since the last call, oldest first.
    pub(crate) fn take_dropped(&mut self) -> impl Iterator<Item = Dropped> {
        self.managed.iter_mut().flat_map(|managed| managed.dropped.drain(..))
    }

    /// Whether the meter lets a packet that finds the link idle leave at `now`. If it does, the packet's tokens are
    /// consumed.
    pub fn admits_idle_arrival(&mut self, now: Time, size: Bytes) -> bool {
        self.meter.as_mut().is_none_or(|meter| meter.admits(now, size))
    }

    /// Sizes of the packets in a FIFO, in bytes on the wire.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u16> {
        (0..self.packets.len()).filter_map(|nth| self.packets.get(nth)).map(|packet| packet.envelope.size)
    }

    /// Whether the queue is a FIFO that drops packets only by its limit or by selective drop.
    pub(crate) fn is_plain(&self) -> bool {
        self.policer.is_none() && !self.special && self.reds.is_empty()
    }

    /// Whether the policer lets an arriving packet pass.
    pub fn conforms(&mut self, now: Time, size: Bytes) -> bool {
        self.policer.as_mut().is_none_or(|policer| policer.admits(now, size))
    }

    /// Decides whether a packet that finds the queue empty and the link idle is marked or dropped. It leaves without
    /// being enqueued.
    pub fn decide_idle_arrival(&mut self, now: Time, packet: Envelope) -> Decision {
        if let Some(managed) = &mut self.managed {
            return managed.aqm.on_idle_arrival(now, packet);
        }
        let averaging = self.reds.iter_mut().filter(|red| red.config.average.is_some());
        let decide = |red: &mut Red| {
            let decision = red.decide(now, None, packet.ecn, Bytes::ZERO);
            red.on_empty(now);
            decision
        };
        averaging.map(decide).max().unwrap_or(Decision::Pass)
    }

    pub fn aggregate(&self) -> Option<FrameAggregation> {
        self.aggregate
    }

    /// Size of the packet at the head of a FIFO. For a managed queue, whose discipline chooses the packet only at
    /// dequeue, the size of the link's largest packet.
    pub fn head_size(&self) -> Option<Bytes> {
        match &self.managed {
            None => self.packets.front().map(|packet| packet.envelope.bytes()),
            Some(managed) => (self.length.packets > 0).then_some(managed.mtu),
        }
    }
}

/// Releases the memory of packets that were dropped from queue `index`. `length` is the length of the queue including
/// these packets; returns the length without them.
fn release(dropped: &[Dropped], at: Time, length: QueueLength, index: usize, buffer: &mut impl Buffer) -> QueueLength {
    dropped.iter().fold(length, |length, dropped| {
        let size = dropped.packet.bytes();
        buffer.release(at, index, length, size);
        length.without(size)
    })
}

/// Applies RED to a packet at dequeue. `before` is the length of the queue including the packet.
#[cold]
#[inline(never)]
fn decide_departure(red: &mut Red, start: Time, ecn: Ecn, before: QueueLength) -> Decision {
    let decision = red.decide(start, Some(MarkAt::Dequeue), ecn, before.bytes);
    if before.packets == 1 {
        red.on_empty(start);
    }
    decision
}

/// Whether the step threshold marks a packet at enqueue or dequeue.
#[inline]
fn marks<C>(mark: Option<MarkThreshold>, packet: &Packet<C>, at: MarkAt, length: QueueLength) -> bool {
    mark.is_some_and(|mark| mark.applies(at, length)) && packet.envelope.ecn.is_ect()
}
