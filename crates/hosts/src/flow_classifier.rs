//! Finds the simulated flow and direction of a packet that a real host sends. Flows of the scenario are known by their
//! addresses and ports. All other packets between two hosts belong to the flow of the programs in these hosts.

use crate::addresses;
use crate::flow_monitor::{DATAGRAMS, MonitoredPackets};
use crate::frame::{self, Segment, SocketPair};
use crate::host_endpoint::HostEndpoint;
use shallop_core::End;
use std::collections::BTreeMap;

/// A packet of a real host with its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifiedPacket {
    pub segment: Segment,
    /// The end of the flow that sends the packet.
    pub from: End,
    /// The number of a program's connection; zero for a flow of the scenario.
    pub connection: u32,
    /// The number of the host that sends the packet.
    pub host: u32,
}

/// Assigns packets to flows.
#[derive(Debug, Default)]
pub struct FlowClassifier {
    /// The sending end of packets, by the addresses and ports of the packets.
    ends: BTreeMap<SocketPair, End>,
    /// The flow of the packets of programs, by the numbers of the sending and the receiving host.
    programs: BTreeMap<(u32, u32), u32>,
    /// The numbers of programs' connections, by the addresses and ports of one direction.
    connections: BTreeMap<SocketPair, u32>,
}

impl FlowClassifier {
    /// Assigns packets with these addresses and ports, in both directions, to a flow.
    fn add_flow(&mut self, sockets: SocketPair, flow: u32) {
        self.ends.insert(sockets, End::sender(flow));
        self.ends.insert(sockets.reversed(), End::receiver(flow));
    }

    /// Assigns the packets of programs from host `from` to host `to` to a flow, unless they have one.
    pub fn add_programs(&mut self, from: u32, to: u32, flow: u32) {
        self.programs.entry((from, to)).or_insert(flow);
    }

    /// Registers a flow that starts, so that its packets are found. Flows between simulated ends have no such packets.
    pub fn start<E>(&mut self, flow: u32, sender: &HostEndpoint<E>) {
        let HostEndpoint::Monitored(monitor) = sender else { return };
        match monitor.packets {
            MonitoredPackets::Tcp(sockets) | MonitoredPackets::Udp(sockets) | MonitoredPackets::Quic(sockets) => {
                self.add_flow(sockets, flow);
            }
            MonitoredPackets::Programs(from, to) => self.add_programs(from, to, flow),
        }
    }

    /// Finds the flow of a frame; `None` if the frame belongs to no flow.
    pub fn classify(&mut self, frame: &[u8]) -> Option<ClassifiedPacket> {
        let tcp = frame::segment(frame);
        let segment = tcp.or_else(|| frame::datagram(frame))?;
        let host = addresses::host_of(segment.sockets.from.0)?;
        if let Some(&from) = self.ends.get(&segment.sockets) {
            return Some(ClassifiedPacket { segment, from, connection: 0, host });
        }
        let peer = addresses::host_of(segment.sockets.to.0)?;
        let sender = self.programs.get(&(host, peer)).map(|&flow| End::sender(flow));
        let receiver = self.programs.get(&(peer, host)).map(|&flow| End::receiver(flow));
        // An acknowledgement without data belongs to the flow of the data that it acknowledges.
        let has_data = segment.payload > 0 || segment.syn;
        let from = if has_data { sender.or(receiver) } else { receiver.or(sender) }?;
        let connection = tcp.map_or(DATAGRAMS, |_| self.connection(segment.sockets));
        Some(ClassifiedPacket { segment, from, connection, host })
    }

    fn connection(&mut self, sockets: SocketPair) -> u32 {
        let next = self.connections.len() as u32;
        *self.connections.entry(sockets.min(sockets.reversed())).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_frames::ip;

    fn tcp(from: u32, to: u32, payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        ip(4, from, to).tcp(1_024, 80, 1, 1_000).ack(1).write(&mut bytes, &vec![0; payload]).unwrap();
        bytes
    }

    #[test]
    fn acknowledgements_belong_to_the_flow_of_the_data() {
        let mut flows = FlowClassifier::default();
        flows.add_programs(0, 1, 5);
        flows.add_programs(1, 0, 6);
        let mut from = |frame: &[u8]| flows.classify(frame).unwrap().from;
        assert_eq!(from(&tcp(0, 1, 100)), End::sender(5));
        assert_eq!(from(&tcp(1, 0, 0)), End::receiver(5));
        assert_eq!(from(&tcp(1, 0, 100)), End::sender(6));
        assert_eq!(from(&tcp(0, 1, 0)), End::receiver(6));
    }

    #[test]
    fn with_one_flow_both_directions_belong_to_it_and_other_hosts_to_no_flow() {
        let mut flows = FlowClassifier::default();
        flows.add_programs(0, 1, 5);
        flows.add_programs(0, 1, 7);
        assert_eq!(flows.classify(&tcp(1, 0, 100)).unwrap().from, End::receiver(5));
        assert_eq!(flows.classify(&tcp(0, 1, 0)).unwrap().from, End::sender(5));
        assert_eq!(flows.classify(&tcp(0, 2, 10)), None);
        let mut datagram = Vec::new();
        ip(4, 0, 1).udp(9, 9).write(&mut datagram, &[0; 30]).unwrap();
        let packet = flows.classify(&datagram).unwrap();
        assert_eq!((packet.connection, packet.segment.payload, packet.host), (DATAGRAMS, 30, 0));
    }

    #[test]
    fn both_directions_of_a_connection_have_one_number() {
        let mut flows = FlowClassifier::default();
        flows.add_programs(0, 1, 5);
        let there = flows.classify(&tcp(0, 1, 100)).unwrap().connection;
        let mut back = Vec::new();
        ip(4, 1, 0).tcp(80, 1_024, 1, 1_000).write(&mut back, &[]).unwrap();
        assert_eq!(flows.classify(&back).unwrap().connection, there);
        let other = flows.classify(&tcp(1, 0, 100)).unwrap().connection;
        assert_ne!(other, there);
    }
}
