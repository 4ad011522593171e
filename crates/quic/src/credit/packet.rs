//! The format of emulation packets and credits, which share the UDP port with QUIC (docs/quic-wire.md).
//!
//! All numbers are big-endian. A packet is read in two steps: [`Parsed::parse`] gives the tag, which identifies the
//! connection, and [`Parsed::verify`] authenticates the packet with the key of the connection.

use crate::credit::counters::DropCounters;
use shallop_core::{Span, Time};
use shallop_proto::flashpass::head::{MAX_TIMESTAMPS, TIMESTAMP_STEP};
use siphasher::sip::SipHasher24;
use std::{fmt, ops::Deref};
use thiserror::Error;

/// The most stamps in a credit packet, on the wire and in the simulator.
pub const MAX_STAMPS: usize = MAX_TIMESTAMPS;
/// The length of an emulation packet, bytes of UDP payload. Over IPv4 it makes an Ethernet frame of 64 bytes, the
/// smallest one.
pub const EMULATION_BYTES: usize = credit_bytes(1);
/// The length of the longest packet, a credit with [`MAX_STAMPS`] stamps, bytes of UDP payload.
pub const MAX_BYTES: usize = credit_bytes(MAX_STAMPS);

/// The length of a packet's type and tag, bytes.
const HEAD_BYTES: usize = 3;
/// The length of a stamp (sequence number and time), bytes.
const STAMP_BYTES: usize = 7;
const MAC_BYTES: usize = 8;
/// The length of a time on the wire, bits.
const TIME_BITS: u32 = 40;
/// The number of steps of 8.192 ns after which the time on the wire wraps: 9,007 s.
const WRAP: u64 = 1 << TIME_BITS;
/// The step in which the last [`Time`] lies.
const LAST_STEP: u64 = u64::MAX / TIMESTAMP_STEP.as_ps();
/// The longest input of the MAC, bytes. A time takes 8 bytes of it, because its upper bits are authenticated as well.
const MAX_INPUT: usize = HEAD_BYTES + MAX_STAMPS * 10;

/// The length of a credit packet with this number of stamps, bytes of UDP payload.
pub const fn credit_bytes(stamps: usize) -> usize {
    HEAD_BYTES + STAMP_BYTES * stamps + MAC_BYTES
}

/// Whether a UDP payload with this first byte is an emulation packet or a credit (4 to 15) and not QUIC. The first byte
/// of QUIC is 64 to 127 or 192 to 255, as the fixed bit is set (RFC 9443). Endpoints must not let peers clear the bit
/// (RFC 9287).
pub const fn is_ours(first_byte: u8) -> bool {
    matches!(first_byte, 4..=15)
}

/// A time in units of [`TIMESTAMP_STEP`], rounded down.
pub const fn step_of(time: Time) -> u64 {
    time.since_start().as_ps() / TIMESTAMP_STEP.as_ps()
}

/// The time at which a step of 8.192 ns begins, or the last [`Time`].
pub const fn time_of(step: u64) -> Time {
    let step = if step < LAST_STEP { step } else { LAST_STEP };
    Time::after_start(Span::from_ps(step * TIMESTAMP_STEP.as_ps()))
}

/// The time nearest to `reference` whose lower 40 bits, in steps, are `wrapped`. It is at most half of 9,007 s away; of
/// two equally near times it is the later one, and it is never before the start.
pub const fn unwrap_time(wrapped: u64, reference: Time) -> Time {
    let reference = step_of(reference);
    let ahead = wrapped.wrapping_sub(reference) % WRAP;
    let behind = WRAP - ahead;
    if ahead > WRAP / 2 && reference >= behind || reference + ahead > LAST_STEP {
        return time_of(reference - behind);
    }
    time_of(reference + ahead)
}

/// The types of packets that share the UDP port with QUIC, with their first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// An emulation packet, 0x08.
    Emulation,
    /// An emulation packet that switches drop before others, 0x09.
    TaggedEmulation,
    /// A credit, 0x0A.
    Credit,
}

impl PacketKind {
    /// The first byte of a packet of this type.
    pub const fn first_byte(self) -> u8 {
        match self {
            Self::Emulation => 0x08,
            Self::TaggedEmulation => 0x09,
            Self::Credit => 0x0A,
        }
    }

