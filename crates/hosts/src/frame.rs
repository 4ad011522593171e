//! Ethernet frames of kernels: what the simulator reads of them, the mark that a switch sets, and the cut of a
//! segmentation-offload frame into the packets that a card sends. Addresses are IPv4 without options or VLAN tags, as
//! our kernels send them. Checksums of TCP are left to the receiving card, as with checksum offload.

use etherparse::{Ethernet2Slice, IpNumber, Ipv4Header, Ipv4HeaderSlice, TcpHeaderSlice};
use shallop_core::Ecn;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The longest packet that a card sends, with its Ethernet header: cards have Ethernet's 1,500 bytes.
pub const MAX_PACKET: usize = ETHERNET + 1_500;
/// The longest frame that a kernel may send: 64 KB of IP in segmentation offload.
pub const MAX_FRAME: usize = ETHERNET + 65_535;
/// Congestion experienced, in the lowest bits of the traffic class.
const CE: u8 = 3;

/// The two ends of a connection: address and port of source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The source.
    pub from: (u32, u16),
    /// The destination.
    pub to: (u32, u16),
}

impl Ends {
    /// The same connection in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// What the simulator reads of a TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Whose it is.
    pub ends: Ends,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The next byte that its sender awaits.
    pub acknowledged: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// It opens the connection: payload begins one later.
    pub syn: bool,
    /// It closes the connection, which takes a sequence number too.
    pub fin: bool,
    /// It has an acknowledgement.
    pub ack: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Bytes of the IP packet.
    pub ip_bytes: u16,
}

/// Reads a TCP packet; `None` for any other frame, such as a neighbour request.
#[must_use]
pub fn segment(frame: &[u8]) -> Option<Segment> {
    let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
    let ip = Ipv4HeaderSlice::from_slice(ethernet.payload_slice()).ok()?;
    if ip.protocol() != IpNumber::TCP {
        return None;
    }
    let rest = ethernet.payload_slice().get(ip.slice().len()..)?;
    let tcp = TcpHeaderSlice::from_slice(rest).ok()?;
    let headers = ip.slice().len() + tcp.slice().len();
    let payload = usize::from(ip.total_len()).checked_sub(headers)?;
    // A longer packet than its frame, which no wire can carry.
    ethernet.payload_slice().get(..usize::from(ip.total_len()))?;
    let address = |of: [u8; 4]| u32::from_be_bytes(of);
    Some(Segment {
        ends: Ends {
            from: (address(ip.source()), tcp.source_port()),
            to: (address(ip.destination()), tcp.destination_port()),
        },
        sequence: tcp.sequence_number(),
        acknowledged: tcp.acknowledgment_number(),
        payload: payload as u32,
        syn: tcp.syn(),
        fin: tcp.fin(),
        ack: tcp.ack(),
        ecn: ecn(ip.ecn().value()),
        ip_bytes: ip.total_len(),
    })
}

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// Reads an IPv4 packet of any protocol but TCP as a segment of ports 0; what a UDP header leaves of it is payload.
#[must_use]
pub fn datagram(frame: &[u8]) -> Option<Segment> {
    let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
    let ip = Ipv4HeaderSlice::from_slice(ethernet.payload_slice()).ok()?;
    ethernet.payload_slice().get(..usize::from(ip.total_len()))?;
    let payload = usize::from(ip.total_len()).checked_sub(ip.slice().len() + UDP_HEADER)?;
    let address = |of: [u8; 4]| (u32::from_be_bytes(of), 0);
    Some(Segment {
        ends: Ends { from: address(ip.source()), to: address(ip.destination()) },
        sequence: 0,
        acknowledged: 0,
        payload: payload as u32,
        syn: false,
        fin: false,
        ack: false,
        ecn: ecn(ip.ecn().value()),
        ip_bytes: ip.total_len(),
    })
}

const fn ecn(bits: u8) -> Ecn {
    match bits {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        CE => Ecn::Ce,
        _ => Ecn::Ect,
    }
}

/// The IPv4 addresses of a frame's source and destination; `None` for any other frame.
#[must_use]
pub fn addresses(frame: &[u8]) -> Option<(u32, u32)> {
    let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
    let ip = Ipv4HeaderSlice::from_slice(ethernet.payload_slice()).ok()?;
    Some((u32::from_be_bytes(ip.source()), u32::from_be_bytes(ip.destination())))
}

/// Sets the Ethernet destination: hosts send without neighbour requests, so the network knows it and they do not.
pub fn set_destination(frame: &mut [u8], mac: [u8; 6]) {
    if let Some(to) = frame.first_chunk_mut() {
        *to = mac;
    }
}

/// Sets congestion experienced in an IPv4 frame.
pub fn mark(frame: &mut [u8]) {
    let Some(ip) = frame.get_mut(ETHERNET..) else { return };
    let Ok(header) = Ipv4HeaderSlice::from_slice(ip) else { return };
    let mut header = header.to_header();
    header.ecn = etherparse::IpEcn::CongestionExperienced;
    write_ip(ip, &mut header);
}

/// Writes an IPv4 header with its checksum over the one in this packet, which has the same length.
fn write_ip(packet: &mut [u8], header: &mut Ipv4Header) {
    header.header_checksum = header.calc_header_checksum();
    let bytes = header.to_bytes();
    if let Some(to) = packet.get_mut(..bytes.len()) {
        to.copy_from_slice(&bytes);
    }
}

