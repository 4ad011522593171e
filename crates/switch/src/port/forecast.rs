//! The forecast of a link whose only packets are of one class, by one sender and in order of time: when each packet
//! reaches the other end of the link, without an event or a place on the wire for it.

use super::Port;
use crate::{buffer::PortBuffer, meter::Meter};
use shallop_core::{Bytes, Class, DropCause, Pace, Probe, QueueId, Span, Stream, Time};

/// The state of a port that changes when it sends packets of the class, and what becomes of the next packet. Thousands
/// of forecasts are in use at a time, so small fields save cache misses.
#[derive(Clone, Debug)]
pub struct LinkForecast {
    /// Time at which the next packet starts, and time at which it arrives.
    pub start: Time,
    pub arrival: Time,
    free_at: Time,
    pace: Pace,
    meter: Option<Meter>,
    delay: Span,
    latest: Time,
    /// Largest jitter of the wire. Its random stream now, and after the next packet; `None` for a wire without any.
    jitter: Span,
    random: Option<[Stream; 2]>,
    /// When waiting packets start. Some may have started since.
    waiting: Vec<Time>,
    /// The number of packets that may wait for the meter or for the link.
    limit: u32,
    dropped: u32,
    sent: u64,
    bytes: u64,
}

impl LinkForecast {
    /// Computes when the next packet, which comes at `at`, starts and arrives. Nothing else changes. Returns false if
    /// its queue is full.
    #[inline]
    pub fn offer(&mut self, at: Time, size: u16) -> bool {
        let size = Bytes::new(u64::from(size));
        let ready = self.meter.as_mut().map_or(Time::ZERO, |meter| meter.ready(size));
        self.start = at.max(self.free_at).max(ready);
        if self.start > at && self.waiting.len() >= self.limit as usize && self.is_full(at) {
            return false;
        }
        let mut pace = self.pace;
        self.arrival = self.start + pace.charge(size) + self.delay;
        if let Some([now, next]) = &mut self.random {
            next.clone_from(now);
            self.arrival = self.latest.max(self.arrival + self.jitter.scale(next.unit()));
        }
        true
    }

    #[cold]
    fn is_full(&mut self, at: Time) -> bool {
        self.waiting.retain(|&start| start > at);
        self.waiting.len() >= self.limit as usize
    }

    /// Sends the packet that was offered last, at `at`.
    #[inline]
    pub fn send(&mut self, at: Time, size: u16) {
        self.bytes += u64::from(size);
        self.sent += 1;
        let size = Bytes::new(u64::from(size));
        self.free_at = self.start + self.pace.charge(size);
        if let Some(meter) = &mut self.meter {
            meter.consume(self.start, size);
        }
        if self.start > at {
            self.waiting.push(self.start);
        }
        self.latest = self.arrival;
        if let Some([now, next]) = &mut self.random {
            now.clone_from(next);
        }
    }

    /// Drops the packet that was offered last.
    pub fn drop_offered(&mut self) {
        self.dropped += 1;
    }
}

impl<C: Copy> Port<C> {
    /// Whether packets of this class that reach the port in order of time, and no others, can use a [`LinkForecast`].
    /// `sizes` is the number of different packet sizes.
    pub fn can_be_forecast(&self, class: Class, sizes: u16, buffer: &PortBuffer) -> bool {
        let limit = buffer.own_limit(usize::from(self.queue_of[class.index()]));
        self.next_change == Time::LAST
            && self.queues_plainly(class)
            && !self.cold.schedule.weighted
            && self.link.wire.adds_only_jitter()
            && limit.is_some_and(|limit| sizes == 1 || limit.bytes == Bytes::MAX)
    }

    /// Whether the queue of this class is a FIFO that drops packets only by its limit or by selective drop.
    pub fn queues_plainly(&self, class: Class) -> bool {
        self.cold.queues[usize::from(self.queue_of[class.index()])].is_plain()
    }

    /// The forecast of a link for which [`Port::can_be_forecast`] is true, after the packets of this class that are
    /// queued; `None` while others are queued.
    pub fn forecast(&self, class: Class, size: u16, buffer: &PortBuffer) -> Option<LinkForecast> {
        let queue = usize::from(self.queue_of[class.index()]);
        let limit = buffer.own_limit(queue).filter(|_| self.backlogged & !(1 << queue) == 0)?;
        let of_bytes = u32::try_from(limit.bytes.get() / u64::from(size)).unwrap_or(u32::MAX);
        let (latest, delay, jitter) = self.link.wire.forecast();
        let mut forecast = LinkForecast {
            start: Time::ZERO,
            arrival: Time::ZERO,
            free_at: self.link.free_at,
            pace: self.link.pace,
            meter: self.cold.queues[queue].meter,
            delay,
            latest,
            jitter: jitter.map_or(Span::ZERO, |(jitter, _)| jitter),
            random: jitter.map(|(_, random)| [random.clone(), random.clone()]),
            waiting: Vec::new(),
            limit: limit.packets.min(of_bytes),
            dropped: 0,
            sent: 0,
            bytes: 0,
        };
        for size in self.cold.queues[queue].sizes() {
            forecast.offer(Time::ZERO, size);
            forecast.send(Time::ZERO, size);
        }
        (forecast.sent, forecast.bytes) = (0, 0);
        Some(forecast)
    }

    /// Takes over the state of its forecast for packets of this class, while none is queued.
    pub fn take_over(&mut self, forecast: &mut LinkForecast, class: Class) {
        self.cold.queues[usize::from(self.queue_of[class.index()])].meter = forecast.meter;
        (self.link.free_at, self.link.pace) = (forecast.free_at, forecast.pace);
        self.link.sent[class.index()] += std::mem::take(&mut forecast.sent);
        self.link.bytes += std::mem::take(&mut forecast.bytes);
        self.link.wire.take_over(forecast.latest, forecast.random.as_ref().map(|[now, _]| now));
    }

    /// Counts and reports the packets that were dropped in the forecast.
    pub fn report_dropped(&mut self, forecast: &LinkForecast, class: Class, probe: &mut impl Probe) {
        let cause = self.cold.queues[usize::from(self.queue_of[class.index()])].refusal(DropCause::QueueFull);
        if forecast.dropped > 0 {
            self.drop_in_bulk(class, cause, u64::from(forecast.dropped), probe);
        }
    }

    /// Until when the queue of this class is certain to drop all packets of at least `size` bytes, and the cause of the
    /// drops; `None` if it would enqueue one.
    pub fn drops_until(&mut self, class: Class, size: u16, buffer: &PortBuffer) -> Option<(Time, DropCause)> {
        let index = usize::from(self.queue_of[class.index()]);
        let queue = &mut self.cold.queues[index];
        let full = buffer.own_limit(index)?.exceeded_by(queue.length().with(Bytes::new(u64::from(size))));
        if !full || queue.length().packets == 0 || !queue.is_plain() {
            return None;
        }
        let until = queue.ready().max(self.link.free_at).min(self.next_change);
        Some((until, queue.refusal(DropCause::QueueFull)))
    }

    /// Whether the queue of this class has no packet.
    pub fn has_empty_queue(&self, class: Class) -> bool {
        self.backlogged >> self.queue_of[class.index()] & 1 == 0
    }

    /// Counts and reports packets that the queue of this class has dropped.
    pub fn drop_in_bulk(&mut self, class: Class, cause: DropCause, count: u64, probe: &mut impl Probe) {
        self.cold.dropped[class.index()] += count;
        let at = QueueId { port: self.link.number, queue: self.queue_of[class.index()] };
        probe.on_drops(at, class, cause, count);
    }
}
