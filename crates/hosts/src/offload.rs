//! Segmentation and checksum offload, as a network card does them. A host sends a virtio-net header before each frame
//! (`struct virtio_net_hdr`, 10 bytes in the byte order of the machine), which says what the card has to do. The
//! packets that enter the network are complete, so that the receiving host verifies every checksum.

use crate::frame::{self, ETHERNET, MAX_PACKET};
use crate::ip::Ip;
use etherparse::{TcpHeaderSlice, checksum::u64_16bit_word};

/// Bytes of the virtio-net header.
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
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Offset of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;
const UDP_HEADER: usize = 8;

/// Makes complete Ethernet packets of a frame with a virtio-net header. `None` if the frame is malformed.
pub fn packets(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (header, frame) = bytes.split_first_chunk::<HEADER>()?;
    // Frames without IP belong to no flow and are dropped later.
    let ip = Ip::from_frame(frame);
    if ip.as_ref().is_some_and(|ip| !has_valid_checksum(ip)) {
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
                // Hosts leave only checksums of TCP and UDP to the card.
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

/// Completes the checksum at `start + offset`, where the host has put the sum of the pseudo-header.
fn complete(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = packet.get(start..)?;
    let field = start.checked_add(offset)?;
    // The checksum covers its own field, which has the sum of the pseudo-header.
    let sum = u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, covered));
    // Zero would mean that the datagram has no checksum (RFC 768).
    let sum = if sum == 0 { 0xffff } else { sum };
    packet.get_mut(field..field + 2)?.copy_from_slice(&sum.to_ne_bytes());
    Some(())
}

/// Checks the checksum of an IPv4 header. IPv6 has none.
fn has_valid_checksum(ip: &Ip<'_>) -> bool {
    match ip {
        Ip::V4(ip) => u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, ip.slice())) == 0,
        Ip::V6(_) => true,
    }
}

/// Writes the TCP checksum of a packet; `None` if the packet has no TCP header.
fn tcp_checksum(packet: &mut [u8]) -> Option<()> {
    let ip = Ip::from_frame(packet)?;
    let start = ETHERNET + ip.header_len();
    let end = ETHERNET + usize::from(ip.total_len()?);
    let tcp = TcpHeaderSlice::from_slice(packet.get(start..end)?).ok()?;
    let payload = packet.get(start + tcp.slice().len()..end)?;
    let sum = ip.tcp_checksum(&tcp, payload)?;
    put(packet, start + TCP_CHECKSUM, sum)
}

/// Writes the UDP checksum of a packet; `None` if the packet has no UDP header.
fn datagram_checksum(packet: &mut [u8]) -> Option<()> {
    let ip = Ip::from_frame(packet)?;
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
    use super::*;
    use crate::addresses;
    use crate::test_frames::{payload, tcp, udp};
    use etherparse::{Ipv4HeaderSlice, SlicedPacket, TransportSlice};

    fn with_header(flags: u8, kind: u8, words: [u16; 3], frame: &[u8]) -> Vec<u8> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        [&[flags, kind, 0, 0][..], &words, frame].concat()
    }

    /// Checks the checksums of a packet and returns its payload.
    fn verified(packet: &[u8]) -> Vec<u8> {
        let sliced = SlicedPacket::from_ethernet(packet).unwrap();
        let v4 = Ipv4HeaderSlice::from_slice(&packet[ETHERNET..]).ok();
        let v6 = [0, 1].map(|host| addresses::address_v6(host).to_be_bytes());
        let ends = v4.as_ref().map(|ip| (ip.source(), ip.destination()));
        if let Some(ip) = v4 {
            assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        }
        macro_rules! payload {
            ($segment:expr) => {{
                let (header, payload) = ($segment.to_header(), $segment.payload());
                let sum = match ends {
                    Some((from, to)) => header.calc_checksum_ipv4_raw(from, to, payload),
                    None => header.calc_checksum_ipv6_raw(v6[0], v6[1], payload),
                };
                assert_eq!(sum.unwrap(), $segment.checksum());
                payload.to_vec()
            }};
        }
        match sliced.transport.unwrap() {
            TransportSlice::Tcp(tcp) => payload!(tcp),
            TransportSlice::Udp(udp) => payload!(udp),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn large_frames_are_cut_into_complete_packets_with_all_bytes_in_order() {
        let frames = [(tcp(4, 4_000), TCP4), (udp(4, 4_000), UDP), (tcp(6, 4_000), TCP6), (udp(6, 4_000), UDP)];
        for (frame, kind) in frames {
            let parts = packets(&with_header(0, kind, [1_400, 0, 0], &frame)).unwrap();
            assert_eq!(parts.len(), 3);
            let bytes: Vec<u8> = parts.iter().flat_map(|part| verified(part)).collect();
            assert_eq!(bytes, payload(4_000));
        }
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        for (whole, start, field) in
            [(tcp(4, 101), 34, 16), (udp(4, 100), 34, 6), (tcp(6, 101), 54, 16), (udp(6, 99), 54, 6)]
        {
            let mut partial = whole.clone();
            // The host writes the sum of the pseudo-header: addresses, protocol, length.
            let (protocol, ends) = if start == 34 { (whole[23], 26..34) } else { (whole[20], 22..54) };
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
    fn frames_that_no_card_can_send_are_malformed() {
        let frame = tcp(4, 3_000);
        assert!(packets(&with_header(0, 0, [0; 3], &frame)).is_none(), "longer than the MTU");
        assert!(packets(&with_header(0, TCP4, [0; 3], &frame)).is_none(), "empty segments");
        assert!(packets(&with_header(1, 0, [0, 2_000, 16], &tcp(4, 10))).is_none(), "checksum beyond the end");
        assert!(packets(&with_header(0, TCP6, [1_400, 0, 0], &frame)).is_none(), "IPv6 segmentation of IPv4");
        assert!(packets(&with_header(0, 3, [1_400, 0, 0], &frame)).is_none(), "segmentation that was not negotiated");
        let mut wrong = with_header(0, 0, [0; 3], &tcp(4, 10));
        assert!(packets(&wrong).is_some());
        wrong[HEADER + ETHERNET + 8] ^= 1;
        assert!(packets(&wrong).is_none(), "wrong IP checksum");
        assert!(packets(&[0; 9]).is_none());
    }
}