/// Flags of TCP, at byte 13 of its header.
const FIN_AND_PUSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Cuts a TCP frame of segmentation offload into frames with at most `segment_bytes` of payload. FIN and PSH stay on
/// the last, CWR on the first (`tcp_gso_segment` of Linux).
/// `None` if it is no TCP frame with payload, or its parts would be empty or longer than a packet.
#[must_use]
pub fn cut(frame: &[u8], segment_bytes: u16) -> Option<Vec<Vec<u8>>> {
    let whole = segment(frame).filter(|whole| whole.payload > 0)?;
    let ip = Ipv4HeaderSlice::from_slice(&frame[ETHERNET..]).ok()?.to_header();
    let tcp = ETHERNET + ip.header_len();
    let headers = ETHERNET + usize::from(whole.ip_bytes) - whole.payload as usize;
    let payload = frame.get(headers..headers + whole.payload as usize)?;
    if segment_bytes == 0 || headers + usize::from(segment_bytes) > MAX_PACKET {
        return None;
    }
    let parts = payload.chunks(usize::from(segment_bytes));
    let (last, mut cut) = (parts.len() - 1, Vec::with_capacity(parts.len()));
    for (index, part) in parts.enumerate() {
        let mut frame = [&frame[..headers], part].concat();
        let mut ip = ip.clone();
        ip.identification = ip.identification.wrapping_add(index as u16);
        ip.total_len = (headers - ETHERNET + part.len()) as u16;
        write_ip(&mut frame[ETHERNET..], &mut ip);
        let offset = (index * usize::from(segment_bytes)) as u32;
        let sequence = whole.sequence.wrapping_add(offset);
        frame[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        if index < last {
            frame[tcp + 13] &= !FIN_AND_PUSH;
        }
        if index > 0 {
            frame[tcp + 13] &= !CWR;
        }
        cut.push(frame);
    }
    Some(cut)
}

/// Cuts a UDP frame of segmentation offload into frames with at most `segment_bytes` of payload
/// (`__udp_gso_segment` of Linux). `None` if it is no UDP frame with payload, or its parts would be empty or longer
/// than a packet. Checksums of UDP are left as they are.
#[must_use]
pub fn cut_datagrams(frame: &[u8], segment_bytes: u16) -> Option<Vec<Vec<u8>>> {
    let ip = Ipv4HeaderSlice::from_slice(frame.get(ETHERNET..)?).ok()?.to_header();
    let udp = ETHERNET + ip.header_len();
    let headers = udp + UDP_HEADER;
    let payload = frame.get(headers..ETHERNET + usize::from(ip.total_len))?;
    let fits = segment_bytes > 0 && headers + usize::from(segment_bytes) <= MAX_PACKET;
    if ip.protocol != IpNumber::UDP || payload.is_empty() || !fits {
        return None;
    }
    let part = |(index, part): (usize, &[u8])| {
        let mut frame = [&frame[..headers], part].concat();
        let mut ip = ip.clone();
        ip.identification = ip.identification.wrapping_add(index as u16);
        ip.total_len = (headers - ETHERNET + part.len()) as u16;
        write_ip(&mut frame[ETHERNET..], &mut ip);
        let length = (UDP_HEADER + part.len()) as u16;
        frame[udp + 4..udp + 6].copy_from_slice(&length.to_be_bytes());
        frame
    };
    Some(payload.chunks(usize::from(segment_bytes)).enumerate().map(part).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use etherparse::PacketBuilder;

    use super::*;

    fn frame(payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [2; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1_024, 5_000, u32::MAX - 10, 1_000)
            .psh()
            .fin()
            .ack(77)
            .cwr();
        let mut bytes = Vec::new();
        let payload: Vec<u8> = (0..payload).map(|byte| byte as u8).collect();
        builder.write(&mut bytes, &payload).unwrap();
        bytes
    }

    #[test]
    fn a_segment_has_the_fields_of_its_headers() {
        let segment = segment(&frame(100)).unwrap();
        let ends = Ends { from: (0x0a00_0001, 1_024), to: (0x0a00_0002, 5_000) };
        assert_eq!(segment.ends, ends);
        assert_eq!((segment.payload, segment.sequence), (100, u32::MAX - 10));
        assert_eq!((segment.acknowledged, segment.fin, segment.ip_bytes), (77, true, 140));
    }

    #[test]
    fn a_cut_frame_has_the_same_bytes_in_order() {
        let whole = frame(3_000);
        let parts = cut(&whole, 1_448).unwrap();
        assert_eq!(parts.len(), 3);
        let payloads: Vec<u8> = parts.iter().flat_map(|part| part[54..].to_vec()).collect();
        assert_eq!(payloads, whole[54..]);
        for (index, part) in parts.iter().enumerate() {
            let segment = segment(part).unwrap();
            let expected = (u32::MAX - 10).wrapping_add(1_448 * index as u32);
            assert_eq!((segment.sequence, segment.fin), (expected, index == 2));
            assert_eq!(part[47] & CWR != 0, index == 0);
            let ip = Ipv4HeaderSlice::from_slice(&part[ETHERNET..]).unwrap().to_header();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut bytes = frame(10);
        mark(&mut bytes);
        assert_eq!(segment(&bytes).unwrap().ecn, Ecn::Ce);
        let ip = Ipv4HeaderSlice::from_slice(&bytes[ETHERNET..]).unwrap().to_header();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    }

    #[test]
    fn what_is_no_tcp_frame_has_no_segment_and_cannot_be_cut() {
        for bytes in [vec![], vec![0; 13], vec![0xff; 60], frame(0)[..40].to_vec()] {
            assert_eq!(segment(&bytes), None);
            assert!(cut(&bytes, 1_448).is_none());
        }
        assert!(cut(&frame(0), 1_448).is_none());
    }
}
