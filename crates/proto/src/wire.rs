//! Sizes of packets on the wire. An IP packet of 1500 B takes 1538 B of the link: Ethernet header and checksum take 18,
//! preamble and inter-frame gap 20. The smallest frame takes 84 B.

/// Bytes on the wire besides the IP packet: Ethernet header, checksum, preamble and inter-frame gap.
pub const OVERHEAD: u64 = 38;
/// Size of the smallest frame on the wire in bytes, with preamble and gap.
pub const MIN_FRAME: u16 = 84;
/// Bytes of the headers in an IP packet (IP and transport, 20 each), assumed for every transport.
pub const HEADERS: u64 = 40;
/// Bytes of the headers of IPv4 and UDP.
pub const UDP_HEADERS: u64 = 28;
/// Default MTU: the most bytes of an IP packet.
pub const MTU: u64 = shallop_core::MTU;

/// The most payload of a data packet in bytes, so that its size on the wire fits 16 bits.
pub const MAX_PAYLOAD: u64 = u16::MAX as u64 - OVERHEAD - HEADERS;

/// Size on the wire of an IP packet of `ip` bytes, which may be up to 65,497.
pub const fn frame(ip: u64) -> u16 {
    let size = ip + OVERHEAD;
    if size < MIN_FRAME as u64 { MIN_FRAME } else { size as u16 }
}

/// Size on the wire of a data packet with `payload` bytes.
pub const fn data_frame(payload: u64) -> u16 {
    frame(payload + HEADERS)
}

/// Size of the IP packet in a frame that takes `size` bytes on the wire.
pub const fn ip_bytes(size: u16) -> u64 {
    (size as u64).saturating_sub(OVERHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_smallest_frames_have_their_textbook_sizes() {
        assert_eq!(data_frame(MTU - HEADERS), 1538);
        assert_eq!(frame(HEADERS), MIN_FRAME);
        assert_eq!(frame(46), 84);
        assert_eq!(frame(47), 85);
        assert_eq!(ip_bytes(1538), 1500);
        assert_eq!(data_frame(MAX_PAYLOAD), u16::MAX);
    }
}
