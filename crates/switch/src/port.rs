//! An output port: queues, the order they are served in, the pace of the link and the wire behind it.
//!
//! Service is lazy. The port catches up to `now` by serving each packet at the instant it would have been served, so
//! one deadline suffices: the arrival of the first packet on the wire. The order at one instant is part of the model:
//! departures due by `now` come before an arrival at `now`.
//!
//! A packet leaves its queue when its first bit does; a packet that can leave at once never counts as queued.

use shallop_core::{BitsPerSec, Class, DropCause, Pace, Packet, Place, Probe, Share, Span, Time};

use crate::queue::{Queue, QueueConfig};
use crate::room::Room;
use crate::schedule::Schedule;
use crate::wire::{Arrival, Change, Impairment, Wire};

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

/// A port.
#[derive(Clone, Debug)]
pub struct Port<C> {
    number: u32,
    queues: Vec<Queue<C>>,
    queue_of: [u8; Class::COUNT],
    schedule: Schedule,
    pace: Pace,
    /// When the link has sent the last bit of everything served so far.
    free_at: Time,
    /// A bit for each queue that holds anything.
    busy: u32,
    wire: Wire<C>,
    /// Changes still to come, the next one last.
    changes: Vec<Change>,
}

impl<C> Port<C> {
    /// An idle port. `number` is its name towards the probe.
    #[must_use]
    pub fn new(number: u32, config: &PortConfig) -> Self {
        Self {
            number,
            queues: config.queues.iter().map(Queue::new).collect(),
            queue_of: config.queue_of,
            schedule: Schedule::new(&config.queues),
            pace: Pace::new(config.rate),
            free_at: Time::ZERO,
            busy: 0,
            wire: Wire::new(config.delay, config.impairment.clone()),
            changes: config.changes.iter().rev().copied().collect(),
        }
    }

    /// When the link is free of everything that has been served.
    #[must_use]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Packets in all queues.
    #[must_use]
    pub fn queued(&self) -> u32 {
        self.queues.iter().map(|queue| queue.held().packets).sum()
    }

    /// Packets on the wire.
    #[must_use]
    pub fn on_wire(&self) -> usize {
        self.wire.len()
    }

    /// The `nth` packet on the wire from the front, with its arrival.
    #[must_use]
    pub fn peek(&self, nth: usize) -> Option<(Time, &Packet<C>)> {
        self.wire.peek(nth)
    }

    /// The rate of the link now.
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        self.pace.rate()
    }

    /// Takes a packet at `now`, drawing on `room` if it has to wait.
    ///
    /// # Errors
    /// Why the packet is dropped instead.
    pub fn offer(
        &mut self,
        now: Time,
        packet: Packet<C>,
        room: &mut Room,
        probe: &mut impl Probe,
    ) -> Result<(), DropCause> {
        self.catch_up(now, room, probe);
        let index = usize::from(self.queue_of[packet.envelope.class.index()]);
        if self.busy == 0 && self.free_at <= now {
            let size = packet.envelope.bytes();
            if self.queues[index].pass(now, size) {
                self.schedule.joined(index);
                self.schedule.served(index, size);
                self.transmit(now, packet, probe);
                return Ok(());
            }
        }
        let place = Place { port: self.number, queue: index as u8 };
        let queue = &mut self.queues[index];
        let envelope = packet.envelope;
        match queue.offer(packet, index, room) {
            Ok(true) => probe.on_mark(now, place, &envelope),
            Ok(false) => {}
            Err(why) => {
                probe.on_drop(now, place, &envelope, why);
                return Err(why);
            }
        }
        probe.on_queue(now, place, queue.held().bytes);
        if self.busy & (1 << index) == 0 {
            self.busy |= 1 << index;
            self.schedule.joined(index);
        }
        Ok(())
    }

    /// Serves every packet whose turn has come by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, room: &mut Room, probe: &mut impl Probe) {
        if self.busy != 0 && self.free_at <= now {
            self.serve(now, room, probe);
        }
    }

    fn serve(&mut self, now: Time, room: &mut Room, probe: &mut impl Probe) {
        while self.free_at <= now {
            let next = self.schedule.next(&mut self.queues, self.busy, self.free_at);
            let Some((index, start)) = next.filter(|&(_, start)| start <= now) else { return };
            let place = Place { port: self.number, queue: index as u8 };
            let queue = &mut self.queues[index];
            let Some((packet, marked)) = queue.take(start, index, room) else { return };
            if marked {
                probe.on_mark(start, place, &packet.envelope);
            }
            let held = queue.held();
            if held.packets == 0 {
                self.busy &= !(1 << index);
            }
            probe.on_queue(start, place, held.bytes);
            self.schedule.served(index, packet.envelope.bytes());
            self.transmit(start, packet, probe);
        }
    }

    /// The next time at which something happens that others can see, if nothing arrives before.
    #[inline]
    #[must_use]
    pub fn deadline(&mut self) -> Option<Time> {
        if let Some(arrival) = self.wire.deadline() {
            return Some(arrival);
        }
        self.schedule.next(&mut self.queues, self.busy, self.free_at).map(|(_, start)| start)
    }

    /// Takes the next packet that has crossed the wire by `now`. Call [`Port::catch_up`] first.
    pub fn arrive(&mut self, now: Time) -> Option<Arrival<C>> {
        self.wire.arrive(now)
    }

    fn transmit(&mut self, start: Time, packet: Packet<C>, probe: &mut impl Probe) {
        while self.changes.last().is_some_and(|change| change.at <= start) {
            self.change();
        }
        self.free_at = start + self.pace.charge(packet.envelope.bytes());
        probe.on_send(start, self.number, &packet.envelope);
        self.wire.put(self.free_at, packet);
    }

    /// Applies the next change of the link.
    fn change(&mut self) {
        let Some(change) = self.changes.pop() else { return };
        if let Some(delay) = change.delay {
            self.wire.set_delay(delay);
        }
        let Some(rate) = change.rate else { return };
        let old = self.pace.rate();
        self.pace = Pace::new(rate);
        for queue in &mut self.queues {
            if let Some(meter) = queue.meter_mut() {
                let share = Share::new(meter.rate().get().min(old.get()), old.get());
                if let Some(share) = share {
                    meter.set_rate(change.at, rate.share(share));
                }
            }
        }
    }
}
