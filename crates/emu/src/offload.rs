//! What a host leaves to its network interface, done here as a card would: the cut of a large frame into packets, and
//! checksums. A line carries a virtio-net header before each frame (`struct virtio_net_hdr`, 10 bytes in the byte order
//! of the machine), in which the host says what is left to do. Packets leave here complete, so that the receiving host
//! verifies every checksum itself.

use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice, checksum::u64_16bit_word};
use shallop_hosts::frame::{self, ETHERNET, MAX_PACKET};

/// Bytes of the header of a line.
pub const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`
const TCP4: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_UDP_L4`
const UDP: u8 = 5;
/// `VIRTIO_NET_HDR_GSO_ECN`
const ECN: u8 = 0x80;
/// The place of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// The complete Ethernet packets of what a host has written to its line. `None` if it is malformed.
#[must_use]
pub fn packets(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (header, frame) = bytes.split_first_chunk::<HEADER>()?;
    // What is no IPv4 packet is of no flow, and goes no further.
    let ip = Ipv4HeaderSlice::from_slice(frame.get(ETHERNET..)?).ok();
    let sum = |ip: &Ipv4HeaderSlice<'_>| {
        u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, ip.slice()))
    };
    if ip.as_ref().is_some_and(|ip| sum(ip) != 0) {
        return None;
    }
    let transport = ip.as_ref().map_or(0, |ip| ETHERNET + ip.slice().len());
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
        TCP4 => {
            let mut packets = frame::cut(frame, segment)?;
            packets.iter_mut().try_for_each(|packet| tcp_checksum(packet))?;
            Some(packets)
        }
        UDP => {
            let mut packets = frame::cut_datagrams(frame, segment)?;
            let ip = ETHERNET + usize::from(frame.get(ETHERNET)? & 0x0f) * 4;
            let pseudo = |packet: &mut Vec<u8>| complete_datagram(packet, ip);
            packets.iter_mut().try_for_each(pseudo)?;
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

/// Writes the TCP checksum of a packet, which has an IPv4 and a TCP header.
fn tcp_checksum(packet: &mut [u8]) -> Option<()> {
    let ip = Ipv4HeaderSlice::from_slice(packet.get(ETHERNET..)?).ok()?;
    let start = ETHERNET + ip.slice().len();
    let end = ETHERNET + usize::from(ip.total_len());
    let tcp = TcpHeaderSlice::from_slice(packet.get(start..end)?).ok()?;
    let payload = packet.get(start + tcp.slice().len()..end)?;
    let sum = tcp.calc_checksum_ipv4_raw(ip.source(), ip.destination(), payload).ok()?;
    packet
        .get_mut(start + TCP_CHECKSUM..start + TCP_CHECKSUM + 2)?
        .copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Writes the UDP checksum of a packet whose UDP header begins at `start`.
fn complete_datagram(packet: &mut [u8], start: usize) -> Option<()> {
    let ip = Ipv4HeaderSlice::from_slice(packet.get(ETHERNET..)?).ok()?;
    let (source, destination) = (ip.source(), ip.destination());
    let header = etherparse::UdpHeaderSlice::from_slice(packet.get(start..)?).ok()?.to_header();
    let payload = packet.get(start + UDP_HEADER..)?;
    let sum = header.calc_checksum_ipv4_raw(source, destination, payload).ok()?;
    packet.get_mut(start + 6..start + 8)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use etherparse::{PacketBuilder, PacketBuilderStep, SlicedPacket, TransportSlice};

    use super::*;

    fn ip() -> PacketBuilderStep<etherparse::IpHeaders> {
        PacketBuilder::ethernet2([2; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
    }

    fn payload(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|byte| (byte * 7) as u8).collect()
    }

    fn tcp(bytes: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = ip().tcp(1_024, 80, 1_000, 500).ack(7).psh();
        builder.write(&mut frame, &payload(bytes)).unwrap();
        frame
    }

    fn udp(bytes: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        ip().udp(1_024, 53).write(&mut frame, &payload(bytes)).unwrap();
        frame
    }

    fn with_header(flags: u8, kind: u8, words: [u16; 3], frame: &[u8]) -> Vec<u8> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        [&[flags, kind, 0, 0][..], &words, frame].concat()
    }

    /// The payload of a packet whose checksums are right.
    fn verified(packet: &[u8]) -> Vec<u8> {
        let sliced = SlicedPacket::from_ethernet(packet).unwrap();
        let ip = Ipv4HeaderSlice::from_slice(&packet[ETHERNET..]).unwrap();
        assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        let (source, destination) = (ip.source(), ip.destination());
        match sliced.transport.unwrap() {
            TransportSlice::Tcp(tcp) => {
                let sum =
                    tcp.to_header().calc_checksum_ipv4_raw(source, destination, tcp.payload());
                assert_eq!(sum.unwrap(), tcp.checksum());
                tcp.payload().to_vec()
            }
            TransportSlice::Udp(udp) => {
                let sum =
                    udp.to_header().calc_checksum_ipv4_raw(source, destination, udp.payload());
                assert_eq!(sum.unwrap(), udp.checksum());
                udp.payload().to_vec()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_parts_of_a_large_frame_are_whole_packets_with_the_same_bytes() {
        for (frame, kind) in [(tcp(4_000), TCP4), (udp(4_000), UDP)] {
            let parts = packets(&with_header(0, kind, [1_400, 0, 0], &frame)).unwrap();
            assert_eq!(parts.len(), 3);
            let bytes: Vec<u8> = parts.iter().flat_map(|part| verified(part)).collect();
            assert_eq!(bytes, payload(4_000));
        }
    }

    #[test]
    fn a_checksum_that_was_left_to_the_card_is_completed() {
        for (whole, start, field) in [(tcp(101), 34, 16), (udp(100), 34, 6)] {
            let mut partial = whole.clone();
            // The host leaves the sum of the pseudo-header: addresses, protocol, length.
            let protocol = u16::from(whole[23]);
            let length = (whole.len() - start) as u16;
            let sum = u64_16bit_word::add_slice(0, &whole[26..34]);
            let sum = u64_16bit_word::add_2bytes(sum, protocol.to_be_bytes());
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
        assert!(packets(&with_header(0, 4, [1_400, 0, 0], &frame)).is_none(), "not asked for");
        let mut wrong = with_header(0, 0, [0; 3], &tcp(10));
        assert!(packets(&wrong).is_some());
        wrong[HEADER + ETHERNET + 8] ^= 1;
        assert!(packets(&wrong).is_none(), "a checksum of IP that is wrong");
        assert!(packets(&[0; 9]).is_none());
    }
}
