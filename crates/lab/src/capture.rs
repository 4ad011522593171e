//! Packets of chosen links as a capture file (pcapng) for Wireshark and the like.
//!
//! What a probe sees of a packet is its outside, so the headers are made up from that: Ethernet, IPv4 with the DSCP of
//! the class and the ECN bits, and UDP, whatever the transport; there is no sequence number to show. Only headers are
//! stored; the original length is that of the frame without preamble, gap and checksum. An interface is a port, a host
//! has the address 10.x.y.z that is its node number plus one, and the two ports of a flow together name it.
//! State: the file so far, never more than `limit` packets. Units: nanoseconds, rounded down.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, Ipv4Header, UdpHeader, ip_number};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};
use shallop_core::{Class, Ecn, End, Envelope, Node, Time};
use shallop_proto::wire;

/// Packets that are recorded unless another limit is given.
pub const LIMIT: u64 = 1_000_000;

/// Preamble, gap and frame checksum: on the wire, and not in captures.
const UNSEEN: u32 = 24;
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
/// The first port of a flow, and how many there are above it.
const FIRST_PORT: u32 = 1_024;
const PORTS: u32 = 64_512;

/// A capture in the making.
pub struct Capture {
    writer: PcapNgWriter<Vec<u8>>,
    interfaces: BTreeMap<u32, u32>,
    limit: u64,
    recorded: u64,
    skipped: u64,
    full: Option<Time>,
}

impl Capture {
    /// A capture of these ports, by number with the names they get, of at most `limit` packets altogether. A port that
    /// is named twice keeps its last name's interface.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "writing to memory does not fail")]
    pub fn new(ports: Vec<(u32, String)>, limit: u64) -> Self {
        let written = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little);
        let mut writer = written.expect("memory can be written to");
        let mut interfaces = BTreeMap::new();
        for (interface, (port, name)) in (0..).zip(ports) {
            interfaces.insert(port, interface);
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                InterfaceDescriptionOption::IfTsResol(9),
            ];
            let snaplen = (ETHERNET + IPV4 + UDP) as u32;
            let linktype = DataLink::ETHERNET;
            let block = InterfaceDescriptionBlock { linktype, snaplen, options };
            writer.write_pcapng_block(block).expect("memory can be written to");
        }
        Self { writer, interfaces, limit, recorded: 0, skipped: 0, full: None }
    }

    /// A port starts to send a packet: recorded if the port is one of those and the limit is not reached. `addresses`
    /// says for the end a packet goes to which host it comes from and at which that end is.
    pub fn send(
        &mut self,
        now: Time,
        port: u32,
        packet: &Envelope,
        addresses: impl Fn(End) -> (Node, Node),
    ) {
        let Some(&interface_id) = self.interfaces.get(&port) else { return };
        if self.recorded >= self.limit {
            self.full.get_or_insert(now);
            self.skipped += 1;
            return;
        }
        self.recorded += 1;
        let mut options = Vec::new();
        if self.recorded == self.limit {
            let said = format!("the last packet here: {} packets are the limit", self.limit);
            options.push(EnhancedPacketOption::Comment(Cow::Owned(said)));
        }
        let headers = headers(*packet, addresses(packet.end));
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(now.since_start().as_ps() / 1_000),
            original_len: u32::from(packet.size).saturating_sub(UNSEEN).max(headers.len() as u32),
            data: Cow::Borrowed(&headers),
            options,
        };
        let written = self.writer.write_pcapng_block(block);
        debug_assert!(written.is_ok(), "memory can be written to, and the interface is there");
    }

    /// Packets recorded.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// When the first packet was left out for the limit, and how many were; `None` if none was.
    #[must_use]
    pub fn left_out(&self) -> Option<(Time, u64)> {
        self.full.map(|since| (since, self.skipped))
    }

    /// The file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.writer.into_inner()
    }
}

