//! What waits in a host between TCP and its link: TCP hands over its bursts as its window and its pacer allow, and
//! they leave when the link is free. What waits counts as in flight, and its round trip has begun. TCP hands over no
//! more while about a millisecond of its rate has not left the card, which says so by an interrupt. State: packets that
//! wait, and bytes of which the card has not said that they left. The queue of a host is one for each flow, served in
//! turn, as `fq` does. Source: kernel 6.12, `tcp_small_queue_check`, `tcp_wfree`.

use std::collections::VecDeque;

use shallop_control::Window;
use shallop_core::{Ecn, Span, Time};

use super::head::Head;
use super::sender::Sender;
use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};

/// A sender with its host's queue.
#[derive(Clone, Debug)]
pub struct HostQueue<W> {
    end: Sender<W>,
    /// How long after a packet the card says that it has left; zero for a host without a queue.
    gap: Span,
    waiting: VecDeque<Out<Head>>,
    /// Bytes of data that TCP has handed over and knows nothing of.
    held: u64,
    /// Those of them that have left.
    left: u64,
    /// When the card says so; [`Time::LAST`] if nothing has left.
    interrupt: Time,
}

impl<W: Window + Clone> HostQueue<W> {
    /// A sender whose card says this long after a packet that it has left; without a queue if that is zero.
    pub const fn new(end: Sender<W>, gap: Span) -> Self {
        Self { end, gap, waiting: VecDeque::new(), held: 0, left: 0, interrupt: Time::LAST }
    }

    /// The sender.
    #[must_use]
    pub const fn sender(&self) -> &Sender<W> {
        &self.end
    }

    /// Takes what TCP hands over.
    fn fill(&mut self, now: Time) {
        if self.gap.is_zero() {
            return;
        }
        self.end.note_held(now, self.held);
        while let Some(out) = self.end.poll(now) {
            self.held += u64::from(out.head.len);
            self.end.note_held(now, self.held);
            self.waiting.push_back(out);
        }
    }
}

impl<W: Window + Clone> Endpoint for HostQueue<W> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        self.end.on_packet(now, head, ecn);
        self.fill(now);
    }

    fn on_timer(&mut self, now: Time) {
        if self.interrupt <= now {
            self.held -= self.left;
            (self.left, self.interrupt) = (0, Time::LAST);
        }
        self.end.on_timer(now);
        self.fill(now);
    }

    fn ready(&self, now: Time) -> bool {
        if self.gap.is_zero() { self.end.ready(now) } else { !self.waiting.is_empty() }
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.gap.is_zero() {
            return self.end.poll(now);
        }
        let out = self.waiting.pop_front()?;
        self.left += u64::from(out.head.len);
        if self.interrupt == Time::LAST && self.left > 0 {
            self.interrupt = now.saturating_add(self.gap);
        }
        Some(out)
    }

    fn wakeup(&self) -> Option<Time> {
        let interrupt = (self.interrupt < Time::LAST).then_some(self.interrupt);
        [self.end.wakeup(), interrupt].into_iter().flatten().min()
    }

    fn is_complete(&self) -> bool {
        self.end.is_complete()
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.end.rtt_sample()
    }

    fn counters(&self) -> EndpointCounters {
        self.end.counters()
    }

    fn continue_connection(&mut self, before: &Self) {
        self.end.continue_connection(&before.end);
    }
}
