//! Emulation and credit packets, as they stand in UDP beside QUIC (docs/quic-wire.md).
//!
//! All numbers are big-endian. A packet is read in two steps: [`Parsed::parse`] finds the connection by its tag, and
//! [`Parsed::verify`] tells, with that connection's key, what the packet says.

use std::fmt;
use std::ops::Deref;

use shallop_core::{Span, Time};
use shallop_proto::flashpass::head::{MAX_TIMESTAMPS, TIMESTAMP_STEP};
use siphasher::sip::SipHasher24;
use thiserror::Error;

use crate::credit::counters::Counters;

/// The most stamps in a credit, as in the simulator.
pub const MAX_STAMPS: usize = MAX_TIMESTAMPS;
/// Bytes of an emulation packet: the payload of UDP that makes the smallest frame of Ethernet, of 64 bytes, over IPv4.
pub const EMULATION_BYTES: usize = credit_bytes(1);
/// Bytes of the longest packet.
pub const MAX_BYTES: usize = credit_bytes(MAX_STAMPS);

/// Bytes of the type and the tag.
const HEAD_BYTES: usize = 3;
/// Bytes of a sequence number and a time.
const STAMP_BYTES: usize = 7;
const MAC_BYTES: usize = 8;
/// Bits of a time on the wire.
const TIME_BITS: u32 = 40;
/// Steps after which the time on the wire is zero again: 9,007 s.
const WRAP: u64 = 1 << TIME_BITS;
/// The last step that a [`Time`] can be at.
const LAST_STEP: u64 = u64::MAX / TIMESTAMP_STEP.as_ps();
/// Bytes that the MAC of the longest packet is taken of: its times have 8 bytes there.
const MAX_INPUT: usize = HEAD_BYTES + MAX_STAMPS * 10;

/// Bytes of a credit with so many stamps.
#[must_use]
pub const fn credit_bytes(stamps: usize) -> usize {
    HEAD_BYTES + STAMP_BYTES * stamps + MAC_BYTES
}

/// Whether a payload of UDP that begins with this byte is one of ours: 4 to 15. QUIC begins with 64 to 127 or with 192
/// to 255, as long as its fixed bit is set (RFC 9443; RFC 9287 lets peers clear it, which has to be off).
#[must_use]
pub const fn is_ours(first_byte: u8) -> bool {
    matches!(first_byte, 4..=15)
}

/// The step of [`TIMESTAMP_STEP`] that a time is in.
#[must_use]
pub const fn step_of(time: Time) -> u64 {
    time.since_start().as_ps() / TIMESTAMP_STEP.as_ps()
}

/// The time at which a step begins, or the last one that there is.
#[must_use]
pub const fn time_of(step: u64) -> Time {
    let step = if step < LAST_STEP { step } else { LAST_STEP };
    Time::after_start(Span::from_ps(step * TIMESTAMP_STEP.as_ps()))
}

/// The time nearest to `reference` whose lower 40 bits, in steps, are `wrapped`: no more than half of 9,007 s away. The
/// later one of two that are as near; never one before the start.
#[must_use]
pub const fn unwrap_time(wrapped: u64, reference: Time) -> Time {
    let reference = step_of(reference);
    let ahead = wrapped.wrapping_sub(reference) % WRAP;
    let behind = WRAP - ahead;
    if ahead > WRAP / 2 && reference >= behind || reference + ahead > LAST_STEP {
        return time_of(reference - behind);
    }
    time_of(reference + ahead)
}

/// What a packet is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// An emulation packet, 0x08.
    Emulation,
    /// An emulation packet that switches drop rather than others, 0x09.
    TaggedEmulation,
    /// A credit, 0x0A.
    Credit,
}

impl PacketKind {
    /// The first byte of such a packet.
    #[must_use]
    pub const fn first_byte(self) -> u8 {
        match self {
            Self::Emulation => 0x08,
            Self::TaggedEmulation => 0x09,
            Self::Credit => 0x0A,
        }
    }

    /// What begins with this byte.
    #[must_use]
    pub const fn of(first_byte: u8) -> Option<Self> {
        match first_byte {
            0x08 => Some(Self::Emulation),
            0x09 => Some(Self::TaggedEmulation),
            0x0A => Some(Self::Credit),
            _ => None,
        }
    }
}

/// What the sending side of a packet authenticates it with: a key of SipHash-2-4.
#[derive(Clone)]
pub struct MacKey([u8; 16]);

impl MacKey {
    /// A key, which TLS exports ([`crate::settings::EXPORTER_LABEL`]).
    #[must_use]
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

/// The number and the send time of an emulation packet. The time is of the clock of the side that sent it, a whole
/// number of [`TIMESTAMP_STEP`]; what is left over is cut off when a packet is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The number, which wraps.
    pub sequence: u16,
    /// The send time.
    pub time: Time,
}

impl Stamp {
    const NONE: Self = Self { sequence: 0, time: Time::ZERO };
}

/// An emulation packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// The connection, by the number that its receiver has chosen.
    pub tag: u16,
    /// The number of the packet, which wraps.
    pub sequence: u16,
    /// The send time, as in [`Stamp`].
    pub time: Time,
    /// Whether switches are to drop it rather than others.
    pub tagged: bool,
}

