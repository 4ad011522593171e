//! The queue in a host between TCP and its link. TCP passes bursts to the queue as its window and pacer allow, and
//! packets leave when the link is free. Queued bytes count as in flight, and their round trip has begun. TCP passes no
//! more data while about a millisecond of its rate has not left the network interface (NIC), which reports departures
//! by an interrupt. State: queued packets, and bytes whose departure was not reported. Each flow has a separate queue;
//! the queues are served in turn, as in `fq`. Source: kernel 6.12, `tcp_small_queue_check`, `tcp_wfree`.

use super::{head::Head, sender::Sender, timers::earlier};
use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out, forward_to_end};
use shallop_control::Window;
use shallop_core::{Ecn, Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
#[repr(C)]
pub struct HostQueue<W> {
    /// The time from a packet's departure until the NIC reports it; zero for a host without a queue.
    gap: Span,
    waiting: VecDeque<Out<Head>>,
    /// Payload bytes that TCP passed to the queue and whose departure the NIC has not reported.
    held: u64,
    /// Bytes in `held` that have left, but whose departure was not reported.
    left: u64,
    /// When the NIC reports the departure of the bytes in `left`; [`Time::LAST`] if there are none.
    interrupt: Time,
    /// The deadline of the sender after its last input, if the host has a queue: departures do not change it.
    due: Option<Time>,
    end: Sender<W>,
}

impl<W: Window + Clone> HostQueue<W> {
    /// Adds a queue to a sender. The NIC reports a departure after `gap`; there is no queue if `gap` is zero.
    pub const fn new(end: Sender<W>, gap: Span) -> Self {
        Self { end, gap, waiting: VecDeque::new(), held: 0, left: 0, interrupt: Time::LAST, due: None }
    }

    pub const fn sender(&self) -> &Sender<W> {
        &self.end
    }

    /// Moves packets from TCP to the queue, as long as TCP sends any.
    fn fill(&mut self, now: Time) {
        self.end.note_held(now, self.held);
        while let Some(out) = self.end.poll(now) {
            self.held += u64::from(out.head.len);
            self.end.note_held(now, self.held);
            self.waiting.push_back(out);
        }
        self.due = self.end.wakeup();
    }
}

impl<W: Window + Clone> Endpoint for HostQueue<W> {
    type Head = Head;

    forward_to_end!();

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        self.end.on_packet(now, head, ecn);
        if !self.gap.is_zero() {
            self.fill(now);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.gap.is_zero() {
            return self.end.on_timer(now);
        }
        if self.interrupt <= now {
            self.held -= self.left;
            (self.left, self.interrupt) = (0, Time::LAST);
        }
        self.end.on_timer(now);
        self.fill(now);
    }

    #[inline]
    fn wakeup(&self) -> Option<Time> {
        let due = if self.gap.is_zero() { self.end.wakeup() } else { self.due };
        earlier(due, self.interrupt)
    }

    #[inline]
    fn ready(&self, now: Time) -> bool {
        if self.gap.is_zero() { self.end.ready(now) } else { !self.waiting.is_empty() }
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.gap.is_zero() {
            let out = self.end.poll(now);
            self.end.note_held(now, 0);
            return out;
        }
        let out = self.waiting.pop_front()?;
        if self.waiting.is_empty() {
            // Begins again with the first slot, which is in the processor's cache.
            self.waiting.clear();
        }
        self.left += u64::from(out.head.len);
        if self.interrupt == Time::LAST && self.left > 0 {
            self.interrupt = now.saturating_add(self.gap);
        }
        Some(out)
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.end.rtt_sample()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Config, Flags, Stack};
    use shallop_control::{any, window::Start};

    const US: fn(u64) -> Time = |us| Time::after_start(Span::from_us(us));

    /// A sender of `size` bytes on a Linux host, after a handshake that took `round_trip` microseconds.
    fn open(size: u64, round_trip: u64) -> HostQueue<any::AnyWindow> {
        let config = Config { segment: 1_448, ..Stack::LINUX.tcp };
        let start: Start = config.start(shallop_core::BitsPerSec::gbps(25), 0);
        let window = any::Config::for_stack("newreno", Stack::LINUX.host).map(|kind| kind.build(&start));
        let Some(window) = window else { panic!("NewReno is a controller") };
        let sender = Sender::new(&config, window, Some(size));
        let mut queue = HostQueue::new(sender, Span::from_us(20));
        queue.on_timer(US(0));
        assert_eq!(queue.poll(US(0)).map(|out| out.head.flags.has(Flags::SYN)), Some(true));
        let head = Head { flags: Flags::SYN | Flags::ACK, window: 65_160, ..Head::default() };
        queue.on_packet(US(round_trip), &head, Ecn::NotEct);
        queue
    }

    /// The number of segments that leave at each time, over a link that is never busy.
    fn leaving(queue: &mut HostQueue<any::AnyWindow>, from: u64, to: u64) -> Vec<(u64, usize)> {
        let mut all = Vec::new();
        for us in from..to {
            if queue.wakeup().is_some_and(|due| due <= US(us)) {
                queue.on_timer(US(us));
            }
            let count = std::iter::from_fn(|| queue.poll(US(us))).count();
            if count > 0 {
                all.push((us - from, count));
            }
        }
        all
    }

    /// Expected as captured at the NIC of a kernel: 2, 4 and 4 segments with a round trip of 20 ms, 5 and 5 with 2 ms.
    #[test]
    fn the_first_window_is_sent_as_the_nic_reports_departures() {
        assert_eq!(leaving(&mut open(1 << 30, 20_000), 20_000, 20_100), [(0, 2), (20, 4), (40, 4)]);
        assert_eq!(leaving(&mut open(1 << 30, 2_000), 2_000, 2_100), [(0, 5), (20, 5)]);
    }

    /// Expected as captured at the bottleneck of a kernel's flow over 1 Gb/s and 12 ms. While the pacer delays it, TCP
    /// has two bursts in the host's queue, whose lengths were fixed when the window was still small.
    #[test]
    fn two_bursts_wait_in_the_host_to_be_paced() {
        let mut queue = open(1 << 30, 12_000);
        leaving(&mut queue, 12_000, 24_000);
        let mut all = Vec::new();
        for round in 1..=5 {
            let at = 24_000 + 25 * round;
            let head = Head { flags: Flags::ACK, ack: 2 * 1_448 * round, window: 65_160, ..Head::default() };
            queue.on_packet(US(at), &head, Ecn::NotEct);
            all.extend(leaving(&mut queue, at, if round < 5 { at + 25 } else { 36_000 }));
        }
        let lengths: Vec<usize> = all.into_iter().map(|(_, count)| count).collect();
        assert_eq!(lengths, [2, 2, 2, 3, 3, 3, 3, 2]);
    }

    #[test]
    fn a_short_message_does_not_wait_for_its_first_burst() {
        assert_eq!(leaving(&mut open(14_480, 20_000), 20_000, 20_100), [(0, 4), (20, 4), (40, 2)]);
    }

    #[test]
    fn the_queue_is_bounded_while_the_link_is_busy() {
        let mut queue = open(1 << 30, 2_000);
        for us in 2_000..3_500 {
            if queue.wakeup().is_some_and(|due| due <= US(us)) {
                queue.on_timer(US(us));
            }
        }
        assert_eq!(queue.held, 5 * 1_448, "the first burst, and no more before it has left");
        assert!(queue.ready(US(3_500)));
    }
}