    /// The type that this first byte stands for; `None` for QUIC and unknown types.
    pub const fn from_first_byte(first_byte: u8) -> Option<Self> {
        match first_byte {
            0x08 => Some(Self::Emulation),
            0x09 => Some(Self::TaggedEmulation),
            0x0A => Some(Self::Credit),
            _ => None,
        }
    }
}

/// A key of SipHash-2-4, with which one side authenticates its emulation packets and credits.
#[derive(Clone)]
pub struct MacKey([u8; 16]);

impl MacKey {
    /// `key` is exported from TLS ([`crate::settings::EXPORTER_LABEL`]).
    pub const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    fn mac(&self, kind: PacketKind, tag: u16, stamps: &[Stamp]) -> u64 {
        let mut input = Writer::<MAX_INPUT>::head(kind, tag);
        for stamp in stamps {
            input.put(&stamp.sequence.to_be_bytes());
            input.put(&step_of(stamp.time).to_be_bytes());
        }
        SipHasher24::new_with_key(&self.0).hash(input.written())
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey")
    }
}

/// The sequence number and the send time of an emulation packet, by the clock of its sender. Packets carry the time in
/// whole units of [`TIMESTAMP_STEP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The sequence number, which wraps.
    pub sequence: u16,
    /// When the emulation packet left, by the sender's clock.
    pub time: Time,
}

impl Stamp {
    const NONE: Self = Self { sequence: 0, time: Time::ZERO };
}

/// An emulation packet, the request of a sender for a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// The tag of the connection, which the receiver of the packet has chosen.
    pub tag: u16,
    /// The stamp, which the peer returns in its credit.
    pub stamp: Stamp,
    /// Whether switches drop the packet before others.
    pub tagged: bool,
}

impl Emulation {
    /// Encodes the packet with the key of its sender.
    pub fn encode(&self, key: &MacKey) -> Encoded {
        let kind = if self.tagged { PacketKind::TaggedEmulation } else { PacketKind::Emulation };
        encode(key, kind, self.tag, &[self.stamp])
    }
}

/// A credit: the stamps of 1 to [`MAX_STAMPS`] emulation packets that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The tag of the connection, which the sender of the emulation packets has chosen.
    pub tag: u16,
    stamps: [Stamp; MAX_STAMPS],
    count: u8,
}

impl Credit {
    /// Creates a credit for one emulation packet.
    pub const fn new(tag: u16, first: Stamp) -> Self {
        let mut stamps = [Stamp::NONE; MAX_STAMPS];
        stamps[0] = first;
        Self { tag, stamps, count: 1 }
    }

    /// Adds the stamp of a further emulation packet. Returns false if the credit is full.
    pub fn push(&mut self, stamp: Stamp) -> bool {
        let Some(slot) = self.stamps.get_mut(usize::from(self.count)) else { return false };
        *slot = stamp;
        self.count += 1;
        true
    }

    /// The stamps in the order of [`Credit::push`].
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps[..usize::from(self.count)]
    }

    /// Encodes the packet with the key of its sender.
    pub fn encode(&self, key: &MacKey) -> Encoded {
        encode(key, PacketKind::Credit, self.tag, self.stamps())
    }
}

/// An emulation packet or a credit whose MAC was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// The peer asks for a credit.
    Emulation(Emulation),
    /// The peer answers emulation packets of this side.
    Credit(Credit),
}

impl Packet {
    /// Encodes the packet with the key of its sender.
    pub fn encode(&self, key: &MacKey) -> Encoded {
        match self {
            Self::Emulation(emulation) => emulation.encode(key),
            Self::Credit(credit) => credit.encode(key),
        }
    }
}

fn encode(key: &MacKey, kind: PacketKind, tag: u16, stamps: &[Stamp]) -> Encoded {
    let mut packet = Writer::head(kind, tag);
    for stamp in stamps {
        packet.put(&stamp.sequence.to_be_bytes());
        packet.put(&step_of(stamp.time).to_be_bytes()[3..]);
    }
    packet.put(&key.mac(kind, tag, stamps).to_be_bytes());
    Encoded(packet)
}

