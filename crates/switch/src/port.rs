//! An output port: queues, the order they are served in, the pace of the link and the wire behind it.
//!
//! Service is lazy. The port catches up to `now` by serving each packet at the instant it would have been served, so
//! one deadline suffices: the arrival of the first packet on the wire. The order at one instant is part of the model:
//! departures due by `now` come before an arrival at `now`.
//!
//! A packet leaves its queue when its first bit does; a packet that can leave at once never counts as queued.

use shallop_core::{
    BitsPerSec, Bytes, Class, DropCause, Ecn, Envelope, Pace, Packet, Place, Probe, Share, Span,
    Time,
};

use crate::aggregate::Aggregate;
use crate::queue::{Queue, QueueConfig};
use crate::red::Verdict;
use crate::room::{Look, Memory};
use crate::schedule::Schedule;
use crate::wire::{Change, Impairment, Wire};

/// What a port is made from.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Span,
    /// The queues.
    pub queues: Vec<QueueConfig>,
    /// For each class, by index, the queue it joins.
    pub queue_of: [u8; Class::COUNT],
    /// Random trouble on the wire, if any.
    pub impairment: Option<Impairment>,
    /// Changes of rate and delay, earliest first. Meters keep their share of the link.
    pub changes: Vec<Change>,
}

/// What became of packets at a port, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent onto the wire.
    pub sent: [u64; Class::COUNT],
    /// Dropped instead.
    pub dropped: [u64; Class::COUNT],
    /// Lost on the wire.
    pub lost: [u64; Class::COUNT],
    /// Bytes sent.
    pub bytes: u64,
}

/// A port.
#[derive(Clone, Debug)]
pub struct Port<C> {
    exit: Exit<C>,
    /// Nothing that is queued can leave before.
    due: Time,
    /// When the link changes next.
    changes_at: Time,
    /// A bit for each queue that holds anything.
    busy: u32,
    /// A bit for each queue that a packet may pass by when the link is idle: no meter, frame, weight or average at all.
    plain: u32,
    queue_of: [u8; Class::COUNT],
    inner: Box<Inner<C>>,
}

/// What only packets that wait or are lost have to do with: apart, so that what every packet touches is close together.
#[derive(Clone, Debug)]
struct Inner<C> {
    queues: Vec<Queue<C>>,
    schedule: Schedule,
    /// A frame while it is put together.
    frame: Vec<Packet<C>>,
    /// Changes still to come, the next one last.
    changes: Vec<Change>,
    dropped: [u64; Class::COUNT],
    lost: [u64; Class::COUNT],
}

/// What is behind the queues: the link's pace and the wire.
#[derive(Clone, Debug)]
struct Exit<C> {
    /// When the link has sent the last bit of everything served so far.
    free_at: Time,
    number: u32,
    wire: Wire<C>,
    pace: Pace,
    sent: [u64; Class::COUNT],
    bytes: u64,
}

impl<C: Copy> Exit<C> {
    /// Sends a packet whose first bit leaves at `start`.
    #[inline]
    fn transmit(&mut self, start: Time, packet: &Packet<C>, probe: &mut impl Probe) {
        self.free_at = start + self.pace.charge(packet.envelope.bytes());
        self.sent[packet.envelope.class.index()] += 1;
        self.bytes += u64::from(packet.envelope.size);
        probe.on_send(start, self.number, &packet.envelope);
        self.wire.put(self.free_at, packet);
    }
}

impl<C: Copy> Exit<C> {
    /// Sends a frame of packets that begins at `start` and arrives as a whole.
    fn transmit_frame(
        &mut self,
        start: Time,
        overhead: Span,
        packets: &[Packet<C>],
        probe: &mut impl Probe,
    ) {
        self.free_at = start + overhead;
        for packet in packets {
            self.free_at += self.pace.charge(packet.envelope.bytes());
            self.sent[packet.envelope.class.index()] += 1;
            self.bytes += u64::from(packet.envelope.size);
            probe.on_send(start, self.number, &packet.envelope);
        }
        for packet in packets {
            self.wire.put(self.free_at, packet);
        }
    }
}

