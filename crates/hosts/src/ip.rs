//! IPv4 and IPv6 headers of frames: the fields that the network reads, and those that it changes. Extension headers of
//! IPv6 are not parsed.

use crate::addresses;
use etherparse::{Ethernet2Slice, IpEcn, IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, UdpHeader};
use shallop_core::Ecn;

const V6_HEADER: usize = 40;
/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The ECN codepoint "congestion experienced", in the lowest two bits of the traffic class.
const CE: u8 = 3;

#[derive(Clone, Debug)]
pub enum Ip<'a> {
    V4(Ipv4HeaderSlice<'a>),
    V6(Ipv6HeaderSlice<'a>),
}

impl<'a> Ip<'a> {
    /// Reads the IP header of an Ethernet frame; `None` if the frame has none.
    pub fn from_frame(frame: &'a [u8]) -> Option<Self> {
        let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
        Self::from_packet(ethernet.payload_slice())
    }

    /// Reads the IP header of a packet without Ethernet header.
    fn from_packet(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Ipv4HeaderSlice::from_slice(packet).ok().map(Self::V4),
            6 => Ipv6HeaderSlice::from_slice(packet).ok().map(Self::V6),
            _ => None,
        }
    }

    /// The source and destination addresses, as 32-bit numbers of the module [`addresses`].
    pub fn addresses(&self) -> (u32, u32) {
        match self {
            Self::V4(ip) => (u32::from_be_bytes(ip.source()), u32::from_be_bytes(ip.destination())),
            Self::V6(ip) => (addresses::from_v6(ip.source()), addresses::from_v6(ip.destination())),
        }
    }

    pub fn protocol(&self) -> IpNumber {
        match self {
            Self::V4(ip) => ip.protocol(),
            Self::V6(ip) => ip.next_header(),
        }
    }

    pub fn header_len(&self) -> usize {
        match self {
            Self::V4(ip) => ip.slice().len(),
            Self::V6(_) => V6_HEADER,
        }
    }

    /// Bytes of the packet with its header; `None` above 65,535.
    pub fn total_len(&self) -> Option<u16> {
        match self {
            Self::V4(ip) => Some(ip.total_len()),
            Self::V6(ip) => ip.payload_length().checked_add(V6_HEADER as u16),
        }
    }

    /// The DSCP, 0 to 63.
    pub fn dscp(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.dcp().value(),
            Self::V6(ip) => ip.dscp().value(),
        }
    }

    pub fn ecn(&self) -> Ecn {
        let bits = match self {
            Self::V4(ip) => ip.ecn().value(),
            Self::V6(ip) => ip.ecn().value(),
        };
        match bits {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            CE => Ecn::Ce,
            _ => Ecn::Ect,
        }
    }

    /// The checksum of a TCP segment with this IP header.
    pub fn tcp_checksum(&self, tcp: &TcpHeaderSlice<'_>, payload: &[u8]) -> Option<u16> {
        match self {
            Self::V4(ip) => tcp.calc_checksum_ipv4_raw(ip.source(), ip.destination(), payload).ok(),
            Self::V6(ip) => tcp.calc_checksum_ipv6_raw(ip.source(), ip.destination(), payload).ok(),
        }
    }

    /// The checksum of a UDP datagram with this IP header.
    pub fn udp_checksum(&self, udp: &UdpHeader, payload: &[u8]) -> Option<u16> {
        match self {
            Self::V4(ip) => udp.calc_checksum_ipv4_raw(ip.source(), ip.destination(), payload).ok(),
            Self::V6(ip) => udp.calc_checksum_ipv6_raw(ip.source(), ip.destination(), payload).ok(),
        }
    }
}

/// Sets the ECN codepoint of a frame to "congestion experienced".
pub fn mark(frame: &mut [u8]) {
    rewrite(frame, |header| match header {
        Header::V4(ip) => ip.ecn = IpEcn::CongestionExperienced,
        Header::V6(ip) => ip.traffic_class |= CE,
    });
}

/// Updates the IP header of part `index` of a cut packet. `ip_bytes` is the length of the part with its IP header.
pub(crate) fn make_part(frame: &mut [u8], index: usize, ip_bytes: usize) {
    rewrite(frame, |header| match header {
        Header::V4(ip) => {
            ip.identification = ip.identification.wrapping_add(index as u16);
            ip.total_len = ip_bytes as u16;
        }
        Header::V6(ip) => ip.payload_length = (ip_bytes - V6_HEADER) as u16,
    });
}

enum Header {
    V4(etherparse::Ipv4Header),
    V6(etherparse::Ipv6Header),
}

/// Changes the fields of a frame's IP header and updates its checksum.
fn rewrite(frame: &mut [u8], change: impl FnOnce(&mut Header)) {
    let Some(packet) = frame.get_mut(ETHERNET..) else { return };
    let mut header = match Ip::from_packet(packet) {
        Some(Ip::V4(ip)) => Header::V4(ip.to_header()),
        Some(Ip::V6(ip)) => Header::V6(ip.to_header()),
        None => return,
    };
    change(&mut header);
    match header {
        Header::V4(mut ip) => {
            ip.header_checksum = ip.calc_header_checksum();
            put(packet, &ip.to_bytes());
        }
        Header::V6(ip) => put(packet, &ip.to_bytes()),
    }
}

fn put(packet: &mut [u8], bytes: &[u8]) {
    if let Some(to) = packet.get_mut(..bytes.len()) {
        to.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::segment;
    use crate::test_frames::tcp;

    #[test]
    fn the_fields_and_hosts_of_an_ipv6_segment_are_read() {
        let segment = segment(&tcp(6, 100)).unwrap();
        let hosts = [segment.sockets.from.0, segment.sockets.to.0].map(addresses::host_of);
        assert_eq!(hosts, [Some(0), Some(1)]);
        assert_eq!((segment.payload, segment.ip_bytes, segment.ecn), (100, 160, Ecn::NotEct));
    }

    #[test]
    fn a_mark_changes_only_the_ecn_codepoint() {
        let plain = tcp(6, 10);
        let mut marked = plain.clone();
        mark(&mut marked);
        assert_eq!(segment(&marked).unwrap().ecn, Ecn::Ce);
        let differ: Vec<usize> = (0..plain.len()).filter(|&at| plain[at] != marked[at]).collect();
        assert_eq!(differ, [15]);
    }
}
