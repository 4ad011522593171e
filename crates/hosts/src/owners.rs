//! Whose packets are: which end of which flow of the simulator sends what a kernel sends. A flow of our agent is known
//! by its addresses and ports; what programs send belongs to the flow between their two hosts.

use std::collections::BTreeMap;

use shallop_core::End;

use crate::addresses;
use crate::endpoint::AnyHostEnd;
use crate::flows::FlowOrder;
use crate::frame::{self, Ends, Segment};
use crate::pair::DATAGRAMS;

/// A packet and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// What it says.
    pub segment: Segment,
    /// The end that sends it.
    pub from: End,
    /// The connection, among those of programs.
    pub connection: u32,
    /// The host that sends it.
    pub host: u32,
}

/// The owners of packets.
#[derive(Debug, Default)]
pub struct Owners {
    ends: BTreeMap<Ends, End>,
    /// The flow from a host to another whose programs talk to each other.
    pairs: BTreeMap<(u32, u32), u32>,
    /// The connections of programs, by their ends in one direction.
    connections: BTreeMap<Ends, u32>,
}

impl Owners {
    /// The packets with these ends, and their reverse, are of this flow.
    pub fn add_flow(&mut self, ends: Ends, flow: u32) {
        self.ends.insert(ends, End::sender(flow));
        self.ends.insert(ends.reversed(), End::receiver(flow));
    }

    /// What programs of the first host send to the second is of this flow. If there are several, of the first.
    pub fn add_pair(&mut self, (from, to): (u32, u32), flow: u32) {
        self.pairs.entry((from, to)).or_insert(flow);
    }

    /// A flow starts with this sender: its packets are of this flow. Nothing if it is simulated.
    pub fn start<E>(&mut self, flow: u32, sender: &AnyHostEnd<E>, orders: &[FlowOrder]) {
        match sender {
            AnyHostEnd::Pair(pair) => self.add_pair(pair.hosts, flow),
            AnyHostEnd::Kernel(sender) => {
                if let Some(order) = orders.get(sender.order as usize) {
                    self.add_flow(order.ends(), flow);
                }
            }
            AnyHostEnd::Datagrams(sender) => self.add_flow(sender.ends, flow),
            AnyHostEnd::Quic(sender) => self.add_flow(sender.ends, flow),
            AnyHostEnd::Simulated(_) => {}
        }
    }

    /// Whose this frame is; `None` if it belongs to no flow.
    pub fn of(&mut self, frame: &[u8]) -> Option<Owned> {
        let tcp = frame::segment(frame);
        let segment = tcp.or_else(|| frame::datagram(frame))?;
        let host = addresses::host_of(segment.ends.from.0)?;
        if let Some(&from) = self.ends.get(&segment.ends) {
            return Some(Owned { segment, from, connection: 0, host });
        }
        let there = (host, addresses::host_of(segment.ends.to.0)?);
        let sender = self.pairs.get(&there).map(|&flow| End::sender(flow));
        let receiver = self.pairs.get(&(there.1, there.0)).map(|&flow| End::receiver(flow));
        // A bare acknowledgement belongs to the data that it acknowledges.
        let from = if segment.payload > 0 || segment.syn {
            sender.or(receiver)
        } else {
            receiver.or(sender)
        }?;
        let connection = tcp.map_or(DATAGRAMS, |_| self.connection(segment.ends));
        Some(Owned { segment, from, connection, host })
    }

    fn connection(&mut self, ends: Ends) -> u32 {
        let next = self.connections.len() as u32;
        *self.connections.entry(ends.min(ends.reversed())).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use etherparse::PacketBuilder;

    use super::*;

    fn ip(from: u8, to: u8) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
        PacketBuilder::ethernet2([2; 6], [2; 6]).ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
    }

    fn tcp(from: u8, to: u8, payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        ip(from, to).tcp(1_024, 80, 1, 1_000).ack(1).write(&mut bytes, &vec![0; payload]).unwrap();
        bytes
    }

    #[test]
    fn data_belongs_to_its_direction_and_its_acknowledgements_to_it() {
        let mut owners = Owners::default();
        owners.add_pair((0, 1), 5);
        owners.add_pair((1, 0), 6);
        let mut from = |frame: &[u8]| owners.of(frame).unwrap().from;
        assert_eq!(from(&tcp(1, 2, 100)), End::sender(5));
        assert_eq!(from(&tcp(2, 1, 0)), End::receiver(5));
        assert_eq!(from(&tcp(2, 1, 100)), End::sender(6));
        assert_eq!(from(&tcp(1, 2, 0)), End::receiver(6));
    }

    #[test]
    fn with_one_direction_everything_belongs_to_it_and_other_hosts_to_nobody() {
        let mut owners = Owners::default();
        owners.add_pair((0, 1), 5);
        owners.add_pair((0, 1), 7);
        assert_eq!(owners.of(&tcp(2, 1, 100)).unwrap().from, End::receiver(5));
        assert_eq!(owners.of(&tcp(1, 2, 0)).unwrap().from, End::sender(5));
        assert_eq!(owners.of(&tcp(1, 3, 10)), None);
        let mut datagram = Vec::new();
        ip(1, 2).udp(9, 9).write(&mut datagram, &[0; 30]).unwrap();
        let owned = owners.of(&datagram).unwrap();
        assert_eq!((owned.connection, owned.segment.payload, owned.host), (DATAGRAMS, 30, 0));
    }

    #[test]
    fn both_directions_of_a_connection_have_its_number() {
        let mut owners = Owners::default();
        owners.add_pair((0, 1), 5);
        let there = owners.of(&tcp(1, 2, 100)).unwrap().connection;
        let mut back = Vec::new();
        ip(2, 1).tcp(80, 1_024, 1, 1_000).write(&mut back, &[]).unwrap();
        assert_eq!(owners.of(&back).unwrap().connection, there);
        let other = owners.of(&tcp(2, 1, 100)).unwrap().connection;
        assert_ne!(other, there);
    }
}
