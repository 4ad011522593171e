//! Arbitrary bytes from a host of a rehearsal: offload, classification and ECN marking give packets that are as long as
//! their headers say, or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_hosts::frame::{ETHERNET, MAX_PACKET};
use shallop_hosts::ip::{self, Ip};
use shallop_hosts::{FlowClassifier, addresses, offload};

fuzz_target!(|data: &[u8]| {
    let Some(packets) = offload::packets(data) else { return };
    assert!(packets.len() <= data.len());
    let mut flows = FlowClassifier::default();
    flows.add_programs(0, 1, 0);
    for mut packet in packets {
        assert!(packet.len() <= MAX_PACKET);
        if let Some(classified) = flows.classify(&packet) {
            assert!(usize::from(classified.segment.ip_bytes) + ETHERNET <= packet.len());
            assert_eq!(addresses::host_of(classified.segment.sockets.from.0), Some(classified.host));
        }
        let read = |packet: &[u8]| (Ip::from_frame(packet).map(|ip| ip.addresses()), packet.len());
        let before = read(&packet);
        ip::mark(&mut packet);
        assert_eq!(read(&packet), before);
    }
});
