//! Writer of capture files in the pcapng format (draft-ietf-opsawg-pcapng): section header, interface and packet
//! blocks, little-endian.

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
/// Option codes of pcapng: the first two occur in all blocks, the others in interface description blocks.
const END: u16 = 0;
const COMMENT: u16 = 1;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;

/// A pcapng file in memory.
pub(crate) struct PcapNg(Vec<u8>);

/// A captured packet, as an Enhanced Packet Block stores it.
pub(crate) struct Packet<'a> {
    /// Index of the interface in the file, which has one for each captured port.
    pub(crate) interface: u32,
    /// Time since the start of the run, in nanoseconds.
    pub(crate) time: u64,
    /// Length of the frame on the wire, in bytes.
    pub(crate) original_len: u32,
    /// Captured bytes, the first ones of the frame.
    pub(crate) data: &'a [u8],
    pub(crate) comment: Option<&'a str>,
}

impl PcapNg {
    /// A file with a section header and no interfaces.
    pub(crate) fn new() -> Self {
        let mut file = Self(Vec::new());
        let version = [1_u16, 0].map(u16::to_le_bytes).concat();
        // -1: the length of the section is not stated.
        let length = (-1_i64).to_le_bytes();
        file.block(SECTION_HEADER, &[&BYTE_ORDER.to_le_bytes()[..], &version, &length].concat());
        file
    }

    /// Adds an Ethernet interface with times in nanoseconds. At most `snap_len` bytes of its packets are captured.
    pub(crate) fn add_interface(&mut self, name: &str, snap_len: u32) {
        let mut body = [ETHERNET, 0].map(u16::to_le_bytes).concat();
        body.extend(snap_len.to_le_bytes());
        add_option(&mut body, INTERFACE_NAME, name.as_bytes());
        // Units of 10^-9 s.
        add_option(&mut body, TIME_RESOLUTION, &[9]);
        add_option(&mut body, END, &[]);
        self.block(INTERFACE, &body);
    }

    pub(crate) fn add_packet(&mut self, packet: &Packet<'_>) {
        let (high, low) = ((packet.time >> 32) as u32, packet.time as u32);
        let captured = packet.data.len() as u32;
        let words = [packet.interface, high, low, captured, packet.original_len];
        let mut body = words.map(u32::to_le_bytes).concat();
        body.extend(packet.data);
        pad(&mut body);
        if let Some(comment) = packet.comment {
            add_option(&mut body, COMMENT, comment.as_bytes());
            add_option(&mut body, END, &[]);
        }
        self.block(ENHANCED_PACKET, &body);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Adds a block. The block's length precedes and follows its body, whose length is a multiple of four.
    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = (12 + body.len() as u32).to_le_bytes();
        for part in [&kind.to_le_bytes()[..], &length, body, &length] {
            self.0.extend(part);
        }
    }
}

/// Adds an option to the body of a block. Values longer than 65,535 bytes, the most that an option can hold, are cut.
fn add_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    body.extend([code, length].map(u16::to_le_bytes).concat());
    body.extend(&value[..usize::from(length)]);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// Bytes that the crate pcap-file 2.0.0 writes for this capture, in hexadecimal.
    const FILE: &str = "\
        0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c00000001000000\
        30000000010000002a00000002000a006c6566743e7269676874000009000100\
        0900000000000000300000000100000028000000010000002a00000002000200\
        c3a9000009000100090000000000000028000000060000002800000001000000\
        01000000d2f6052a05000000ea05000001020304050000002800000006000000\
        380000000000000001000000d2f6052a05000000ea0500000102030405000000\
        01000800746865206c6173740000000038000000";

    #[test]
    fn blocks_are_those_of_another_writer() {
        let mut file = PcapNg::new();
        file.add_interface("left>right", 42);
        file.add_interface("é", 42);
        for (interface, comment) in [(1, None), (0, Some("the last"))] {
            let (time, data) = (5_000_001_234, &[1, 2, 3, 4, 5][..]);
            file.add_packet(&Packet { interface, time, original_len: 1514, data, comment });
        }
        let mut hex = String::new();
        for byte in file.into_bytes() {
            let _ = write!(hex, "{byte:02x}");
        }
        assert_eq!(hex, FILE);
    }

    #[test]
    fn a_long_name_is_cut_to_the_length_of_an_option() {
        let file = |letters| {
            let mut file = PcapNg::new();
            file.add_interface(&"n".repeat(letters), 42);
            file.into_bytes()
        };
        assert!(file(70_000) == file(65_535) && file(65_535) != file(65_534));
    }
}
