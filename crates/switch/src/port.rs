//! An output port: queues, the scheduler that serves them, the rate of the link and the wire behind it.
//!
//! Service is lazy. The port catches up to `now` by serving each packet at the instant at which an always active port
//! would have served it. One deadline suffices: the arrival of the first packet on the wire or, if the wire is empty,
//! the next service. The order at one instant is part of the model: departures due by `now` precede an arrival at
//! `now`.
//!
//! A packet leaves its queue when its first bit is sent. A packet that finds the link idle is sent at once and never
//! counts as queued.

mod cut;
mod forecast;
mod state;

pub use forecast::LinkForecast;
pub use state::PortCounters;

use crate::mark::{AqmInput, Decision};
use crate::{aggregate::FrameAggregation, buffer::Buffer, discipline::backlog::Dropped, impairment::Fate};
use crate::{port_config::PortConfig, queue::Queue, schedule::Schedule, transmitter::Transmitter, wire::LinkChange};
use shallop_core::{Bytes, Class, DropCause, Ecn, End, Envelope, Pace, Packet, Probe, QueueId, Share, Span, Time};

/// A port. Fields that every packet uses are in this struct, in the order of use, all others behind the pointer to
/// `Cold`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Port<C> {
    /// Lower bound of the time at which the next enqueued packet is served.
    pub next_service: Time,
    /// Bitmask of queues that have packets; bit `i` stands for queue `i`.
    backlogged: u32,
    /// Bitmask of queues eligible for the idle fast path: a packet that finds the link idle is sent without calling the
    /// queue, since the queue has no meter, policer, frame aggregation, weight, averaged length or discipline that
    /// counts it.
    fast_path: u32,
    link: Transmitter<C>,
    queue_of: [u8; Class::COUNT],
    /// Time of the link's next change of rate or delay.
    next_change: Time,
    cold: Box<Cold<C>>,
}

/// Fields of a port that are used only for packets that wait, are dropped or are lost.
#[derive(Clone, Debug)]
struct Cold<C> {
    queues: Vec<Queue<C>>,
    schedule: Schedule,
    frame: Vec<Packet<C>>,
    /// Future changes of the link's rate and delay, the next one last.
    changes: Vec<LinkChange>,
    dropped: [u64; Class::COUNT],
    lost: [u64; Class::COUNT],
    duplicated: [u64; Class::COUNT],
    /// Destinations of packets that disciplines dropped after they were enqueued, not yet taken by
    /// [`Port::take_dropped`].
    dropped_ends: Vec<End>,
}

impl<C: Copy> Cold<C> {
    /// Counts and reports the packets that the discipline of the queue `at` has dropped.
    fn report_dropped(&mut self, now: Time, at: QueueId, probe: &mut impl Probe) {
        for Dropped { packet, cause } in self.queues[usize::from(at.queue)].take_dropped() {
            self.dropped[packet.class.index()] += 1;
            self.dropped_ends.push(packet.end);
            probe.on_drop(now, at, &packet, cause);
        }
    }
}

impl<C: Copy> Port<C> {
    /// An idle port. `number` identifies the port in reports to the probe.
    pub fn new(number: u32, config: &PortConfig) -> Self {
        let schedule = Schedule::new(&config.queues);
        let fast_path = config.queues.iter().enumerate().fold(0, |mask, (index, queue)| {
            let plain = queue.meter.is_none() && queue.policer.is_none() && queue.aggregate.is_none();
            let ignores = queue.discipline.ignores_idle_arrivals();
            mask | u32::from(plain && ignores && !schedule.weighted) << index
        });
        let cold = Cold {
            queues: config.queues.iter().map(Queue::new).collect(),
            schedule,
            frame: Vec::new(),
            changes: config.changes.iter().rev().copied().collect(),
            dropped: [0; Class::COUNT],
            lost: [0; Class::COUNT],
            duplicated: [0; Class::COUNT],
            dropped_ends: Vec::new(),
        };
        Self {
            link: Transmitter::new(number, config.rate, config.delay, config.impairment.clone()),
            next_service: Time::LAST,
            next_change: config.changes.first().map_or(Time::LAST, |change| change.at),
            backlogged: 0,
            fast_path,
            queue_of: config.queue_of,
            cold: Box::new(cold),
        }
    }

