//! Decodes and checks vhost-user messages, by which a kernel sets up a virtio network card whose device side is in this
//! process. A message is a header of 12 bytes (request, flags, length of the payload), a payload, and file descriptors.
//! Kicks and calls are messages too (in-band notifications), so packets move only when the controller chooses. Source:
//! QEMU's vhost-user protocol; `arch/um/drivers/vhost_user.h` of Linux 6.12.

use crate::error::Malformed;

/// The size of a header, in bytes.
pub const HEADER_BYTES: usize = 12;
/// The longest accepted payload, in bytes; the largest memory table is shorter.
pub const MAX_PAYLOAD: usize = 4_096;
/// The largest number of memory regions that a kernel may share.
pub const MAX_REGIONS: usize = 8;
/// The size of the card's configuration space, in bytes.
const CONFIG_BYTES: usize = 64;

/// The protocol version, in the lowest bits of the flags.
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
/// The flag of a message whose sender waits for an answer.
const NEEDS_REPLY: u32 = 1 << 3;
/// The request by which the device announces used buffers (`VHOST_USER_BACKEND_VRING_CALL`).
const VRING_CALL: u32 = 4;

/// `VIRTIO_F_VERSION_1`, `VHOST_USER_F_PROTOCOL_FEATURES` and `VIRTIO_NET_F_MAC`.
pub const BASIC_FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// `VIRTIO_NET_F_CSUM` and `VIRTIO_NET_F_GUEST_CSUM`: neither side computes checksums.
pub const CHECKSUM_OFFLOAD: u64 = 1 << 0 | 1 << 1;
/// `VIRTIO_NET_F_HOST_TSO4` and `VIRTIO_NET_F_HOST_ECN`: the card splits bursts into TCP segments.
pub const SEGMENTATION_OFFLOAD: u64 = 1 << 11 | 1 << 13;
/// Protocol features: answers on request, a channel for the device, configuration space, in-band notifications.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub request: u32,
    flags: u32,
    /// The length of the payload, in bytes.
    pub length: u32,
}

impl Header {
    /// Decodes a header.
    ///
    /// # Errors
    /// If the payload is longer than [`MAX_PAYLOAD`].
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Result<Self, Malformed> {
        let [request, flags, length] = [0, 4, 8].map(|at| word(&bytes, at));
        if length as usize > MAX_PAYLOAD {
            return Err(Malformed::CardLength { request, bytes: length });
        }
        Ok(Self { request, flags, length })
    }

    /// Whether the kernel waits for an acknowledgement of a request without an answer of its own.
    pub fn needs_reply(&self) -> bool {
        self.flags & NEEDS_REPLY != 0
    }

    /// Makes the answer to a message, with this payload.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        message(self.request, VERSION | REPLY, payload)
    }
}

/// Makes the call that announces used buffers in a queue.
pub fn vring_call(queue: u32, needs_reply: bool) -> Vec<u8> {
    let flags = VERSION | if needs_reply { NEEDS_REPLY } else { 0 };
    message(VRING_CALL, flags, &[queue.to_ne_bytes(), [0; 4]].concat())
}

/// The size of the answer to [`vring_call`], in bytes.
pub const CALL_REPLY_BYTES: usize = HEADER_BYTES + 8;

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let header = [request, flags, payload.len() as u32].map(u32::to_ne_bytes);
    [header.as_flattened(), payload].concat()
}

/// A region of a kernel's memory, which is backed by the file that came with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The guest address of the region, by which rings refer to its bytes.
    pub address: u64,
    pub bytes: u64,
    pub offset: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    GetFeatures,
    GetProtocolFeatures,
    /// A request whose setting needs no action, so the card only accepts it.
    Accepted,
    SetMemory(Vec<Region>),
    /// Sets the number of descriptors of a ring.
    SetRingSize(usize, u16),
    /// Sets the index of the next descriptor of a ring.
    SetRingBase(usize, u16),
    /// Sets the addresses of a ring: descriptors, used ring, available ring.
    SetRingAddresses(usize, [u64; 3]),
    EnableRing(usize, bool),
    /// Brings the file descriptor of the channel on which the device calls the kernel.
    SetDeviceChannel,
    /// Asks for a part of the configuration space: offset and length.
    GetConfig(u32, u32),
    /// Announces new descriptors in a ring.
    Kick(usize),
}

