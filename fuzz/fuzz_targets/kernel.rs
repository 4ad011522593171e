//! Parses arbitrary bytes as a time message, as a vhost-user request and as a frame of a kernel. The result is a value
//! within the limits or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_hosts::{frame, ip};
use shallop_kernel::time_travel::Message;
use shallop_kernel::vhost_user::{HEADER_BYTES, Header, MAX_PAYLOAD, MAX_REGIONS, Request};

fn time(data: &[u8]) {
    let Some(bytes) = data.first_chunk() else { return };
    if let Ok(message) = Message::decode(*bytes) {
        assert_eq!(message.encode(), *bytes);
    }
}

fn request(data: &[u8]) {
    let Some((head, payload)) = data.split_first_chunk::<HEADER_BYTES>() else { return };
    let Ok(header) = Header::decode(*head) else { return };
    assert!(header.length as usize <= MAX_PAYLOAD);
    let payload = &payload[..payload.len().min(header.length as usize)];
    match Request::decode(&header, payload) {
        Ok(Request::SetMemory(regions)) => assert!(regions.len() <= MAX_REGIONS),
        Ok(Request::GetConfig(_, bytes)) => assert!(bytes as usize <= payload.len()),
        Ok(Request::SetRingSize(queue, _) | Request::Kick(queue)) => assert!(queue < 2),
        _ => {}
    }
}

fn ethernet(data: &[u8]) {
    let Some((size, bytes)) = data.split_first_chunk::<2>() else { return };
    let segment = frame::segment(bytes);
    assert!(segment.is_none_or(|s| usize::from(s.ip_bytes) + frame::ETHERNET <= bytes.len()));
    let mut marked = bytes.to_vec();
    ip::mark(&mut marked);
    assert_eq!(marked.len(), bytes.len());
    if let Some(parts) = frame::cut(bytes, u16::from_le_bytes(*size) % 1_600) {
        assert!(parts.iter().all(|part| part.len() <= frame::MAX_PACKET));
    }
}

fuzz_target!(|data: &[u8]| {
    time(data);
    request(data);
    ethernet(data);
});
