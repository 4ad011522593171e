//! Records packets of chosen links as a capture file (pcapng) for Wireshark and similar tools.
//!
//! A probe sees only the envelope of a packet, so the headers are synthetic: Ethernet, IPv4 with the DSCP of the class
//! and the ECN codepoint, and UDP for every transport; there are no sequence numbers. The file has headers only; the
//! original length is the length of the frame without preamble, gap and checksum. An interface of the file is a port,
//! the address of a host is 10.0.0.0 plus its node number plus one, and the two UDP ports together give the number of
//! the flow. State: the file so far, of at most `limit` packets. Units: nanoseconds, rounded down.

use crate::pcapng::{Packet, PcapNg};
use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, Ipv4Header, UdpHeader, ip_number};
use shallop_core::{Ecn, End, Envelope, Node, Time};
use shallop_proto::wire;
use std::collections::BTreeMap;

/// Bytes of preamble, inter-frame gap and frame checksum, which are on the wire but not in captures.
const NOT_CAPTURED: u32 = 24;
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const FIRST_PORT: u32 = 1_024;
/// Number of UDP ports that encode flow numbers, counted from the first one used.
const PORTS: u32 = 64_512;

/// A packet capture in progress, and its file in memory.
pub struct Capture {
    file: PcapNg,
    interfaces: BTreeMap<u32, u32>,
    limit: u64,
    recorded: u64,
    skipped: u64,
    full: Option<Time>,
}

impl Capture {
    /// A capture of `ports`, given by number and name, of at most `limit` packets in total. A port that is given twice
    /// has the interface of its last name.
    #[must_use]
    pub fn new(ports: Vec<(u32, String)>, limit: u64) -> Self {
        let mut file = PcapNg::new();
        let mut interfaces = BTreeMap::new();
        for (interface, (port, name)) in (0..).zip(ports) {
            interfaces.insert(port, interface);
            file.add_interface(&name, (ETHERNET + IPV4 + UDP) as u32);
        }
        Self { file, interfaces, limit, recorded: 0, skipped: 0, full: None }
    }

    /// Records a packet that a port starts to send, if the port is captured and the limit is not reached. `addresses`
    /// returns the source and destination hosts of packets to an endpoint.
    pub fn send(&mut self, now: Time, port: u32, packet: &Envelope, addresses: impl Fn(End) -> (Node, Node)) {
        let Some(&interface) = self.interfaces.get(&port) else { return };
        if self.recorded >= self.limit {
            self.full.get_or_insert(now);
            self.skipped += 1;
            return;
        }
        self.recorded += 1;
        let comment = (self.recorded == self.limit)
            .then(|| format!("the last packet here: {} packets are the limit", self.limit));
        let (from, to) = addresses(packet.end);
        let headers = headers(*packet, from, to);
        let on_wire = u32::from(packet.size).saturating_sub(NOT_CAPTURED);
        self.file.add_packet(&Packet {
            interface,
            time: now.since_start().as_ps() / 1_000,
            original_len: on_wire.max(headers.len() as u32),
            data: &headers,
            comment: comment.as_deref(),
        });
    }

    /// Number of packets recorded so far.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Time of the first packet beyond the limit, and the number of packets beyond it; `None` if the limit was not
    /// exceeded.
    pub fn left_out(&self) -> Option<(Time, u64)> {
        self.full.map(|since| (since, self.skipped))
    }

    pub fn finish(self) -> Vec<u8> {
        self.file.into_bytes()
    }
}

fn headers(packet: Envelope, from: Node, to: Node) -> [u8; ETHERNET + IPV4 + UDP] {
    let ip_bytes = wire::ip_bytes(packet.size).max((IPV4 + UDP) as u64) as u16;
    let ethernet = Ethernet2Header { source: mac(from), destination: mac(to), ether_type: EtherType::IPV4 };
    let mut ip = Ipv4Header {
        // Six bits: it is always one.
        dscp: IpDscp::try_new(packet.class.dscp()).unwrap_or(IpDscp::ZERO),
        ecn: match packet.ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect => IpEcn::Ect0,
            Ecn::Ect1 => IpEcn::Ect1,
            Ecn::Ce => IpEcn::CongestionExperienced,
        },
        total_len: ip_bytes,
        dont_fragment: true,
        time_to_live: 64,
        protocol: ip_number::UDP,
        source: address(from),
        destination: address(to),
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    let flow = packet.end.flow();
    let ports = ((FIRST_PORT + flow % PORTS) as u16, (FIRST_PORT + flow / PORTS) as u16);
    let (source, destination) = if packet.end.is_sender() { (ports.1, ports.0) } else { ports };
    // Zero means that there is no checksum, which IPv4 allows.
    let udp =
        UdpHeader { source_port: source, destination_port: destination, length: ip_bytes - IPV4 as u16, checksum: 0 };
    let mut bytes = [0; ETHERNET + IPV4 + UDP];
    bytes[..ETHERNET].copy_from_slice(&ethernet.to_bytes());
    bytes[ETHERNET..ETHERNET + IPV4].copy_from_slice(&ip.to_bytes());
    bytes[ETHERNET + IPV4..].copy_from_slice(&udp.to_bytes());
    bytes
}