impl Request {
    /// Decodes a request; the payload has the length in the header.
    ///
    /// # Errors
    /// If the request is unknown, or its payload does not fit it.
    pub fn decode(header: &Header, payload: &[u8]) -> Result<Self, Malformed> {
        let Header { request, length, .. } = *header;
        let needs = |bytes: usize| match payload.len() {
            got if got >= bytes => Ok(()),
            _ => Err(Malformed::CardLength { request, bytes: length }),
        };
        let ring = || {
            needs(8)?;
            let queue = word(payload, 0);
            if queue > 1 { Err(Malformed::Queue(queue)) } else { Ok(queue as usize) }
        };
        Ok(match request {
            1 => Self::GetFeatures,
            15 => Self::GetProtocolFeatures,
            2 | 3 | 16 => Self::Accepted,
            5 => Self::SetMemory(regions(header, payload)?),
            8 => Self::SetRingSize(ring()?, ring_size(word(payload, 4))?),
            10 => Self::SetRingBase(ring()?, word(payload, 4) as u16),
            9 => {
                needs(40)?;
                Self::SetRingAddresses(ring()?, [8, 16, 24].map(|at| long(payload, at)))
            }
            18 => Self::EnableRing(ring()?, word(payload, 4) != 0),
            21 => Self::SetDeviceChannel,
            24 => {
                needs(12)?;
                let (offset, bytes) = (word(payload, 0), word(payload, 4));
                needs(12 + bytes as usize)?;
                Self::GetConfig(offset, bytes)
            }
            35 => Self::Kick(ring()?),
            _ => return Err(Malformed::CardRequest(request)),
        })
    }
}

fn regions(header: &Header, payload: &[u8]) -> Result<Vec<Region>, Malformed> {
    let wrong = Malformed::CardLength { request: header.request, bytes: header.length };
    let count = payload.get(..4).map(|_| word(payload, 0) as usize).ok_or(wrong)?;
    if count == 0 || count > MAX_REGIONS || payload.len() < 8 + 32 * count {
        return Err(wrong);
    }
    let region = |index: usize| {
        let at = 8 + 32 * index;
        let [address, bytes, offset] = [0, 8, 24].map(|field| long(payload, at + field));
        Region { address, bytes, offset }
    };
    Ok((0..count).map(region).collect())
}

fn ring_size(size: u32) -> Result<u16, Malformed> {
    let known = u16::try_from(size).ok().filter(|size| size.is_power_of_two() && *size <= 32_768);
    known.ok_or(Malformed::RingSize(size))
}

/// The payload of the answer to [`Request::GetProtocolFeatures`]: the features that this card supports.
pub fn protocol_features() -> [u8; 8] {
    PROTOCOL_FEATURES.to_ne_bytes()
}

/// Makes the payload of the answer to [`Request::GetConfig`]: the request's payload with the bytes of the configuration
/// space.
pub fn config_reply(payload: &[u8], mac: [u8; 6], offset: u32, bytes: u32) -> Vec<u8> {
    let mut space = [0; CONFIG_BYTES];
    space[..6].copy_from_slice(&mac);
    // The link is up; one pair of queues.
    (space[6], space[8]) = (1, 1);
    let mut reply = payload.to_vec();
    for (index, to) in reply.iter_mut().skip(12).take(bytes as usize).enumerate() {
        *to = *space.get((offset as usize).saturating_add(index)).unwrap_or(&0);
    }
    reply
}

/// The number in the four bytes at this offset; zero if the buffer is shorter, which the caller has excluded.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    u32::from_ne_bytes(word.unwrap_or_default())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let long = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    u64::from_ne_bytes(long.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(request: u32, payload: &[u8]) -> Result<Request, Malformed> {
        Request::decode(&Header { request, flags: 1, length: payload.len() as u32 }, payload)
    }

    #[test]
    fn requests_with_a_short_payload_are_errors() {
        for request in [5, 8, 9, 10, 18, 24, 35] {
            let error = Malformed::CardLength { request, bytes: 3 };
            assert_eq!(decode(request, &[0; 3]), Err(error));
        }
    }

    #[test]
    fn a_third_queue_is_an_error() {
        assert_eq!(decode(35, &[2, 0, 0, 0, 0, 0, 0, 0]), Err(Malformed::Queue(2)));
        assert_eq!(decode(35, &[1, 0, 0, 0, 0, 0, 0, 0]), Ok(Request::Kick(1)));
    }

    #[test]
    fn rings_have_a_power_of_two_of_descriptors() {
        let size = |size: u32| decode(8, &[[0; 4], size.to_ne_bytes()].concat());
        assert_eq!(size(256), Ok(Request::SetRingSize(0, 256)));
        for wrong in [0, 3, 65_536, u32::MAX] {
            assert_eq!(size(wrong), Err(Malformed::RingSize(wrong)));
        }
    }

    #[test]
    fn a_table_of_more_regions_than_its_bytes_is_an_error() {
        let mut table = vec![0; 40];
        table[0] = 2;
        assert_eq!(decode(5, &table), Err(Malformed::CardLength { request: 5, bytes: 40 }));
        table[0] = 1;
        assert!(matches!(decode(5, &table), Ok(Request::SetMemory(one)) if one.len() == 1));
    }

    #[test]
    fn the_configuration_ends_where_it_ends() {
        let payload = [0_u8; 20];
        let reply = config_reply(&payload, [2, 0, 0, 0, 0, 9], 4, 8);
        assert_eq!(reply[12..], [0, 9, 1, 0, 1, 0, 0, 0]);
        assert_eq!(config_reply(&payload, [2; 6], u32::MAX, 8)[12..], [0; 8]);
    }
}
