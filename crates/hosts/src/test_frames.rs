//! Frames for tests.

use crate::addresses;
use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep};

/// An IP packet of this version from a host to another.
pub(crate) fn ip(version: u8, from: u32, to: u32) -> PacketBuilderStep<IpHeaders> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [2; 6]);
    if version == 4 {
        let [from, to] = [from, to].map(|host| addresses::address(host).to_be_bytes());
        ethernet.ipv4(from, to, 64)
    } else {
        let [from, to] = [from, to].map(|host| addresses::address_v6(host).to_be_bytes());
        ethernet.ipv6(from, to, 64)
    }
}

pub(crate) fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|byte| (byte * 7) as u8).collect()
}

/// A TCP frame from host 0 to host 1.
pub(crate) fn tcp(version: u8, bytes: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = ip(version, 0, 1).tcp(1_024, 80, 1_000, 500).ack(7).psh();
    builder.write(&mut frame, &payload(bytes)).unwrap();
    frame
}

/// A UDP frame from host 0 to host 1.
pub(crate) fn udp(version: u8, bytes: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    ip(version, 0, 1).udp(1_024, 53).write(&mut frame, &payload(bytes)).unwrap();
    frame
}