    /// Whether the wire carries a packet, apart from reordered ones. If it does, the port's deadline does not depend on
    /// packets that are enqueued.
    #[inline]
    pub fn has_packet_on_wire(&self) -> bool {
        !self.link.wire.is_empty()
    }

    /// Whether a packet of this class would be sent at once, without use of the buffer.
    #[inline]
    pub fn sends_at_once(&self, now: Time, class: Class) -> bool {
        self.takes_fast_path(now, self.queue_of[class.index()])
    }

    #[inline]
    fn takes_fast_path(&self, now: Time, queue: u8) -> bool {
        self.backlogged == 0 && self.link.free_at <= now && self.fast_path >> queue & 1 == 1
    }

    fn id(&self, queue: usize) -> QueueId {
        QueueId { port: self.link.number, queue: queue as u8 }
    }

    /// Sends a packet that arrives at `now`, or enqueues it in the memory `buffer`.
    ///
    /// # Errors
    /// Cause of the drop, if the packet is dropped.
    #[inline]
    pub fn enqueue(
        &mut self, now: Time, packet: &Packet<C>, buffer: &mut impl Buffer, probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        let queue = self.queue_of[packet.envelope.class.index()];
        if self.takes_fast_path(now, queue) {
            let decision = buffer.decide(usize::from(queue), &AqmInput::idle_arrival(now, packet));
            return self.send_at_once(now, packet, decision, probe);
        }
        self.enqueue_slow(now, packet, buffer, probe)
    }

    /// Sends a packet that finds the link idle, unless a rule of its queue drops it.
    #[inline]
    fn send_at_once(
        &mut self, now: Time, packet: &Packet<C>, decision: Decision, probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        if matches!(decision, Decision::Pass) {
            let start = self.apply_changes(now);
            self.link.transmit(start, packet, probe);
            return Ok(());
        }
        let marked = self.apply_decision(now, packet, decision, probe)?;
        let start = self.apply_changes(now);
        self.link.transmit(start, &marked, probe);
        Ok(())
    }

    /// Returns the packet, with CE if the decision is to mark it; if the decision is a drop, counts and reports it.
    #[cold]
    fn apply_decision(
        &mut self, now: Time, packet: &Packet<C>, decision: Decision, probe: &mut impl Probe,
    ) -> Result<Packet<C>, DropCause> {
        let class = packet.envelope.class.index();
        let at = self.id(usize::from(self.queue_of[class]));
        if let Decision::Drop(cause) = decision {
            self.cold.dropped[class] += 1;
            probe.on_drop(now, at, &packet.envelope, cause);
            return Err(cause);
        }
        let mut packet = *packet;
        if matches!(decision, Decision::Mark) {
            probe.on_mark(now, at, &packet.envelope);
            packet.envelope.ecn = Ecn::Ce;
        }
        Ok(packet)
    }

    /// Sends a packet that finds the link idle in its own frame, unless a rule of its queue drops it.
    #[cold]
    fn send_frame_at_once(
        &mut self, now: Time, packet: &Packet<C>, overhead: Span, decision: Decision, probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        let packet = self.apply_decision(now, packet, decision, probe)?;
        let start = self.apply_changes(now);
        self.link.transmit_frame(start, overhead, &[packet], probe);
        Ok(())
    }

    /// Does the work of [`Port::enqueue`] for packets that cannot take the fast path.
    #[inline(never)]
    fn enqueue_slow(
        &mut self, now: Time, packet: &Packet<C>, buffer: &mut impl Buffer, probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        self.catch_up(now, buffer, probe);
        let (class, size) = (packet.envelope.class.index(), packet.envelope.bytes());
        let index = usize::from(self.queue_of[class]);
        let queue = &mut self.cold.queues[index];
        if !queue.conforms(now, size) {
            return self.apply_decision(now, packet, Decision::Drop(DropCause::Policer), probe).map(|_| ());
        }
        let idle = self.backlogged == 0 && self.link.free_at <= now;
        if idle && queue.admits_idle_arrival(now, size) {
            let decision = queue.decide_idle_arrival(now, packet.envelope);
            let decision = decision.max(buffer.decide(index, &AqmInput::idle_arrival(now, packet)));
            let aggregate = queue.aggregate();
            if !matches!(decision, Decision::Drop(_)) {
                self.cold.schedule.on_backlogged(index);
                self.cold.schedule.on_served(index, size);
            }
            return match aggregate {
                None => self.send_at_once(now, packet, decision, probe),
                Some(FrameAggregation { overhead, .. }) => {
                    self.send_frame_at_once(now, packet, overhead, decision, probe)
                }
            };
        }
        if queue.managed.is_some() {
            return self.enqueue_managed(now, packet, buffer, probe);
        }
        let at = QueueId { port: self.link.number, queue: index as u8 };
        match queue.enqueue(now, packet, index, buffer) {
            Ok(true) => probe.on_mark(now, at, &packet.envelope),
            Ok(false) => {}
            Err(cause) => {
                self.cold.dropped[class] += 1;
                probe.on_drop(now, at, &packet.envelope, cause);
                return Err(cause);
            }
        }
        probe.on_queue(now, at, queue.length().bytes);
        self.on_enqueued(now, index);
        Ok(())
    }

