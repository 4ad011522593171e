//! The ends of two hosts whose programs talk to each other. All connections from one to the other count as one flow:
//! its data is what TCP delivers in order of each connection, each byte once, and what datagrams carry.

use std::collections::BTreeMap;

use shallop_core::{Span, Time};
use shallop_proto::EndpointCounters;

use crate::endpoint::{FrameHead, KernelEnd};

/// The connection of packets that are not of TCP.
pub const DATAGRAMS: u32 = u32::MAX;

/// One end of a pair of hosts.
#[derive(Clone, Debug)]
pub struct PairEnd {
    /// The numbers of the sending and the receiving host.
    pub hosts: (u32, u32),
    is_sender: bool,
    connections: BTreeMap<u32, KernelEnd>,
    counters: EndpointCounters,
    rtt: Option<Span>,
}

impl PairEnd {
    /// The two ends of a pair of hosts, the sending one first.
    #[must_use]
    pub fn pair(hosts: (u32, u32)) -> [Self; 2] {
        [true, false].map(|is_sender| Self {
            hosts,
            is_sender,
            connections: BTreeMap::new(),
            counters: EndpointCounters::default(),
            rtt: None,
        })
    }

    /// Counts a packet that this end sends.
    pub fn on_send(&mut self, now: Time, head: &FrameHead) {
        if head.connection == DATAGRAMS {
            self.counters.sent += u64::from(self.is_sender && head.payload > 0);
        } else {
            self.count(head, |end| end.on_send(now, head));
        }
    }

    /// Counts a packet that arrives.
    pub fn on_arrival(&mut self, now: Time, head: &FrameHead) {
        self.rtt = None;
        if head.connection == DATAGRAMS {
            self.counters.received += if self.is_sender { 0 } else { head.payload.into() };
        } else {
            self.count(head, |end| end.on_arrival(now, head));
        }
    }

    /// Adds what a connection counts by this to the sum of all.
    fn count(&mut self, head: &FrameHead, by: impl FnOnce(&mut KernelEnd)) {
        let side = usize::from(!self.is_sender);
        let new = || KernelEnd::pair(0, None)[side].clone();
        let end = self.connections.entry(head.connection).or_insert_with(new);
        let before = end.counters();
        by(end);
        let (after, all) = (end.counters(), &mut self.counters);
        all.sent += after.sent - before.sent;
        all.retransmits += after.retransmits - before.retransmits;
        all.received += after.received - before.received;
        all.duplicates += after.duplicates - before.duplicates;
        self.rtt = end.rtt();
    }

    /// What it has counted.
    #[must_use]
    pub const fn counters(&self) -> EndpointCounters {
        self.counters
    }

    /// The round trip that the last packet has shown.
    #[must_use]
    pub const fn rtt(&self) -> Option<Span> {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(connection: u32, sequence: u32, payload: u16, syn: bool) -> FrameHead {
        FrameHead { slot: 0, connection, sequence, acknowledged: None, payload, syn, class: None }
    }

    #[test]
    fn connections_are_counted_apart_and_added_up() {
        let [mut sender, mut receiver] = PairEnd::pair((0, 1));
        let now = Time::ZERO;
        let heads = [
            head(7, 0, 0, true),
            head(8, 500, 0, true),
            head(7, 1, 1_000, false),
            head(8, 501, 200, false),
            head(7, 1, 1_000, false),
            head(DATAGRAMS, 0, 300, false),
        ];
        for head in &heads {
            sender.on_send(now, head);
            receiver.on_arrival(now, head);
        }
        assert_eq!((sender.counters().sent, sender.counters().retransmits), (4, 1));
        assert_eq!((receiver.counters().received, receiver.counters().duplicates), (1_500, 1));
    }

    #[test]
    fn what_the_other_host_sends_is_no_data_of_this_direction() {
        let [mut sender, mut receiver] = PairEnd::pair((0, 1));
        for head in [head(7, 0, 0, true), head(7, 1, 1_000, false), head(DATAGRAMS, 0, 9, false)] {
            receiver.on_send(Time::ZERO, &head);
            sender.on_arrival(Time::ZERO, &head);
        }
        assert_eq!(sender.counters(), EndpointCounters::default());
        assert_eq!(receiver.counters(), EndpointCounters::default());
    }
}
