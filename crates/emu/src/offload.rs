//! What a host leaves to its network interface, done here as a card would: the cut of a large frame into packets, and
//! checksums. A line carries a virtio-net header before each frame (`struct virtio_net_hdr`, 10 bytes in the byte order
//! of the machine), in which the host says what is left to do. Packets leave here complete, so that the receiving host
//! verifies every checksum itself.

use etherparse::{TcpHeaderSlice, checksum::u64_16bit_word};
use shallop_hosts::frame::{self, ETHERNET, MAX_PACKET};
use shallop_hosts::ip::Ip;

/// Bytes of the header of a line.
pub const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`
const TCP4: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV6`
const TCP6: u8 = 4;
/// `VIRTIO_NET_HDR_GSO_UDP_L4`
const UDP: u8 = 5;
/// `VIRTIO_NET_HDR_GSO_ECN`
const ECN: u8 = 0x80;
/// The place of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// The place of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// The complete Ethernet packets of what a host has written to its line. `None` if it is malformed.
#[must_use]
pub fn packets(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (header, frame) = bytes.split_first_chunk::<HEADER>()?;
    // What is no IP packet is of no flow, and goes no further.
    let ip = Ip::of(frame);
    if ip.as_ref().is_some_and(|ip| !is_whole(ip)) {
        return None;
    }
    let is_v6 = matches!(ip, Some(Ip::V6(_)));
    let transport = ip.map_or(0, |ip| ETHERNET + ip.header_len());
    let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
    let (flags, segment, start, offset) = (header[0], word(4), word(6), word(8));
    match header[1] & !ECN {
        0 => {
            let mut packet = Some(frame).filter(|frame| frame.len() <= MAX_PACKET)?.to_vec();
            if flags & NEEDS_CHECKSUM != 0 {
                // Only a transport's checksum is left to a card.
                if usize::from(start) != transport || transport == 0 {
                    return None;
                }
                complete(&mut packet, usize::from(start), usize::from(offset))?;
            }
            Some(vec![packet])
        }
        kind if kind == if is_v6 { TCP6 } else { TCP4 } => {
            let mut packets = frame::cut(frame, segment)?;
            packets.iter_mut().try_for_each(|packet| tcp_checksum(packet))?;
            Some(packets)
        }
        UDP => {
            let mut packets = frame::cut_datagrams(frame, segment)?;
            packets.iter_mut().try_for_each(|packet| datagram_checksum(packet))?;
            Some(packets)
        }
        _ => None,
    }
}

/// Completes the checksum at `start + offset` of a packet whose host has summed up the pseudo-header there.
fn complete(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = packet.get(start..)?;
    let field = start.checked_add(offset)?;
    // The field holds the sum so far and is a part of what is summed.
    let sum = u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, covered));
    // A checksum of zero would say that a datagram has none (RFC 768).
    let sum = if sum == 0 { 0xffff } else { sum };
    packet.get_mut(field..field + 2)?.copy_from_slice(&sum.to_ne_bytes());
    Some(())
}

/// Whether the checksum of an IP header is right, if it has one.
fn is_whole(ip: &Ip<'_>) -> bool {
    match ip {
        Ip::V4(ip) => {
            u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, ip.slice())) == 0
        }
        Ip::V6(_) => true,
    }
}

/// Writes the TCP checksum of a packet, which has an IP and a TCP header.
fn tcp_checksum(packet: &mut [u8]) -> Option<()> {
    let ip = Ip::of(packet)?;
    let start = ETHERNET + ip.header_len();
    let end = ETHERNET + usize::from(ip.total_len()?);
    let tcp = TcpHeaderSlice::from_slice(packet.get(start..end)?).ok()?;
    let payload = packet.get(start + tcp.slice().len()..end)?;
    let sum = ip.tcp_checksum(&tcp, payload)?;
    put(packet, start + TCP_CHECKSUM, sum)
}

/// Writes the UDP checksum of a packet, which has an IP and a UDP header.
fn datagram_checksum(packet: &mut [u8]) -> Option<()> {
    let ip = Ip::of(packet)?;
    let start = ETHERNET + ip.header_len();
    let header = etherparse::UdpHeaderSlice::from_slice(packet.get(start..)?).ok()?.to_header();
    let payload = packet.get(start + UDP_HEADER..)?;
    let sum = ip.udp_checksum(&header, payload)?;
    put(packet, start + UDP_CHECKSUM, sum)
}