    /// Does the work of [`Port::enqueue`] for a managed queue, whose discipline may drop other packets to make room.
    #[cold]
    fn enqueue_managed(
        &mut self, now: Time, packet: &Packet<C>, buffer: &mut impl Buffer, probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        let class = packet.envelope.class.index();
        let index = usize::from(self.queue_of[class]);
        let at = self.id(index);
        let result = self.cold.queues[index].enqueue_managed(now, packet, index, buffer);
        self.cold.report_dropped(now, at, probe);
        match result {
            Ok(true) => probe.on_mark(now, at, &packet.envelope),
            Ok(false) => {}
            Err(cause) => {
                self.cold.dropped[class] += 1;
                probe.on_drop(now, at, &packet.envelope, cause);
            }
        }
        let length = self.cold.queues[index].length();
        probe.on_queue(now, at, length.bytes);
        if result.is_ok() {
            self.on_enqueued(now, index);
        } else if length.packets == 0 {
            // All enqueued packets were dropped, and still there was no room.
            self.backlogged &= !(1 << index);
        }
        result.map(|_| ())
    }

    /// Updates the scheduler and the next service time after a packet was enqueued in queue `index`.
    #[inline]
    fn on_enqueued(&mut self, now: Time, index: usize) {
        if self.backlogged & (1 << index) == 0 {
            self.backlogged |= 1 << index;
            let ready = self.cold.queues[index].ready();
            if ready <= now {
                // No packet leaves before its arrival, even if the link is idle because another queue waits for its
                // meter.
                self.link.free_at = self.link.free_at.max(now);
            }
            self.next_service = self.next_service.min(ready.max(self.link.free_at));
            self.cold.schedule.on_backlogged(index);
        }
    }

