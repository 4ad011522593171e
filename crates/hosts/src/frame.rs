//! Ethernet frames of real hosts: the fields that the simulator reads, and segmentation as a network card does it.
//! Frames have no VLAN tags. Segmentation leaves the checksums of TCP and UDP unchanged, as with checksum offload.

use etherparse::{IpNumber, TcpHeaderSlice, UdpHeaderSlice};
use shallop_core::{Class, Ecn};

pub use crate::ip::ETHERNET;
use crate::ip::{self, Ip};

/// The longest packet on the wire with its Ethernet header, in bytes: the MTU is 1,500.
pub const MAX_PACKET: usize = ETHERNET + 1_500;
/// The longest frame that a kernel may send, in bytes: segmentation offload of 64 KB of IP.
pub const MAX_FRAME: usize = ETHERNET + 65_535;

/// The addresses and ports of a packet (the 4-tuple).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketPair {
    pub from: (u32, u16),
    pub to: (u32, u16),
}

impl SocketPair {
    /// The addresses and ports of packets in the opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// The header fields of a packet that the simulator uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub sockets: SocketPair,
    /// The sequence number of the first byte of payload, or of the SYN.
    pub sequence: u32,
    pub acknowledged: u32,
    pub payload: u32,
    pub syn: bool,
    pub fin: bool,
    pub ack: bool,
    pub ecn: Ecn,
    /// The traffic class in the DSCP of a UDP packet, if it has one.
    pub class: Option<Class>,
    pub ip_bytes: u16,
}

/// Reads the headers of a TCP packet; `None` for any other frame.
pub fn segment(frame: &[u8]) -> Option<Segment> {
    let ip = Ip::from_frame(frame).filter(|ip| ip.protocol() == IpNumber::TCP)?;
    let (total, start) = (ip.total_len()?, ip.header_len());
    // The packet must not be longer than its frame.
    let packet = frame.get(ETHERNET..ETHERNET + usize::from(total))?;
    let tcp = TcpHeaderSlice::from_slice(packet.get(start..)?).ok()?;
    let payload = packet.len() - start - tcp.slice().len();
    let (from, to) = ip.addresses();
    Some(Segment {
        sockets: SocketPair { from: (from, tcp.source_port()), to: (to, tcp.destination_port()) },
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

const UDP_HEADER: usize = 8;

/// Reads the headers of an IP packet that is not TCP. Ports are 0 unless the packet is UDP. The payload is what a UDP
/// header leaves, for every protocol.
pub fn datagram(frame: &[u8]) -> Option<Segment> {
    let ip = Ip::from_frame(frame)?;
    let total = ip.total_len()?;
    let packet = frame.get(ETHERNET..ETHERNET + usize::from(total))?;
    let payload = packet.len().checked_sub(ip.header_len() + UDP_HEADER)?;
    let (from, to) = ip.addresses();
    let udp = packet.get(ip.header_len()..).filter(|_| ip.protocol() == IpNumber::UDP);
    let udp = udp.and_then(|udp| UdpHeaderSlice::from_slice(udp).ok());
    let ports = udp.as_ref().map_or((0, 0), |udp| (udp.source_port(), udp.destination_port()));
    Some(Segment {
        sockets: SocketPair { from: (from, ports.0), to: (to, ports.1) },
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

/// The source and destination addresses of a frame; `None` if it has no IP header.
pub fn addresses(frame: &[u8]) -> Option<(u32, u32)> {
    Ip::from_frame(frame).map(|ip| ip.addresses())
}

/// Sets the Ethernet destination. Hosts make no neighbour requests, so they do not know it.
pub fn set_destination(frame: &mut [u8], mac: [u8; 6]) {
    if let Some(to) = frame.first_chunk_mut() {
        *to = mac;
    }
}

/// TCP flags, in byte 13 of the header.
const FIN_AND_PUSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Cuts a TCP frame of segmentation offload into frames with at most `segment_bytes` of payload. The last frame keeps
/// FIN and PSH, the first keeps CWR (`tcp_gso_segment` of Linux). `None` if the frame is not TCP with payload, or its
/// parts would be empty or longer than a packet.
pub fn cut(frame: &[u8], segment_bytes: u16) -> Option<Vec<Vec<u8>>> {
    let whole = segment(frame).filter(|whole| whole.payload > 0)?;
    let tcp = ETHERNET + Ip::from_frame(frame)?.header_len();
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
/// (`__udp_gso_segment` of Linux). `None` if the frame is not UDP with payload, or its parts would be empty or longer
/// than a packet.
pub fn cut_datagrams(frame: &[u8], segment_bytes: u16) -> Option<Vec<Vec<u8>>> {
    let ip = Ip::from_frame(frame)?;
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
    use super::*;
    use crate::{flow_monitor::FrameHead, host_endpoint::outgoing, test_frames::ip as ip_packet};
    use etherparse::{IpHeaders, Ipv4HeaderSlice, PacketBuilderStep};

    fn frame(payload: usize) -> Vec<u8> {
        let builder = ip_packet(4, 0, 1).tcp(1_024, 5_000, u32::MAX - 10, 1_000).psh().fin().ack(77).cwr();
        let mut bytes = Vec::new();
        let payload: Vec<u8> = (0..payload).map(|byte| byte as u8).collect();
        builder.write(&mut bytes, &payload).unwrap();
        bytes
    }

    #[test]
    fn a_segment_has_the_fields_of_its_headers() {
        let segment = segment(&frame(100)).unwrap();
        let sockets = SocketPair { from: (0x0a00_0001, 1_024), to: (0x0a00_0002, 5_000) };
        assert_eq!(segment.sockets, sockets);
        assert_eq!((segment.payload, segment.sequence), (100, u32::MAX - 10));
        assert_eq!((segment.acknowledged, segment.fin, segment.ip_bytes), (77, true, 140));
    }

    #[test]
    fn the_dscp_gives_the_class_of_udp_and_none_of_tcp() {
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
            let of_v4 = with(ip_packet(4, 0, 1), dscp);
            let of_v6 = with(ip_packet(6, 0, 1), dscp);
            assert_eq!((of_v4.class, of_v6.class), (class, class), "{dscp}");
            // Without a class in the DSCP, the payload and the other transports decide.
            let out = |legacy| outgoing::<()>(FrameHead::new(0, 0, &of_v4), Ecn::NotEct, 46, legacy);
            assert_eq!(out(false).class, class.unwrap_or(Class::Data), "{dscp}");
            assert_eq!(out(true).class, class.unwrap_or(Class::Legacy), "{dscp}");
        }
        let mut bytes = frame(100);
        bytes[ETHERNET + 1] = 24 << 2;
        assert_eq!(segment(&bytes).unwrap().class, None);
    }

    #[test]
    fn the_parts_of_a_frame_have_all_bytes_in_order() {
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
    fn a_mark_updates_the_ip_checksum() {
        let mut bytes = frame(10);
        ip::mark(&mut bytes);
        assert_eq!(segment(&bytes).unwrap().ecn, Ecn::Ce);
        let ip = Ipv4HeaderSlice::from_slice(&bytes[ETHERNET..]).unwrap().to_header();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    }

    #[test]
    fn frames_without_tcp_have_no_segment_and_are_not_cut() {
        for bytes in [vec![], vec![0; 13], vec![0xff; 60], frame(0)[..40].to_vec()] {
            assert_eq!(segment(&bytes), None);
            assert!(cut(&bytes, 1_448).is_none());
        }
        assert!(cut(&frame(0), 1_448).is_none());
    }
}
