//! Any bytes from a host of a rehearsal: what its card sends of them, whose it is, and its mark. Packets are as long as
//! they say, and of both versions of IP.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_emu::offload;
use shallop_hosts::frame::{ETHERNET, MAX_PACKET};
use shallop_hosts::ip::{self, Ip};
use shallop_hosts::{Owners, addresses};

fuzz_target!(|data: &[u8]| {
    let Some(packets) = offload::packets(data) else { return };
    assert!(packets.len() <= data.len());
    let mut owners = Owners::default();
    owners.add_pair((0, 1), 0);
    for mut packet in packets {
        assert!(packet.len() <= MAX_PACKET);
        if let Some(owned) = owners.of(&packet) {
            assert!(usize::from(owned.segment.ip_bytes) + ETHERNET <= packet.len());
            assert_eq!(addresses::host_of(owned.segment.ends.from.0), Some(owned.host));
        }
        let (ends, length) = (Ip::of(&packet).map(|ip| ip.ends()), packet.len());
        ip::mark(&mut packet);
        assert_eq!((Ip::of(&packet).map(|ip| ip.ends()), packet.len()), (ends, length));
    }
});