    /// Serves every packet whose transmission starts by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, buffer: &mut impl Buffer, probe: &mut impl Probe) {
        if self.next_service <= now {
            self.serve(now, buffer, probe);
        }
    }

    fn serve(&mut self, now: Time, buffer: &mut impl Buffer, probe: &mut impl Probe) {
        while self.link.free_at <= now {
            let Cold { queues, schedule, .. } = &mut *self.cold;
            let next = schedule.next(queues, self.backlogged, self.link.free_at);
            self.next_service = next.map_or(Time::LAST, |(_, start)| start);
            let Some((index, start)) = next.filter(|&(_, start)| start <= now) else { return };
            let start = self.apply_changes(start);
            let at = QueueId { port: self.link.number, queue: index as u8 };
            let queue = &mut self.cold.queues[index];
            if queue.special {
                self.serve_special(start, index, buffer, probe);
                continue;
            }
            let Some((packet, marked)) = queue.dequeue(start, index, buffer) else { return };
            if marked {
                probe.on_mark(start, at, &packet.envelope);
            }
            self.cold.schedule.on_served(index, packet.envelope.bytes());
            self.link.transmit(start, packet, probe);
            let length = queue.length();
            if length.packets == 0 {
                self.backlogged &= !(1 << index);
            }
            probe.on_queue(start, at, length.bytes);
        }
        self.next_service = if self.backlogged == 0 { Time::LAST } else { self.link.free_at };
    }

    /// Serves one packet of a managed queue, or a frame of all packets that were enqueued by `start` and fit. Sends
    /// nothing if the discipline drops all packets.
    #[cold]
    fn serve_special(&mut self, start: Time, index: usize, buffer: &mut impl Buffer, probe: &mut impl Probe) {
        let at = self.id(index);
        let Cold { queues, schedule, frame, .. } = &mut *self.cold;
        let queue = &mut queues[index];
        let aggregate = queue.aggregate();
        let max_bytes = aggregate.map_or(Bytes::ZERO, |aggregate| aggregate.max_bytes);
        let mut size = Bytes::ZERO;
        frame.clear();
        while let Some(next) = queue.head_size() {
            if !frame.is_empty() && size + next > max_bytes {
                break;
            }
            let Some((packet, marked)) = queue.dequeue_any(start, index, buffer) else { break };
            if marked {
                probe.on_mark(start, at, &packet.envelope);
            }
            size += packet.envelope.bytes();
            frame.push(*packet);
        }
        if !frame.is_empty() {
            let overhead = aggregate.map_or(Span::ZERO, |aggregate| aggregate.overhead);
            schedule.on_served(index, size);
            self.link.transmit_frame(start, overhead, frame, probe);
        }
        let length = queue.length();
        if length.packets == 0 {
            self.backlogged &= !(1 << index);
        }
        probe.on_queue(start, at, length.bytes);
        self.cold.report_dropped(start, at, probe);
    }

    /// Time at which the port next needs a call, if no packet arrives before: a packet has crossed the wire, or is due
    /// for service while the wire is empty.
    #[inline]
    pub fn deadline(&mut self) -> Option<Time> {
        let arrival = Some(self.link.wire.next()).filter(|&arrival| arrival < Time::LAST);
        if !self.link.wire.is_empty() || self.backlogged == 0 {
            return arrival;
        }
        let Cold { queues, schedule, .. } = &mut *self.cold;
        let next = schedule.next(queues, self.backlogged, self.link.free_at);
        next.map(|(_, start)| start).into_iter().chain(arrival).min()
    }

    /// Removes the next packet that has crossed the wire by `now`. The caller must call [`Port::catch_up`] first.
    #[inline]
    pub fn pop_arrived(&mut self, now: Time) -> Option<&mut Packet<C>> {
        self.link.wire.pop_arrived(now)
    }

    /// Draws whether a packet that has crossed the wire is delivered, lost or duplicated. Counts losses and copies, and
    /// reports losses.
    #[inline]
    pub fn draw_fate(&mut self, now: Time, packet: &Envelope, probe: &mut impl Probe) -> Fate {
        let fate = self.link.wire.draw_fate(now);
        let class = packet.class.index();
        match fate {
            Fate::Arrives => {}
            Fate::Duplicated => self.cold.duplicated[class] += 1,
            Fate::Lost => {
                self.cold.lost[class] += 1;
                let at = self.id(usize::from(self.queue_of[class]));
                probe.on_drop(now, at, packet, DropCause::WireLoss);
            }
        }
        fate
    }

    /// Removes the destinations of packets that a discipline dropped after [`Port::enqueue`] had returned `Ok` for
    /// them. Oldest drop first.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = End> {
        self.cold.dropped_ends.drain(..)
    }

    /// Applies changes of the link's rate and delay that are due by `start`. Returns the time at which a packet that is
    /// due at `start` starts: later in a pause.
    #[inline]
    fn apply_changes(&mut self, start: Time) -> Time {
        if self.next_change <= start { self.apply_changes_now(start) } else { start }
    }

    #[cold]
    fn apply_changes_now(&mut self, mut start: Time) -> Time {
        while let Some(change) = self.cold.changes.pop_if(|change| change.at <= start) {
            self.apply_change(start, change);
            start = start.max(change.hold);
        }
        // A meter with a higher rate may let a packet leave earlier than before.
        self.next_service = self.next_service.min(self.link.free_at);
        start
    }

    fn apply_change(&mut self, start: Time, change: LinkChange) {
        if let Some(delay) = change.delay {
            self.link.wire.set_delay(delay);
        }
        let Some(rate) = change.rate else { return };
        let old = self.link.pace.rate();
        self.link.pace = Pace::new(rate);
        for queue in &mut self.cold.queues {
            if let Some(meter) = queue.meter.as_mut().filter(|meter| !meter.is_fixed()) {
                let share = Share::new(meter.rate().get().min(old.get()), old.get());
                if let Some(share) = share {
                    // The meter refills at the old rate up to this packet, not only up to the change.
                    meter.set_rate(start, rate.share(share));
                }
            }
        }
    }
}
