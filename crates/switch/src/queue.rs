//! One queue of a port: first in, first out, with the rules that decide what joins it. **This is where a drop is
//! decided**: [`Queue::offer`]. Order of the rules: selective drop, early drop, room. A packet is marked if any rule
//! says so: the step of this queue, its RED, or that of the memory it shares with others.

use shallop_core::{Bytes, DropCause, Ecn, Packet, Time};

use crate::aggregate::Aggregate;
use crate::limit::Holding;
use crate::mark::{Mark, MarkAt};
use crate::meter::Meter;
use crate::red::{Red, RedConfig, Verdict};
use crate::ring::Ring;
use crate::room::{Look, Memory};
use crate::select::Select;

/// What a queue is made from.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Lower numbers are served first.
    pub priority: u8,
    /// Share of the link among queues of the same priority that have something to send.
    pub weight: u32,
    /// ECN marking above a step, if any.
    pub mark: Option<Mark>,
    /// Marking or dropping at random, if any.
    pub red: Option<RedConfig>,
    /// Selective drop, if any.
    pub select: Option<Select>,
    /// Rate limit, if any.
    pub meter: Option<Meter>,
    /// Frames that packets leave in, if they do not leave one by one.
    pub aggregate: Option<Aggregate>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            priority: 0,
            weight: 1,
            mark: None,
            red: None,
            select: None,
            meter: None,
            aggregate: None,
        }
    }
}

/// A queue.
#[derive(Clone, Debug)]
pub struct Queue<C> {
    packets: Ring<Packet<C>>,
    held: Holding,
    mark: Option<Mark>,
    red: Option<Box<Red>>,
    select: Option<Select>,
    meter: Option<Meter>,
    aggregate: Option<Aggregate>,
}

impl<C: Copy> Queue<C> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: &QueueConfig) -> Self {
        Self {
            packets: Ring::default(),
            held: Holding::default(),
            mark: config.mark,
            red: config.red.as_ref().map(|red| Box::new(Red::new(red))),
            select: config.select,
            meter: config.meter,
            aggregate: config.aggregate,
        }
    }

    /// What waits here.
    #[must_use]
    pub fn held(&self) -> Holding {
        self.held
    }

    /// Lets a packet join, drawing on `memory` for the `index`-th queue of its port. Gives whether it was marked.
    ///
    /// # Errors
    /// The reason for which the packet is dropped instead.
    pub fn offer(
        &mut self,
        now: Time,
        packet: &Packet<C>,
        index: usize,
        memory: &mut impl Memory,
    ) -> Result<bool, DropCause> {
        let size = packet.envelope.bytes();
        let after = self.held.with(size);
        if self.select.is_some_and(|select| select.drops(packet.envelope.ecn, after)) {
            return Err(DropCause::Selective);
        }
        let at = Some(MarkAt::Enqueue);
        let ecn = packet.envelope.ecn;
        let mut verdict = memory.judge(index, &Look { now, at, ecn, size });
        if self.red.is_some() {
            verdict = verdict.max(self.judge(now, MarkAt::Enqueue, ecn, after));
        }
        if verdict == Verdict::Drop {
            return Err(DropCause::Early);
        }
        if !memory.store(now, index, self.held, size) {
            return Err(DropCause::Full);
        }
        self.held = after;
        let marked = verdict == Verdict::Mark || marks(self.mark, packet, MarkAt::Enqueue, after);
        let stored = self.packets.push(|| *packet);
        *stored = *packet;
        if marked {
            stored.envelope.ecn = Ecn::Ce;
        }
        Ok(marked)
    }

    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Time, at: MarkAt, ecn: Ecn, held: Holding) -> Verdict {
        let Some(red) = &mut self.red else { return Verdict::Keep };
        red.judge(now, Some(at), ecn, held.bytes)
    }

    /// When the first packet could leave; at once if there is none.
    pub fn ready(&mut self) -> Time {
        match (&mut self.meter, self.packets.front()) {
            (Some(meter), Some(first)) => meter.ready(first.envelope.bytes()),
            _ => Time::ZERO,
        }
    }

    /// Takes the first packet out at `start`. Gives whether it was marked as it left, too.
    pub fn take(
        &mut self,
        start: Time,
        index: usize,
        memory: &mut impl Memory,
    ) -> Option<(&Packet<C>, bool)> {
        let before = self.held;
        let packet = self.packets.pop()?;
        let size = packet.envelope.bytes();
        let (at, ecn) = (Some(MarkAt::Dequeue), packet.envelope.ecn);
        let look = Look { now: start, at, ecn, size: Bytes::ZERO };
        let mut verdict = memory.judge(index, &look);
        self.held = before.without(size);
        memory.release(start, index, before, size);
        if let Some(meter) = &mut self.meter {
            meter.take(start, size);
        }
        if let Some(red) = &mut self.red {
            verdict = verdict.max(judge_leaving(red, start, ecn, before));
        }
        let marked = verdict == Verdict::Mark || marks(self.mark, packet, MarkAt::Dequeue, before);
        if marked {
            packet.envelope.ecn = Ecn::Ce;
        }
        Some((packet, marked))
    }

    /// Whether a packet could pass this empty queue at `now` without waiting; if so its tokens are taken.
    pub fn pass(&mut self, now: Time, size: Bytes) -> bool {
        let Some(meter) = &mut self.meter else { return true };
        let passes = meter.ready(size) <= now;
        if passes {
            meter.take(now, size);
        }
        passes
    }

    /// What becomes of a packet that passes this empty queue.
    pub fn judge_passing(&mut self, now: Time, ecn: Ecn) -> Verdict {
        let Some(red) = self.red.as_mut().filter(|red| red.averages()) else {
            return Verdict::Keep;
        };
        let verdict = red.judge(now, None, ecn, Bytes::ZERO);
        red.rest(now);
        verdict
    }

    /// The frames that packets leave in, if they do not leave one by one.
    #[must_use]
    pub fn aggregate(&self) -> Option<Aggregate> {
        self.aggregate
    }

    /// The size of the first packet.
    #[must_use]
    pub fn first(&self) -> Option<Bytes> {
        self.packets.front().map(|packet| packet.envelope.bytes())
    }

    /// The meter, for a link that changes its rate.
    pub fn meter_mut(&mut self) -> Option<&mut Meter> {
        self.meter.as_mut()
    }
}

/// What becomes of a packet that leaves a queue which held this much with it.
#[cold]
#[inline(never)]
fn judge_leaving(red: &mut Red, start: Time, ecn: Ecn, before: Holding) -> Verdict {
    let verdict = red.judge(start, Some(MarkAt::Dequeue), ecn, before.bytes);
    if before.packets == 1 {
        red.rest(start);
    }
    verdict
}

/// Whether a packet is to be marked now.
#[inline]
fn marks<C>(mark: Option<Mark>, packet: &Packet<C>, at: MarkAt, held: Holding) -> bool {
    mark.is_some_and(|mark| mark.applies(at, held)) && packet.envelope.ecn == Ecn::Ect
}
