//! The messages by which a kernel sets up a virtio network card whose device side is ours (vhost-user), decoded and
//! checked. A message is a header of 12 bytes (request, flags, length of the payload), a payload, and files that come
//! beside it. Kicks and calls are messages too (in-band notifications), so that no packet moves at a moment that the
//! controller does not choose. Source: QEMU's vhost-user protocol; `arch/um/drivers/vhost_user.h` of Linux 6.12.

use crate::error::Malformed;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 12;
/// The longest payload: the memory table with its largest number of regions is shorter.
pub const MAX_PAYLOAD: usize = 4_096;
/// The most regions of memory that a kernel may share.
pub const MAX_REGIONS: usize = 8;
/// Bytes of a card's configuration space that is offered.
const CONFIG_BYTES: usize = 64;

/// The version, which is in the lowest bits of the flags.
const VERSION: u32 = 1;
/// This message answers another.
const REPLY: u32 = 1 << 2;
/// The sender waits for an answer.
const NEEDS_REPLY: u32 = 1 << 3;
/// The request by which the device tells of used buffers (`VHOST_USER_BACKEND_VRING_CALL`).
const VRING_CALL: u32 = 4;

/// `VIRTIO_F_VERSION_1`, `VHOST_USER_F_PROTOCOL_FEATURES` and `VIRTIO_NET_F_MAC`.
pub const BASIC_FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// `VIRTIO_NET_F_CSUM` and `VIRTIO_NET_F_GUEST_CSUM`: checksums are not computed in the network.
pub const CHECKSUM_OFFLOAD: u64 = 1 << 0 | 1 << 1;
/// `VIRTIO_NET_F_HOST_TSO4` and `VIRTIO_NET_F_HOST_ECN`: the card cuts TCP segments.
pub const SEGMENTATION_OFFLOAD: u64 = 1 << 11 | 1 << 13;
/// Answers on request, a channel of the device's own, configuration space, in-band notifications.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of the request.
    pub request: u32,
    flags: u32,
    /// Bytes of the payload.
    pub length: u32,
}

impl Header {
    /// The header in these bytes.
    ///
    /// # Errors
    /// If the payload is longer than any request's.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Result<Self, Malformed> {
        let [request, flags, length] = [0, 4, 8].map(|at| word(&bytes, at));
        if length as usize > MAX_PAYLOAD {
            return Err(Malformed::CardLength { request, bytes: length });
        }
        Ok(Self { request, flags, length })
    }

    /// Whether the kernel waits for an answer to a request that has none of its own.
    #[must_use]
    pub fn needs_reply(&self) -> bool {
        self.flags & NEEDS_REPLY != 0
    }

    /// The answer with this payload.
    #[must_use]
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        message(self.request, VERSION | REPLY, payload)
    }
}

/// The call that tells of used buffers in a queue.
#[must_use]
pub fn vring_call(queue: u32, needs_reply: bool) -> Vec<u8> {
    let flags = VERSION | if needs_reply { NEEDS_REPLY } else { 0 };
    message(VRING_CALL, flags, &[queue.to_ne_bytes(), [0; 4]].concat())
}

/// Bytes of the answer to [`vring_call`].
pub const CALL_REPLY_BYTES: usize = HEADER_BYTES + 8;

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let header = [request, flags, payload.len() as u32].map(u32::to_ne_bytes);
    [header.as_flattened(), payload].concat()
}

/// A part of a kernel's memory, in the file that came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its address in the rings.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// A request of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What the card can do.
    GetFeatures,
    /// What the protocol can do.
    GetProtocolFeatures,
    /// A choice that needs no action.
    Accepted,
    /// The memory in which rings and buffers lie.
    SetMemory(Vec<Region>),
    /// The number of descriptors of a ring.
    SetRingSize(usize, u16),
    /// Where the next descriptor of a ring is.
    SetRingBase(usize, u16),
    /// Where a ring lies: descriptors, used ring, available ring.
    SetRingAddresses(usize, [u64; 3]),
    /// Whether a ring is in use.
    EnableRing(usize, bool),
    /// The device's own channel comes with this message.
    SetDeviceChannel,
    /// Part of the configuration space: offset and bytes.
    GetConfig(u32, u32),
    /// There are new descriptors in a ring.
    Kick(usize),
}

impl Request {
    /// The request with this header and payload, which has the length that the header says.
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

/// The features of the protocol as an answer.
#[must_use]
pub fn protocol_features() -> [u8; 8] {
    PROTOCOL_FEATURES.to_ne_bytes()
}

/// The answer to [`Request::GetConfig`]: the request's payload, with these bytes of the configuration space.
#[must_use]
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

/// The four bytes at this place, which the caller has checked to be there; zeroes otherwise.
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
