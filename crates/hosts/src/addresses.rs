//! Addresses and ports of hosts: each has a number, from which its addresses follow.

/// The IPv4 address of a host: 10.0.0.1 is number 0.
#[must_use]
pub fn address(host: u32) -> u32 {
    (10 << 24) + host + 1
}

/// The host with this address.
#[must_use]
pub fn host_of(address: u32) -> Option<u32> {
    (address >> 24 == 10).then(|| (address & 0x00ff_ffff).checked_sub(1)).flatten()
}

/// The Ethernet address of a host, which is administered locally.
#[must_use]
pub fn mac(host: u32) -> [u8; 6] {
    let [_, a, b, c] = host.to_be_bytes();
    [2, 0, 0, a, b, c]
}

/// The port of the server for the controller with this index.
pub const FIRST_PORT: u16 = 5_000;
/// The first port of flows at their sender.
pub const FIRST_LOCAL_PORT: u16 = 10_000;
/// The most flows that one host may send in a run.
pub const MAX_FLOWS_OF_HOST: usize = 50_000;