/// Why the bytes of a datagram are neither an emulation packet nor a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The first byte, if there is one, is no type.
    #[error("there is no packet whose first byte is {0:?}")]
    Kind(Option<u8>),
    /// The length is wrong for the type, bytes.
    #[error("{0:?} has no packet of {1} bytes")]
    Length(PacketKind, usize),
}

impl From<Malformed> for DropCounters {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::Kind(_) => Self { unknown_kind: 1, ..Self::default() },
            Malformed::Length(..) => Self { wrong_length: 1, ..Self::default() },
        }
    }
}

/// An emulation packet or a credit before its MAC is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The type, as the first byte claims.
    pub kind: PacketKind,
    /// The tag, which identifies the connection.
    pub tag: u16,
    /// The stamps as received: a sequence number, and the lower 40 bits of a time in units of [`TIMESTAMP_STEP`].
    wrapped: [(u16, u64); MAX_STAMPS],
    count: u8,
    mac: u64,
}

impl Parsed {
    /// Parses a packet.
    ///
    /// # Errors
    /// The type is unknown or the length is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let first = bytes.first().copied();
        let kind = first.and_then(PacketKind::from_first_byte).ok_or(Malformed::Kind(first))?;
        let most = if kind == PacketKind::Credit { MAX_STAMPS } else { 1 };
        let count = bytes.len().saturating_sub(HEAD_BYTES + MAC_BYTES) / STAMP_BYTES;
        if !(1..=most).contains(&count) || bytes.len() != credit_bytes(count) {
            return Err(Malformed::Length(kind, bytes.len()));
        }
        let (head, rest) = bytes.split_at(HEAD_BYTES);
        let (stamps, mac) = rest.split_at(STAMP_BYTES * count);
        let mut wrapped = [(0, 0); MAX_STAMPS];
        for (slot, stamp) in wrapped.iter_mut().zip(stamps.chunks_exact(STAMP_BYTES)) {
            let (sequence, time) = stamp.split_at(2);
            *slot = (number(sequence) as u16, number(time));
        }
        let (tag, mac) = (number(&head[1..]) as u16, number(mac));
        Ok(Self { kind, tag, wrapped, count: count as u8, mac })
    }

    /// The stamps as received: sequence numbers, and the lower 40 bits of times in units of [`TIMESTAMP_STEP`].
    pub fn wrapped_stamps(&self) -> &[(u16, u64)] {
        &self.wrapped[..usize::from(self.count)]
    }

    /// Returns the packet if it was authenticated with `key`, the key of its sender. Wrapped times are resolved to the
    /// nearest time to `reference`: for an emulation packet the newest time accepted from its sender ([`Time::ZERO`]
    /// before the first), for a credit this side's clock. A packet more than half a wrap (4,503 s) away is refused.
    pub fn verify(&self, key: &MacKey, reference: Time) -> Option<Packet> {
        let mut stamps = [Stamp::NONE; MAX_STAMPS];
        for (stamp, &(sequence, wrapped)) in stamps.iter_mut().zip(self.wrapped_stamps()) {
            *stamp = Stamp { sequence, time: unwrap_time(wrapped, reference) };
        }
        let count = usize::from(self.count);
        // All 64 bits are compared at once, so the time that it takes does not tell how many of them are right.
        if key.mac(self.kind, self.tag, &stamps[..count]) ^ self.mac != 0 {
            return None;
        }
        Some(match self.kind {
            PacketKind::Credit => Packet::Credit(Credit { tag: self.tag, stamps, count: self.count }),
            kind => {
                let tagged = kind == PacketKind::TaggedEmulation;
                Packet::Emulation(Emulation { tag: self.tag, stamp: stamps[0], tagged })
            }
        })
    }
}

/// Reads a big-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The UDP payload of an emulation packet or a credit.
#[derive(Clone, Copy, Debug)]
pub struct Encoded(Writer<MAX_BYTES>);

impl Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.written()
    }
}

/// A byte buffer of fixed capacity.
#[derive(Clone, Copy, Debug)]
struct Writer<const CAPACITY: usize> {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl<const CAPACITY: usize> Writer<CAPACITY> {
    fn head(kind: PacketKind, tag: u16) -> Self {
        let mut writer = Self { bytes: [0; CAPACITY], length: 0 };
        writer.put(&[kind.first_byte()]);
        writer.put(&tag.to_be_bytes());
        writer
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests;