fn address(node: Node) -> [u8; 4] {
    let [_, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    [10, x, y, z]
}

/// MAC address of a node, with the bit for locally administered addresses.
fn mac(node: Node) -> [u8; 6] {
    let [w, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    [2, 0, w, x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::SlicedPacket;
    use shallop_core::Class;
    use shallop_core::Span;

    fn envelope(end: End, size: u16, class: Class, ecn: Ecn) -> Envelope {
        Envelope { end, size, class, ecn }
    }

    /// Addresses for tests: the two endpoints of every flow are at nodes 1 and 299.
    fn at_two_hosts(end: End) -> (Node, Node) {
        if end.is_sender() { (Node(299), Node(1)) } else { (Node(1), Node(299)) }
    }

    /// A packet as the test's reader of pcapng finds it.
    struct Read {
        interface: u32,
        nanoseconds: u64,
        original_len: u32,
        data: Vec<u8>,
        options: Vec<(u16, Vec<u8>)>,
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// Parses the options of a block up to `opt_endofopt`: code and value of each.
    fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut all = Vec::new();
        while !bytes.is_empty() && word(bytes, 0) != 0 {
            let (code, length) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
            all.push((code, bytes[4..4 + length].to_vec()));
            bytes = &bytes[4 + length.next_multiple_of(4)..];
        }
        all
    }

    /// Parses a capture file: names of the interfaces, and packets.
    fn packets(mut file: &[u8]) -> (Vec<String>, Vec<Read>) {
        let (mut names, mut all) = (Vec::new(), Vec::new());
        while !file.is_empty() {
            let length = word(file, 4) as usize;
            let (block, rest) = file.split_at(length);
            assert_eq!(word(block, length - 4) as usize, length, "a block ends with its length");
            let (kind, body) = (word(block, 0), &block[8..length - 4]);
            file = rest;
            if kind == 1 {
                let options = options(&body[8..]);
                assert!(options.contains(&(9, vec![9])), "times are nanoseconds");
                let (_, name) = options.into_iter().find(|(code, _)| *code == 2).unwrap();
                names.push(String::from_utf8(name).unwrap());
            } else if kind == 6 {
                let end = 20 + word(body, 12) as usize;
                all.push(Read {
                    interface: word(body, 0),
                    nanoseconds: u64::from(word(body, 4)) << 32 | u64::from(word(body, 8)),
                    original_len: word(body, 16),
                    data: body[20..end].to_vec(),
                    options: options(&body[end.next_multiple_of(4)..]),
                });
            }
        }
        (names, all)
    }

    #[test]
    fn packets_come_back_with_their_times_lengths_bits_and_addresses() {
        let ports = vec![(7, "left>right".to_owned()), (4, "right>r0".to_owned())];
        let mut capture = Capture::new(ports, 1_000_000);
        let flow = 70_000;
        let (data, credit) = (
            envelope(End::receiver(flow), 1538, Class::Data, Ecn::Ce),
            envelope(End::sender(flow), 84, Class::Credit, Ecn::NotEct),
        );
        let at = Time::after_start(Span::from_secs(5) + Span::from_ps(1_234_567));
        capture.send(Time::ZERO, 4, &credit, at_two_hosts);
        capture.send(at, 7, &data, at_two_hosts);
        capture.send(at, 5, &data, at_two_hosts);
        assert_eq!((capture.recorded(), capture.left_out()), (2, None));
        let (names, all) = packets(&capture.finish());
        assert_eq!(names, ["left>right", "right>r0"]);
        let recorded: Vec<_> = all.iter().map(|p| (p.interface, p.nanoseconds, p.original_len)).collect();
        assert_eq!(recorded, [(1, 0, 60), (0, 5_000_001_234, 1514)]);
        let read = |packet: &Read| {
            let (_, rest) = Ethernet2Header::from_slice(&packet.data).unwrap();
            let (ip, rest) = Ipv4Header::from_slice(rest).unwrap();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let (udp, rest) = UdpHeader::from_slice(rest).unwrap();
            assert!(rest.is_empty() && udp.length + 20 == ip.total_len);
            (ip, (udp.source_port, udp.destination_port))
        };
        let (ip, ports) = read(&all[1]);
        assert_eq!((ip.source, ip.destination, ip.total_len), ([10, 0, 0, 2], [10, 0, 1, 44], 1500));
        assert_eq!((ip.ecn, ip.dscp), (IpEcn::CongestionExperienced, IpDscp::CS0));
        assert_eq!(ports, (6_512, 1_025));
        let (ip, back) = read(&all[0]);
        assert_eq!((ip.ecn, ip.dscp, ip.total_len), (IpEcn::NotEct, IpDscp::CS4, 46));
        assert_eq!((back, ip.destination), ((ports.1, ports.0), [10, 0, 0, 2]));
    }

    #[test]
    fn a_capture_ends_at_its_limit_and_says_so() {
        let mut capture = Capture::new(vec![(0, "a>b".to_owned())], 2);
        let data = envelope(End::receiver(0), 200, Class::Data, Ecn::Ect);
        for us in 0..5 {
            capture.send(Time::after_start(Span::from_us(us)), 0, &data, at_two_hosts);
        }
        let since = Time::after_start(Span::from_us(2));
        assert_eq!((capture.recorded(), capture.left_out()), (2, Some((since, 3))));
        let (_, all) = packets(&capture.finish());
        assert_eq!(all.iter().map(|packet| packet.options.len()).collect::<Vec<_>>(), [0, 1]);
        let comment = b"the last packet here: 2 packets are the limit".to_vec();
        assert_eq!(all[1].options, [(1, comment)]);
        assert!(SlicedPacket::from_ethernet(&all[0].data).is_err(), "there is no payload");
    }

    #[test]
    fn every_flow_has_ports_of_its_own() {
        let mut ports = std::collections::BTreeSet::new();
        for flow in [0, 1, 64_511, 64_512, 64_513, 129_024, u32::MAX / 2] {
            let headers = headers(envelope(End::receiver(flow), 84, Class::Ack, Ecn::Ect), Node(0), Node(1));
            assert!(ports.insert(headers[34..38].to_vec()), "{flow}");
        }
    }
}