fn put(packet: &mut [u8], at: usize, sum: u16) -> Option<()> {
    packet.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use etherparse::{
        Ipv4HeaderSlice, PacketBuilder, PacketBuilderStep, SlicedPacket, TransportSlice,
    };

    use super::*;

    /// Source and destination in version 6.
    const ENDS: [[u8; 16]; 2] = [
        [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
    ];

    fn ip(version: u8) -> PacketBuilderStep<etherparse::IpHeaders> {
        let ethernet = PacketBuilder::ethernet2([2; 6], [2; 6]);
        match version {
            4 => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            _ => ethernet.ipv6(ENDS[0], ENDS[1], 64),
        }
    }

    fn payload(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|byte| (byte * 7) as u8).collect()
    }

    fn tcp(bytes: usize) -> Vec<u8> {
        tcp_of(4, bytes)
    }

    fn tcp_of(version: u8, bytes: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = ip(version).tcp(1_024, 80, 1_000, 500).ack(7).psh();
        builder.write(&mut frame, &payload(bytes)).unwrap();
        frame
    }

    fn udp_of(version: u8, bytes: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        ip(version).udp(1_024, 53).write(&mut frame, &payload(bytes)).unwrap();
        frame
    }

    fn with_header(flags: u8, kind: u8, words: [u16; 3], frame: &[u8]) -> Vec<u8> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        [&[flags, kind, 0, 0][..], &words, frame].concat()
    }

    /// The payload of a packet whose checksums are right.
    fn verified(packet: &[u8]) -> Vec<u8> {
        let sliced = SlicedPacket::from_ethernet(packet).unwrap();
        let v4 = Ipv4HeaderSlice::from_slice(&packet[ETHERNET..]).ok();
        let ends = v4.as_ref().map(|ip| (ip.source(), ip.destination()));
        if let Some(ip) = v4 {
            assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        }
        match sliced.transport.unwrap() {
            TransportSlice::Tcp(tcp) => {
                let (header, payload) = (tcp.to_header(), tcp.payload());
                let sum = match ends {
                    Some((from, to)) => header.calc_checksum_ipv4_raw(from, to, payload),
                    None => header.calc_checksum_ipv6_raw(ENDS[0], ENDS[1], payload),
                };
                assert_eq!(sum.unwrap(), tcp.checksum());
                payload.to_vec()
            }
            TransportSlice::Udp(udp) => {
                let (header, payload) = (udp.to_header(), udp.payload());
                let sum = match ends {
                    Some((from, to)) => header.calc_checksum_ipv4_raw(from, to, payload),
                    None => header.calc_checksum_ipv6_raw(ENDS[0], ENDS[1], payload),
                };
                assert_eq!(sum.unwrap(), udp.checksum());
                payload.to_vec()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_parts_of_a_large_frame_are_whole_packets_with_the_same_bytes() {
        let frames = [
            (tcp(4_000), TCP4),
            (udp_of(4, 4_000), UDP),
            (tcp_of(6, 4_000), TCP6),
            (udp_of(6, 4_000), UDP),
        ];
        for (frame, kind) in frames {
            let parts = packets(&with_header(0, kind, [1_400, 0, 0], &frame)).unwrap();
            assert_eq!(parts.len(), 3);
            let bytes: Vec<u8> = parts.iter().flat_map(|part| verified(part)).collect();
            assert_eq!(bytes, payload(4_000));
        }
    }

    #[test]
    fn a_checksum_that_was_left_to_the_card_is_completed() {
        for (whole, start, field) in [
            (tcp(101), 34, 16),
            (udp_of(4, 100), 34, 6),
            (tcp_of(6, 101), 54, 16),
            (udp_of(6, 99), 54, 6),
        ] {
            let mut partial = whole.clone();
            // The host leaves the sum of the pseudo-header: addresses, protocol, length.
            let (protocol, ends) =
                if start == 34 { (whole[23], 26..34) } else { (whole[20], 22..54) };
            let length = (whole.len() - start) as u16;
            let sum = u64_16bit_word::add_slice(0, &whole[ends]);
            let sum = u64_16bit_word::add_2bytes(sum, u16::from(protocol).to_be_bytes());
            let sum = u64_16bit_word::add_2bytes(sum, length.to_be_bytes());
            let sum = !u64_16bit_word::ones_complement(sum);
            partial[start + field..start + field + 2].copy_from_slice(&sum.to_ne_bytes());
            let bytes = with_header(1, 0, [0, start as u16, field as u16], &partial);
            assert_eq!(packets(&bytes).unwrap(), [whole]);
        }
    }

    #[test]
    fn what_no_card_could_send_is_malformed() {
        let frame = tcp(3_000);
        assert!(packets(&with_header(0, 0, [0; 3], &frame)).is_none(), "longer than the MTU");
        assert!(packets(&with_header(0, TCP4, [0; 3], &frame)).is_none(), "parts of nothing");
        assert!(packets(&with_header(1, 0, [0, 2_000, 16], &tcp(10))).is_none(), "beyond its end");
        assert!(packets(&with_header(0, TCP6, [1_400, 0, 0], &frame)).is_none(), "another version");
        assert!(packets(&with_header(0, 3, [1_400, 0, 0], &frame)).is_none(), "not asked for");
        let mut wrong = with_header(0, 0, [0; 3], &tcp(10));
        assert!(packets(&wrong).is_some());
        wrong[HEADER + ETHERNET + 8] ^= 1;
        assert!(packets(&wrong).is_none(), "a checksum of IP that is wrong");
        assert!(packets(&[0; 9]).is_none());
    }
}
