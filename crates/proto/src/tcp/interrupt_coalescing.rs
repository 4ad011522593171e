//! Interrupt coalescing of a network interface (NIC), and its driver. The NIC interrupts the host some time after the
//! first packet, and the driver then delivers all packets that arrived in the meantime, with successive segments of a
//! flow merged into one (generic receive offload). So a receiver acknowledges several segments at once, and
//! acknowledgements arrive in groups. State: packets that were not delivered. Each flow has separate interrupts.
//! Sources: kernel: `napi_complete_done`, `tcp_gro_receive`; `ethtool -C rx-usecs`.

use super::head::{Flags, Head};
use super::timers::earlier;
use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out, forward_to_end};
use prefetch_index::prefetch_index;
use shallop_core::{Ecn, Span, Time};
use std::{collections::VecDeque, slice::from_ref};

/// The most payload of a merged segment in bytes (kernel: `GRO_LEGACY_MAX_SIZE`, less headers).
const LARGEST: u16 = 65_000;

/// An endpoint behind a NIC with interrupt coalescing.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct InterruptCoalescing<E> {
    gap: Span,
    waiting: VecDeque<(Head, Ecn)>,
    /// When the packets that wait are delivered; [`Time::LAST`] if none wait.
    interrupt: Time,
    /// The time of the last interrupt that a packet requested, whether it arrived or was sent.
    called: Time,
    /// Whether the last packet that arrived still waits for an interrupt.
    held: bool,
    /// After the fields that a packet uses when it arrives, which share a cache line.
    end: E,
}

impl<E> InterruptCoalescing<E> {
    /// Delivers packets to an endpoint `gap` after they arrive; at once if `gap` is zero.
    pub const fn new(end: E, gap: Span) -> Self {
        Self { end, gap, waiting: VecDeque::new(), interrupt: Time::LAST, called: Time::ZERO, held: false }
    }

    /// Loads the endpoint, all of which the next interrupt uses, into the processor's cache.
    fn prefetch(&self) {
        for line in 1..size_of::<Self>() / 64 {
            prefetch_index(from_ref(&self.gap), line * 64 / size_of::<Span>());
        }
    }

    /// Requests an interrupt for a packet that arrived or was sent, unless one is due already.
    fn call(&mut self, now: Time) {
        if self.called <= now {
            self.called = now.saturating_add(self.gap);
        }
    }

    /// Removes the next segment to deliver, merged with the segments that follow it.
    fn next(&mut self) -> Option<(Head, Ecn)> {
        let (mut head, ecn) = self.waiting.pop_front()?;
        while let Some((next, next_ecn)) = self.waiting.front() {
            if *next_ecn != ecn || !follows(&head, next) {
                break;
            }
            head.len += next.len;
            head.flags |= next.flags;
            self.waiting.pop_front();
        }
        Some((head, ecn))
    }
}

/// Whether the segment `next` can be merged into `head`. A segment with PSH is the last of a merged segment.
fn follows(head: &Head, next: &Head) -> bool {
    let is_data = head.len > 0 && next.len > 0;
    let options = (head.timestamp, head.window) == (next.timestamp, next.window);
    let flags = head.flags == next.flags.without(Flags::PSH) && !next.flags.has(Flags::CWR);
    let same = flags && options;
    is_data && same && next.seq == head.seq + u64::from(head.len) && head.len <= LARGEST - next.len
}

impl<E: Endpoint<Head = Head>> Endpoint for InterruptCoalescing<E> {
    type Head = Head;

