//! A hash over all events of a run, with a few counts.

use shallop_core::{Class, DropCause, End, Envelope, Probe, QueueId, Span, Time};

/// Bytes of a data packet beside its payload: Ethernet with preamble and gap, IPv4, TCP with timestamps.
const OVERHEAD: u64 = 38 + 20 + 32;

#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Transcript {
    pub hash: u64,
    pub packets: u64,
    pub drops: u64,
    pub marks: u64,
    pub delivered: u64,
    /// The time from which payload and bursts are counted.
    pub since: Time,
    /// Delivered payload since that time, in bytes.
    pub payload: u64,
    /// The port whose bursts are counted, and the largest gap between two packets of a burst.
    pub bursts_at: (u32, Span),
    pub longest_burst: u64,
    burst: u64,
    last: Option<Time>,
}

impl Transcript {
    pub fn new(since: Time, bursts_at: (u32, Span)) -> Self {
        Self { since, bursts_at, ..Self::default() }
    }

    fn note(&mut self, now: Time, what: u64) {
        for value in [now.since_start().as_ps(), what] {
            self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
        }
    }

    fn on_burst(&mut self, now: Time) {
        let near = self.last.is_some_and(|last| now.saturating_since(last) <= self.bursts_at.1);
        self.burst = if near { self.burst + 1 } else { 1 };
        self.longest_burst = self.longest_burst.max(self.burst);
        self.last = Some(now);
    }
}

impl Probe for Transcript {
    fn on_send(&mut self, now: Time, port: u32, packet: &Envelope) {
        self.packets += 1;
        self.note(now, u64::from(port) << 32 | u64::from(packet.end.0));
        if now >= self.since && port == self.bursts_at.0 && packet.class == Class::Data {
            self.on_burst(now);
        }
    }

    fn on_drop(&mut self, now: Time, at: QueueId, _: &Envelope, _: DropCause) {
        self.drops += 1;
        self.note(now, u64::from(at.port));
    }

    fn on_mark(&mut self, now: Time, at: QueueId, _: &Envelope) {
        self.marks += 1;
        self.note(now, u64::from(at.port) << 16);
    }

    fn on_deliver(&mut self, now: Time, packet: &Envelope) {
        self.delivered += 1;
        self.note(now, u64::from(packet.end.0));
        if now >= self.since && packet.class == Class::Data {
            self.payload += u64::from(packet.size).saturating_sub(OVERHEAD);
        }
    }

    fn on_complete(&mut self, now: Time, end: End) {
        self.note(now, u64::from(end.0) << 40);
    }
}