impl<C: Copy> Port<C> {
    /// An idle port. `number` is its name towards the probe.
    #[must_use]
    pub fn new(number: u32, config: &PortConfig) -> Self {
        let schedule = Schedule::new(&config.queues);
        let averages =
            |queue: &QueueConfig| queue.red.as_ref().is_some_and(|red| red.average.is_some());
        let plain = config.queues.iter().enumerate().fold(0, |mask, (index, queue)| {
            let alone = queue.meter.is_none() && queue.aggregate.is_none();
            let plain = alone && !schedule.is_weighted() && !averages(queue);
            mask | u32::from(plain) << index
        });
        let exit = Exit {
            free_at: Time::ZERO,
            number,
            wire: Wire::new(config.delay, config.impairment.clone()),
            pace: Pace::new(config.rate),
            sent: [0; Class::COUNT],
            bytes: 0,
        };
        let inner = Inner {
            queues: config.queues.iter().map(Queue::new).collect(),
            schedule,
            frame: Vec::new(),
            changes: config.changes.iter().rev().copied().collect(),
            dropped: [0; Class::COUNT],
            lost: [0; Class::COUNT],
        };
        Self {
            exit,
            due: Time::LAST,
            busy: 0,
            plain,
            changes_at: config.changes.first().map_or(Time::LAST, |change| change.at),
            queue_of: config.queue_of,
            inner: Box::new(inner),
        }
    }

