//! Ethernet frames of kernels: what the simulator reads of them, the mark that a switch sets, and the cut of a
//! segmentation-offload frame into the packets that a card sends. Frames have no VLAN tags, as our kernels send them.
//! Checksums of TCP are left to the receiving card, as with checksum offload.

use etherparse::{IpNumber, TcpHeaderSlice, UdpHeaderSlice};
use shallop_core::{Class, Ecn};

use crate::ip::{self, Ip};

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The longest packet that a card sends, with its Ethernet header: cards have Ethernet's 1,500 bytes.
pub const MAX_PACKET: usize = ETHERNET + 1_500;
/// The longest frame that a kernel may send: 64 KB of IP in segmentation offload.
pub const MAX_FRAME: usize = ETHERNET + 65_535;

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
    /// The class that its DSCP says, of UDP.
    pub class: Option<Class>,
    /// Bytes of the IP packet.
    pub ip_bytes: u16,
}

/// Reads a TCP packet; `None` for any other frame, such as a neighbour request.
#[must_use]
pub fn segment(frame: &[u8]) -> Option<Segment> {
    let ip = Ip::of(frame).filter(|ip| ip.protocol() == IpNumber::TCP)?;
    let (total, start) = (ip.total_len()?, ip.header_len());
    // A longer packet than its frame is one that no wire can carry.
    let packet = frame.get(ETHERNET..ETHERNET + usize::from(total))?;
    let tcp = TcpHeaderSlice::from_slice(packet.get(start..)?).ok()?;
    let payload = packet.len() - start - tcp.slice().len();
    let (from, to) = ip.ends();
    Some(Segment {
        ends: Ends { from: (from, tcp.source_port()), to: (to, tcp.destination_port()) },
        sequence: tcp.sequence_number(),
        acknowledged: tcp.acknowledgment_number(),
        payload: payload as u32,
        syn: tcp.syn(),
        fin: tcp.fin(),
        ack: tcp.ack(),
        ecn: ip.ecn(),
        class: None,
        ip_bytes: total,
    })
}

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// Reads an IP packet of any protocol but TCP as a segment, whose ports are 0 if it is not UDP; what a UDP header
/// leaves of it is payload.
#[must_use]
pub fn datagram(frame: &[u8]) -> Option<Segment> {
    let ip = Ip::of(frame)?;
    let total = ip.total_len()?;
    let packet = frame.get(ETHERNET..ETHERNET + usize::from(total))?;
    let payload = packet.len().checked_sub(ip.header_len() + UDP_HEADER)?;
    let (from, to) = ip.ends();
    let udp = packet.get(ip.header_len()..).filter(|_| ip.protocol() == IpNumber::UDP);
    let udp = udp.and_then(|udp| UdpHeaderSlice::from_slice(udp).ok());
    let ports = udp.as_ref().map_or((0, 0), |udp| (udp.source_port(), udp.destination_port()));
    Some(Segment {
        ends: Ends { from: (from, ports.0), to: (to, ports.1) },
        sequence: 0,
        acknowledged: 0,
        payload: payload as u32,
        syn: false,
        fin: false,
        ack: false,
        ecn: ip.ecn(),
        class: udp.and_then(|_| Class::of_dscp(ip.dscp())),
        ip_bytes: total,
    })
}

/// The addresses of a frame's source and destination; `None` if it has none.
#[must_use]
pub fn addresses(frame: &[u8]) -> Option<(u32, u32)> {
    Ip::of(frame).map(|ip| ip.ends())
}

/// Sets the Ethernet destination: hosts send without neighbour requests, so the network knows it and they do not.
pub fn set_destination(frame: &mut [u8], mac: [u8; 6]) {
    if let Some(to) = frame.first_chunk_mut() {
        *to = mac;
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
    let tcp = ETHERNET + Ip::of(frame)?.header_len();
    let headers = ETHERNET + usize::from(whole.ip_bytes) - whole.payload as usize;
    let payload = frame.get(headers..headers + whole.payload as usize)?;
    if segment_bytes == 0 || headers + usize::from(segment_bytes) > MAX_PACKET {
        return None;
    }
    let parts = payload.chunks(usize::from(segment_bytes));
    let (last, mut cut) = (parts.len() - 1, Vec::with_capacity(parts.len()));
    for (index, part) in parts.enumerate() {
        let mut frame = [&frame[..headers], part].concat();
        ip::make_part(&mut frame, index, headers - ETHERNET + part.len());
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
    let ip = Ip::of(frame)?;
    let udp = ETHERNET + ip.header_len();
    let headers = udp + UDP_HEADER;
    let payload = frame.get(headers..ETHERNET + usize::from(ip.total_len()?))?;
    let fits = segment_bytes > 0 && headers + usize::from(segment_bytes) <= MAX_PACKET;
    if ip.protocol() != IpNumber::UDP || payload.is_empty() || !fits {
        return None;
    }
    let part = |(index, part): (usize, &[u8])| {
        let mut frame = [&frame[..headers], part].concat();
        ip::make_part(&mut frame, index, headers - ETHERNET + part.len());
        let length = (UDP_HEADER + part.len()) as u16;
        frame[udp + 4..udp + 6].copy_from_slice(&length.to_be_bytes());
        frame
    };
    Some(payload.chunks(usize::from(segment_bytes)).enumerate().map(part).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use etherparse::{IpHeaders, Ipv4HeaderSlice, PacketBuilder, PacketBuilderStep};

    use super::*;
    use crate::endpoint::{FrameHead, outgoing};

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
    fn udp_says_its_class_by_its_dscp_and_tcp_has_none() {
        let with = |builder: PacketBuilderStep<IpHeaders>, dscp: u8| {
            let mut bytes = Vec::new();
            builder.udp(1, 2).write(&mut bytes, &[0; 18]).unwrap();
            let traffic = dscp << 2;
            if bytes[ETHERNET] >> 4 == 4 {
                bytes[ETHERNET + 1] = traffic;
            } else {
                bytes[ETHERNET] |= traffic >> 4;
                bytes[ETHERNET + 1] |= traffic << 4;
            }
            datagram(&bytes).unwrap()
        };
        let ethernet = || PacketBuilder::ethernet2([2; 6], [2; 6]);
        for (dscp, class) in [
            (0, None),
            (8, Some(Class::Ack)),
            (10, Some(Class::Data)),
            (16, Some(Class::Control)),
            (24, Some(Class::Emulation)),
            (32, Some(Class::Credit)),
            (40, Some(Class::Unscheduled)),
            (46, None),
            (48, None),
        ] {
            let of_v4 = with(ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64), dscp);
            let of_v6 = with(ethernet().ipv6([1; 16], [2; 16], 64), dscp);
            assert_eq!((of_v4.class, of_v6.class), (class, class), "{dscp}");
            // What says no class has that of its payload, beside transports with credits as well.
            let out =
                |legacy| outgoing::<()>(FrameHead::new(0, 0, &of_v4), Ecn::NotEct, 46, legacy);
            assert_eq!(out(false).class, class.unwrap_or(Class::Data), "{dscp}");
            assert_eq!(out(true).class, class.unwrap_or(Class::Legacy), "{dscp}");
        }
        let mut bytes = frame(100);
        bytes[ETHERNET + 1] = 24 << 2;
        assert_eq!(segment(&bytes).unwrap().class, None);
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
        ip::mark(&mut bytes);
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