/// The DSCP of a class: class selectors, 0 for data to 4 for credits.
fn dscp(class: Class) -> IpDscp {
    match class {
        Class::Data => IpDscp::CS0,
        Class::Ack => IpDscp::CS1,
        Class::Control => IpDscp::CS2,
        Class::Emulation => IpDscp::CS3,
        Class::Credit => IpDscp::CS4,
        Class::Unscheduled => IpDscp::CS5,
        Class::Legacy => IpDscp::CS6,
        Class::LegacyAck => IpDscp::CS7,
    }
}

fn headers(packet: Envelope, (from, to): (Node, Node)) -> [u8; ETHERNET + IPV4 + UDP] {
    let ip_bytes = wire::ip_bytes(packet.size).max((IPV4 + UDP) as u64) as u16;
    let ethernet =
        Ethernet2Header { source: mac(from), destination: mac(to), ether_type: EtherType::IPV4 };
    let mut ip = Ipv4Header {
        dscp: dscp(packet.class),
        ecn: match packet.ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect => IpEcn::Ect0,
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
    // A checksum of zero is none, as IPv4 allows.
    let udp = UdpHeader {
        source_port: source,
        destination_port: destination,
        length: ip_bytes - IPV4 as u16,
        checksum: 0,
    };
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

/// A locally administered address.
fn mac(node: Node) -> [u8; 6] {
    let [w, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    [2, 0, w, x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::SlicedPacket;
    use pcap_file::pcapng::{Block, PcapNgReader};
    use shallop_core::Span;

    fn envelope(end: End, size: u16, class: Class, ecn: Ecn) -> Envelope {
        Envelope { end, size, class, ecn }
    }

    /// The ends of every flow are at nodes 1 and 299.
    fn at_two_hosts(end: End) -> (Node, Node) {
        if end.is_sender() { (Node(299), Node(1)) } else { (Node(1), Node(299)) }
    }

    fn packets(file: &[u8]) -> (Vec<String>, Vec<EnhancedPacketBlock<'static>>) {
        let mut reader = PcapNgReader::new(file).unwrap();
        let mut all = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap() {
                all.push(packet.into_owned());
            }
        }
        let names = reader.interfaces().iter().map(|interface| {
            assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
            let name = interface.options.iter().find_map(|option| match option {
                InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                _ => None,
            });
            name.unwrap()
        });
        (names.collect(), all)
    }

    #[test]
    fn packets_come_back_with_their_times_lengths_bits_and_addresses() {
        let ports = vec![(7, "left>right".to_owned()), (4, "right>r0".to_owned())];
        let mut capture = Capture::new(ports, LIMIT);
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
        let seen: Vec<_> =
            all.iter().map(|p| (p.interface_id, p.timestamp, p.original_len)).collect();
        let nanos = Duration::from_nanos(5_000_001_234);
        assert_eq!(seen, [(1, Duration::ZERO, 60), (0, nanos, 1514)]);
        let read = |packet: &EnhancedPacketBlock<'_>| {
            let (_, rest) = Ethernet2Header::from_slice(&packet.data).unwrap();
            let (ip, rest) = Ipv4Header::from_slice(rest).unwrap();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let (udp, rest) = UdpHeader::from_slice(rest).unwrap();
            assert!(rest.is_empty() && udp.length + 20 == ip.total_len);
            (ip, (udp.source_port, udp.destination_port))
        };
        let (ip, ports) = read(&all[1]);
        assert_eq!(
            (ip.source, ip.destination, ip.total_len),
            ([10, 0, 0, 2], [10, 0, 1, 44], 1500)
        );
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
        let said =
            EnhancedPacketOption::Comment("the last packet here: 2 packets are the limit".into());
        assert_eq!(all[1].options, [said]);
        assert!(SlicedPacket::from_ethernet(&all[0].data).is_err(), "payload is not there");
    }

    #[test]
    fn every_flow_has_ports_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for flow in [0, 1, 64_511, 64_512, 64_513, 129_024, u32::MAX / 2] {
            let headers = headers(
                envelope(End::receiver(flow), 84, Class::Ack, Ecn::Ect),
                (Node(0), Node(1)),
            );
            assert!(seen.insert(headers[34..38].to_vec()), "{flow}");
        }
    }
}