    /// What became of packets so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Exit { sent, bytes, .. } = self.exit;
        Counts { sent, bytes, dropped: self.inner.dropped, lost: self.inner.lost }
    }

    /// When the link is free of everything that has been served.
    #[must_use]
    pub fn free_at(&self) -> Time {
        self.exit.free_at
    }

    /// Packets in all queues.
    #[must_use]
    pub fn queued(&self) -> u32 {
        self.inner.queues.iter().map(|queue| queue.held().packets).sum()
    }

    /// Packets on the wire.
    #[must_use]
    pub fn on_wire(&self) -> usize {
        self.exit.wire.len()
    }

    /// The rate of the link now.
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        self.exit.pace.rate()
    }

    /// True if a packet is on the wire, so that the deadline does not depend on what is offered.
    #[inline]
    #[must_use]
    pub fn is_crossed(&self) -> bool {
        !self.exit.wire.is_empty()
    }

    /// True if a packet of this class can pass at once: it needs no memory.
    #[inline]
    #[must_use]
    pub fn passes(&self, now: Time, class: Class) -> bool {
        self.is_open(now, self.queue_of[class.index()])
    }

    #[inline]
    fn is_open(&self, now: Time, queue: u8) -> bool {
        self.busy == 0 && self.exit.free_at <= now && self.plain >> queue & 1 == 1
    }

    /// The first queued packet leaves no sooner; [`Time::LAST`] if nothing is queued.
    #[inline]
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Takes a packet at `now`, drawing on `memory` if it has to wait.
    ///
    /// # Errors
    /// Why the packet is dropped instead.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        packet: &Packet<C>,
        memory: &mut impl Memory,
        probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        let queue = self.queue_of[packet.envelope.class.index()];
        if self.is_open(now, queue) {
            let verdict = memory.judge(usize::from(queue), &passing(now, packet));
            return self.pass(now, packet, verdict, probe);
        }
        self.queue(now, packet, memory, probe)
    }

    /// Sends a packet at once, unless it is to be dropped.
    #[inline]
    fn pass(
        &mut self,
        now: Time,
        packet: &Packet<C>,
        verdict: Verdict,
        probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        if verdict == Verdict::Keep {
            self.change(now);
            self.exit.transmit(now, packet, probe);
            return Ok(());
        }
        let marked = self.judged(now, packet, verdict, probe)?;
        self.change(now);
        self.exit.transmit(now, &marked, probe);
        Ok(())
    }

    /// The packet after a verdict upon it: marked, or dropped.
    #[cold]
    fn judged(
        &mut self,
        now: Time,
        packet: &Packet<C>,
        verdict: Verdict,
        probe: &mut impl Probe,
    ) -> Result<Packet<C>, DropCause> {
        let class = packet.envelope.class.index();
        let place = Place { port: self.exit.number, queue: self.queue_of[class] };
        if verdict == Verdict::Drop {
            self.inner.dropped[class] += 1;
            probe.on_drop(now, place, &packet.envelope, DropCause::Early);
            return Err(DropCause::Early);
        }
        let mut packet = *packet;
        if verdict == Verdict::Mark {
            probe.on_mark(now, place, &packet.envelope);
            packet.envelope.ecn = Ecn::Ce;
        }
        Ok(packet)
    }

    /// Sends a packet at once in a frame of its own, unless it is to be dropped.
    #[cold]
    fn pass_as_frame(
        &mut self,
        now: Time,
        (packet, overhead): (&Packet<C>, Span),
        verdict: Verdict,
        probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        let packet = self.judged(now, packet, verdict, probe)?;
        self.change(now);
        self.exit.transmit_frame(now, overhead, &[packet], probe);
        Ok(())
    }

    /// Takes a packet that may have to wait.
    #[inline(never)]
    fn queue(
        &mut self,
        now: Time,
        packet: &Packet<C>,
        memory: &mut impl Memory,
        probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        self.catch_up(now, memory, probe);
        let (class, size) = (packet.envelope.class.index(), packet.envelope.bytes());
        let index = usize::from(self.queue_of[class]);
        let queue = &mut self.inner.queues[index];
        if self.busy == 0 && self.exit.free_at <= now && queue.pass(now, size) {
            let verdict = queue.judge_passing(now, packet.envelope.ecn);
            let verdict = verdict.max(memory.judge(index, &passing(now, packet)));
            let aggregate = queue.aggregate();
            if verdict != Verdict::Drop {
                self.inner.schedule.joined(index);
                self.inner.schedule.served(index, size);
            }
            return match aggregate {
                None => self.pass(now, packet, verdict, probe),
                Some(Aggregate { overhead, .. }) => {
                    self.pass_as_frame(now, (packet, overhead), verdict, probe)
                }
            };
        }
        let place = Place { port: self.exit.number, queue: index as u8 };
        match queue.offer(now, packet, index, memory) {
            Ok(true) => probe.on_mark(now, place, &packet.envelope),
            Ok(false) => {}
            Err(why) => {
                self.inner.dropped[class] += 1;
                probe.on_drop(now, place, &packet.envelope, why);
                return Err(why);
            }
        }
        probe.on_queue(now, place, queue.held().bytes);
        if self.busy & (1 << index) == 0 {
            self.busy |= 1 << index;
            self.due = self.due.min(queue.ready().max(self.exit.free_at));
            self.inner.schedule.joined(index);
        }
        Ok(())
    }

    /// Serves every packet whose turn has come by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, memory: &mut impl Memory, probe: &mut impl Probe) {
        if self.due <= now {
            self.serve(now, memory, probe);
        }
    }

    fn serve(&mut self, now: Time, memory: &mut impl Memory, probe: &mut impl Probe) {
        while self.exit.free_at <= now {
            let next =
                self.inner.schedule.next(&mut self.inner.queues, self.busy, self.exit.free_at);
            self.due = next.map_or(Time::LAST, |(_, start)| start);
            let Some((index, start)) = next.filter(|&(_, start)| start <= now) else { return };
            self.change(start);
            let place = Place { port: self.exit.number, queue: index as u8 };
            let queue = &mut self.inner.queues[index];
            if let Some(aggregate) = queue.aggregate() {
                self.serve_frame(start, index, aggregate, (memory, probe));
                continue;
            }
            let Some((packet, marked)) = queue.take(start, index, memory) else { return };
            if marked {
                probe.on_mark(start, place, &packet.envelope);
            }
            self.inner.schedule.served(index, packet.envelope.bytes());
            self.exit.transmit(start, packet, probe);
            let held = queue.held();
            if held.packets == 0 {
                self.busy &= !(1 << index);
            }
            probe.on_queue(start, place, held.bytes);
        }
        self.due = if self.busy == 0 { Time::LAST } else { self.exit.free_at };
    }

    /// Serves a frame of what is queued: exactly what was there at `start`, as whoever came later has yet to be taken.
    fn serve_frame(
        &mut self,
        start: Time,
        index: usize,
        aggregate: Aggregate,
        (memory, probe): (&mut impl Memory, &mut impl Probe),
    ) {
        let Inner { queues, schedule, frame, .. } = &mut *self.inner;
        let (queue, place) =
            (&mut queues[index], Place { port: self.exit.number, queue: index as u8 });
        let mut size = Bytes::ZERO;
        frame.clear();
        while let Some(next) = queue.first() {
            if !frame.is_empty() && size + next > aggregate.most {
                break;
            }
            let Some((packet, marked)) = queue.take(start, index, memory) else { break };
            if marked {
                probe.on_mark(start, place, &packet.envelope);
            }
            size += next;
            frame.push(*packet);
        }
        schedule.served(index, size);
        self.exit.transmit_frame(start, aggregate.overhead, frame, probe);
        let held = queue.held();
        if held.packets == 0 {
            self.busy &= !(1 << index);
        }
        probe.on_queue(start, place, held.bytes);
    }

    /// The next time at which something happens that others can see, if nothing arrives before.
    #[inline]
    #[must_use]
    pub fn deadline(&mut self) -> Option<Time> {
        if self.exit.wire.next() < Time::LAST {
            return Some(self.exit.wire.next());
        }
        if self.busy == 0 {
            return None;
        }
        self.inner
            .schedule
            .next(&mut self.inner.queues, self.busy, self.exit.free_at)
            .map(|(_, start)| start)
    }

    /// Takes the next packet that has crossed the wire by `now`. Call [`Port::catch_up`] first.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<&mut Packet<C>> {
        self.exit.wire.arrive(now)
    }

    /// Whether this packet, which has just arrived, was lost on the wire; it is counted then.
    #[inline]
    pub fn loses(&mut self, packet: &Envelope) -> bool {
        let lost = self.exit.wire.loses();
        if lost {
            self.inner.lost[packet.class.index()] += 1;
        }
        lost
    }

    /// Applies the changes of the link that are due by `start`.
    #[inline]
    fn change(&mut self, start: Time) {
        if self.changes_at <= start {
            self.change_now(start);
        }
    }

    #[cold]
    fn change_now(&mut self, start: Time) {
        while let Some(change) = self.inner.changes.pop_if(|change| change.at <= start) {
            self.apply(start, change);
        }
        // Meters may let packets go earlier than they would have.
        self.due = self.due.min(self.exit.free_at);
    }

    fn apply(&mut self, start: Time, change: Change) {
        if let Some(delay) = change.delay {
            self.exit.wire.set_delay(delay);
        }
        let Some(rate) = change.rate else { return };
        let old = self.exit.pace.rate();
        self.exit.pace = Pace::new(rate);
        for queue in &mut self.inner.queues {
            if let Some(meter) = queue.meter_mut() {
                let share = Share::new(meter.rate().get().min(old.get()), old.get());
                if let Some(share) = share {
                    // Tokens were taken at the old rate up to now, not up to the change.
                    meter.set_rate(start, rate.share(share));
                }
            }
        }
    }
}

/// How a packet is looked at that passes an idle port.
#[inline]
fn passing<C>(now: Time, packet: &Packet<C>) -> Look {
    Look { now, at: None, ecn: packet.envelope.ecn, size: Bytes::ZERO }
}