impl Emulation {
    /// Its number and time.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        Stamp { sequence: self.sequence, time: self.time }
    }

    /// The packet, with the key of the side that sends it.
    #[must_use]
    pub fn encode(&self, key: &MacKey) -> Encoded {
        let kind = if self.tagged { PacketKind::TaggedEmulation } else { PacketKind::Emulation };
        encode(key, kind, self.tag, &[self.stamp()])
    }
}

/// A credit: the stamps of emulation packets that arrived, from 1 to [`MAX_STAMPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The connection, by the number that its receiver has chosen: the sender of the emulation packets.
    pub tag: u16,
    stamps: [Stamp; MAX_STAMPS],
    count: u8,
}

impl Credit {
    /// A credit with one stamp.
    #[must_use]
    pub const fn new(tag: u16, first: Stamp) -> Self {
        let mut stamps = [Stamp::NONE; MAX_STAMPS];
        stamps[0] = first;
        Self { tag, stamps, count: 1 }
    }

    /// Adds a stamp. False if there is no room.
    pub fn push(&mut self, stamp: Stamp) -> bool {
        let Some(slot) = self.stamps.get_mut(usize::from(self.count)) else { return false };
        *slot = stamp;
        self.count += 1;
        true
    }

    /// The stamps, in the order in which they were added.
    #[must_use]
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps[..usize::from(self.count)]
    }

    /// The packet, with the key of the side that sends it.
    #[must_use]
    pub fn encode(&self, key: &MacKey) -> Encoded {
        encode(key, PacketKind::Credit, self.tag, self.stamps())
    }
}

/// A packet whose MAC was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// An emulation packet.
    Emulation(Emulation),
    /// A credit.
    Credit(Credit),
}

impl Packet {
    /// The packet, with the key of the side that sends it.
    #[must_use]
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

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// No type begins with this byte; none if there is no byte.
    #[error("there is no packet whose first byte is {0:?}")]
    Kind(Option<u8>),
    /// The type has no packet of this length.
    #[error("{0:?} has no packet of {1} bytes")]
    Length(PacketKind, usize),
}

impl From<Malformed> for Counters {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::Kind(_) => Self { unknown_kind: 1, ..Self::default() },
            Malformed::Length(..) => Self { wrong_length: 1, ..Self::default() },
        }
    }
}

/// A packet as it stands on the wire, of which nothing is known to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    kind: PacketKind,
    tag: u16,
    wrapped: [(u16, u64); MAX_STAMPS],
    count: u8,
    mac: u64,
}

impl Parsed {
    /// Reads a packet.
    ///
    /// # Errors
    /// If the type or the length is none of ours.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let first = bytes.first().copied();
        let kind = first.and_then(PacketKind::of).ok_or(Malformed::Kind(first))?;
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

    /// What it says it is.
    #[must_use]
    pub const fn kind(&self) -> PacketKind {
        self.kind
    }

    /// The number of the connection, which its receiver has chosen.
    #[must_use]
    pub const fn tag(&self) -> u16 {
        self.tag
    }

    /// The sequence numbers, with the lower 40 bits of the times in steps.
    #[must_use]
    pub fn wrapped_stamps(&self) -> &[(u16, u64)] {
        &self.wrapped[..usize::from(self.count)]
    }

    /// The packet, if its MAC is that of the key of the side that sent it. Each time is the one nearest to `reference`:
    /// for an emulation packet the newest time accepted from its sender ([`Time::ZERO`] before the first), for a credit
    /// the own clock. A packet that is further away than half a wrap, 4,503 s, is not verified.
    #[must_use]
    pub fn verify(&self, key: &MacKey, reference: Time) -> Option<Packet> {
        let mut stamps = [Stamp::NONE; MAX_STAMPS];
        for (stamp, &(sequence, wrapped)) in stamps.iter_mut().zip(self.wrapped_stamps()) {
            *stamp = Stamp { sequence, time: unwrap_time(wrapped, reference) };
        }
        let count = usize::from(self.count);
        // All 64 bits at once: how long it takes does not tell how many of them are right.
        if key.mac(self.kind, self.tag, &stamps[..count]) ^ self.mac != 0 {
            return None;
        }
        let Stamp { sequence, time } = stamps[0];
        Some(match self.kind {
            PacketKind::Credit => {
                Packet::Credit(Credit { tag: self.tag, stamps, count: self.count })
            }
            kind => {
                let tagged = kind == PacketKind::TaggedEmulation;
                Packet::Emulation(Emulation { tag: self.tag, sequence, time, tagged })
            }
        })
    }
}

/// A number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Encoded(Writer<MAX_BYTES>);

impl Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.written()
    }
}

impl AsRef<[u8]> for Encoded {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Bytes that are put one after the other into a space that has room for the most there are.
#[derive(Clone, Copy, Debug)]
struct Writer<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: usize,
}

impl<const ROOM: usize> Writer<ROOM> {
    fn head(kind: PacketKind, tag: u16) -> Self {
        let mut writer = Self { bytes: [0; ROOM], length: 0 };
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