    forward_to_end!();

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        if self.gap.is_zero() {
            return self.end.on_packet(now, head, ecn);
        }
        if self.waiting.is_empty() {
            self.call(now);
            self.interrupt = self.called;
            self.prefetch();
        }
        self.waiting.push_back((*head, ecn));
        self.held = true;
    }

    #[inline]
    fn wakeup(&self) -> Option<Time> {
        earlier(self.end.wakeup(), self.interrupt)
    }

    #[inline]
    fn held_until(&self) -> Option<Time> {
        self.held.then_some(self.interrupt)
    }

    /// Delivers the packets that wait. Between two segments the endpoint sends what the first of them allows.
    fn on_timer(&mut self, now: Time) {
        self.held = false;
        if self.gap.is_zero() || self.interrupt > now {
            return self.end.on_timer(now);
        }
        if let Some((head, ecn)) = self.next() {
            self.end.on_packet(now, &head, ecn);
        }
        if self.waiting.is_empty() {
            // Begins again with the first slot, which is in the processor's cache.
            self.waiting.clear();
            self.interrupt = Time::LAST;
        }
        if self.end.wakeup().is_some_and(|due| due <= now) {
            self.end.on_timer(now);
        }
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        let out = self.end.poll_metered(now);
        if !self.gap.is_zero() && out.is_some() {
            self.call(now);
        }
        out
    }

    fn ready(&self, now: Time) -> bool {
        self.end.ready(now)
    }

    fn is_low_priority(&self) -> bool {
        self.end.is_low_priority()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        let out = self.end.poll(now);
        if !self.gap.is_zero() && out.is_some() {
            self.call(now);
        }
        out
    }

    fn rtt_sample(&self) -> Option<Span> {
        if self.held { None } else { self.end.rtt_sample() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;
    use shallop_core::Class;

    /// An endpoint that records the segments it receives: time, sequence number and length.
    #[derive(Clone, Debug, Default)]
    struct Notes(Vec<(Time, u64, u16)>);

    impl Endpoint for Notes {
        type Head = Head;
        fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
            self.0.push((now, head.seq, head.len));
        }
        fn poll(&mut self, _now: Time) -> Option<Out<Head>> {
            let (head, size) = (Head::default(), wire::frame(wire::HEADERS));
            Some(Out { head, body: 0..0, size, class: Class::Ack, ecn: Ecn::NotEct })
        }
        fn is_complete(&self) -> bool {
            false
        }
        fn counters(&self) -> EndpointCounters {
            EndpointCounters::default()
        }
    }

    const US: fn(u64) -> Time = |us| Time::after_start(Span::from_us(us));

    fn told(gap: u64, arrivals: &[(u64, u64, u16, Ecn)]) -> Vec<(Time, u64, u16)> {
        let mut end = InterruptCoalescing::new(Notes::default(), Span::from_us(gap));
        for &(at, seq, len, ecn) in arrivals {
            while let Some(due) = end.wakeup().filter(|&due| due <= US(at)) {
                end.on_timer(due);
            }
            end.on_packet(US(at), &Head { seq, len, ..Head::default() }, ecn);
        }
        while let Some(due) = end.wakeup() {
            end.on_timer(due);
        }
        end.end.0
    }

    #[test]
    fn packets_within_the_gap_are_delivered_together_and_merged() {
        let ect = Ecn::Ect;
        let arrivals = [(0, 0, 1_000, ect), (5, 1_000, 1_000, ect), (21, 2_000, 1_000, ect)];
        assert_eq!(told(20, &arrivals), [(US(20), 0, 2_000), (US(41), 2_000, 1_000)]);
        let as_they_came = [(US(0), 0, 1_000), (US(5), 1_000, 1_000), (US(21), 2_000, 1_000)];
        assert_eq!(told(0, &arrivals), as_they_came);
    }

    #[test]
    fn gaps_marks_acknowledgements_and_64_kb_end_a_merged_segment() {
        let gap = [(0, 0, 1_000, Ecn::Ect), (1, 2_000, 1_000, Ecn::Ect)];
        assert_eq!(told(20, &gap).len(), 2);
        let mark = [(0, 0, 1_000, Ecn::Ect), (1, 1_000, 1_000, Ecn::Ce)];
        assert_eq!(told(20, &mark).len(), 2);
        let acks = [(0, 0, 0, Ecn::Ect), (1, 0, 0, Ecn::Ect)];
        assert_eq!(told(20, &acks).len(), 2);
        let many: Vec<_> = (0..100).map(|n| (0, n * 1_000, 1_000, Ecn::Ect)).collect();
        assert_eq!(told(20, &many), [(US(20), 0, 65_000), (US(20), 65_000, 35_000)]);
    }

    /// PSH ends a burst, and a later timestamp begins another segment: merged headers must be equal.
    #[test]
    fn psh_ends_a_merged_segment_and_other_options_begin_a_new_one() {
        let ends = |first: Head, second: Head| {
            let mut end = InterruptCoalescing::new(Notes::default(), Span::from_us(20));
            end.on_packet(US(0), &Head { len: 1_000, ..first }, Ecn::Ect);
            end.on_packet(US(1), &Head { seq: 1_000, len: 1_000, ..second }, Ecn::Ect);
            while let Some(due) = end.wakeup() {
                end.on_timer(due);
            }
            end.end.0.len()
        };
        let (plain, push) = (Head::default(), Head { flags: Flags::PSH, ..Head::default() });
        let later = Head { timestamp: super::super::Timestamp(1), ..plain };
        assert_eq!((ends(plain, push), ends(push, plain), ends(plain, later)), (1, 2, 2));
    }

    /// A packet that is sent requests an interrupt as well, so that packets which arrive before it wait less.
    #[test]
    fn sent_packets_request_an_interrupt_too() {
        let mut end = InterruptCoalescing::new(Notes::default(), Span::from_us(20));
        assert!(end.poll(US(0)).is_some());
        end.on_packet(US(5), &Head { len: 1_000, ..Head::default() }, Ecn::Ect);
        assert_eq!(end.wakeup(), Some(US(20)));
        end.on_timer(US(20));
        end.on_packet(US(30), &Head { len: 1_000, ..Head::default() }, Ecn::Ect);
        assert_eq!(end.wakeup(), Some(US(50)));
    }
}
