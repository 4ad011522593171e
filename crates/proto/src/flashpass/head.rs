//! Headers of `FlashPass` packets, and the packet sizes that follow from them.
//!
//! Assumed wire format, in bytes of the IP packet: IP header 20; ports 4, packet type and timestamp count 2, checksum
//! 2, timestamp 8; cumulative acknowledgement 4 and newest data number 2; each further timestamp 2 (a number of steps);
//! a block 8. So emulation packets, acknowledgements and credits of up to three timestamps fit the smallest frame,
//! whose IP packet has 46 bytes. A probe (position 8) fits as well.

use crate::wire::frame;
use shallop_core::{Span, Time};
use std::ops::Range;

/// The most timestamps in one credit packet, and so the most emulation packets that it answers.
pub const MAX_TIMESTAMPS: usize = 6;

/// The value of [`Ack::newest`] before any data packet has arrived.
pub const NO_PACKET: u32 = u32::MAX;

/// Bytes of a credit's headers, without timestamps after the first and without a block.
const CREDIT_HEADERS: u64 = 20 + 16 + 6;
const TIMESTAMP_BYTES: u64 = 2;
const BLOCK_BYTES: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// From the sender: an emulation packet, which asks for a credit for one data packet.
    Emulation {
        time: Time,
        /// How long the receiver may delay the credit, to send several credits in one packet.
        max_credit_delay: Span,
    },
    /// From the receiver: a credit packet. Each timestamp allows one data packet, which leaves one waiting time after
    /// it.
    Credit {
        /// Send times of the emulation packets that this credit packet answers.
        timestamps: Timestamps,
        ack: Ack,
    },
    Data {
        /// Offset in the stream of the first payload byte.
        offset: u64,
        length: u16,
        /// Whether the stream ends with this packet.
        last: bool,
        /// Number of the packet: how many data packets were sent before it, retransmissions included.
        number: u32,
    },
    /// From the receiver: the data that has arrived. It is sent only if no credit can carry it.
    Ack(Ack),
    /// From the sender: payload that is sent before the first credit (Aeolus).
    Unscheduled {
        /// Offset in the stream of the first payload byte.
        offset: u64,
        length: u16,
        /// Whether the stream ends with this packet.
        last: bool,
    },
    /// From the sender: the probe packet behind the last unscheduled packet (Aeolus).
    Probe {
        /// Offset of the end of the unscheduled data.
        upto: u64,
        /// Whether the stream ends at `upto`.
        last: bool,
    },
    /// From the receiver: the unscheduled data that has arrived (Aeolus).
    UnscheduledAck(AckBitmap),
}

const _: () = assert!(size_of::<Head>() <= 48, "heads travel inside packets: keep them small");

impl Head {
    pub fn size(&self) -> u16 {
        match self {
            Self::Emulation { .. } | Self::Probe { .. } => frame(0),
            Self::UnscheduledAck(_) => frame(BITMAP_BYTES),
            Self::Credit { timestamps, ack } => frame(ack.size() + timestamps.size()),
            Self::Ack(ack) => frame(ack.size()),
            Self::Data { length, .. } | Self::Unscheduled { length, .. } => crate::wire::data_frame(u64::from(*length)),
        }
    }
}

/// A `u64` with the alignment of a `u32`, so that headers are smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PackedU64(u32, u32);

impl PackedU64 {
    fn new(value: u64) -> Self {
        Self((value >> 32) as u32, value as u32)
    }

    fn get(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.1)
    }
}

/// The number of frames in an [`AckBitmap`].
pub const BITMAP_FRAMES: u32 = 64;
/// Size of the IP packet with a bitmap: IP header, transport header, offset of the first frame, and one bit for each
/// frame.
const BITMAP_BYTES: u64 = 20 + 16 + 8 + 8;

/// An acknowledgement that tells which of 64 consecutive unscheduled frames have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckBitmap {
    start: PackedU64,
    frames: PackedU64,
}

impl AckBitmap {
    /// Makes a bitmap that acknowledges the frame at offset `start`.
    pub fn of_frame(start: u64) -> Self {
        Self { start: PackedU64::new(start), frames: PackedU64::new(1) }
    }

    /// Makes a bitmap that acknowledges no frame but the probe, which was sent behind all unscheduled data before
    /// `upto`.
    pub fn of_probe(upto: u64) -> Self {
        Self { start: PackedU64::new(upto), frames: PackedU64::new(0) }
    }

    /// Acknowledges one more frame. `index` counts from the first frame of the bitmap.
    pub fn set(&mut self, index: u32) {
        debug_assert!(index < BITMAP_FRAMES, "a bitmap has no more frames");
        self.frames = PackedU64::new(self.frames.get() | 1 << index);
    }

    pub fn start(&self) -> u64 {
        self.start.get()
    }

    /// The acknowledged frames as ranges of the stream. A frame has `payload` bytes, or fewer if it ends at `end`.
    pub fn frames(&self, payload: u64, end: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let (start, frames) = (self.start(), self.frames.get());
        let set = (0..u64::from(BITMAP_FRAMES)).filter(move |index| frames >> index & 1 == 1);
        set.map(move |index| {
            let at = start.saturating_add(index * payload);
            at..at.saturating_add(payload).min(end)
        })
    }

    /// Offset of the end of the last acknowledged frame. Unscheduled data before it has arrived or is lost.
    pub fn upto(&self, payload: u64, end: u64) -> u64 {
        let last = u64::from(BITMAP_FRAMES - self.frames.get().leading_zeros());
        self.start().saturating_add(last * payload).min(end)
    }
}

/// An acknowledgement of data: all bytes up to an offset, and one block after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    cumulative: PackedU64,
    newest: u32,
    block: (u32, u32),
}

impl Ack {
    /// Acknowledges every byte before `cumulative` and the bytes of `block`, which may be empty. `newest` is the number
    /// of the data packet that arrived last, or [`NO_PACKET`].
    pub fn new(cumulative: u64, newest: u32, block: Range<u64>) -> Self {
        let distance = |to: u64| u32::try_from(to.saturating_sub(cumulative)).unwrap_or(u32::MAX);
        let is_above = block.start > cumulative;
        let block = if is_above { (distance(block.start), distance(block.end)) } else { (0, 0) };
        Self { cumulative: PackedU64::new(cumulative), newest, block }
    }

    /// Offset before which every byte has arrived.
    pub fn cumulative(&self) -> u64 {
        self.cumulative.get()
    }

    pub fn newest(&self) -> u32 {
        self.newest
    }

    /// The contiguous bytes around the newest data packet, if they lie after the cumulative acknowledgement; otherwise
    /// empty.
    pub fn block(&self) -> Range<u64> {
        let (start, end) = self.block;
        let at = |distance| self.cumulative().saturating_add(u64::from(distance));
        at(start)..at(end)
    }

    fn size(&self) -> u64 {
        CREDIT_HEADERS + if self.block.1 > 0 { BLOCK_BYTES } else { 0 }
    }
}

/// Granularity of send times: they are whole steps after the start of the run.
pub const TIMESTAMP_STEP: Span = Span::from_ps(1 << 13);

/// The first time at or after `at` that is a whole step.
pub fn round_up_to_step(at: Time) -> Time {
    let steps = at.since_start().as_ps().div_ceil(TIMESTAMP_STEP.as_ps());
    Time::after_start(TIMESTAMP_STEP * steps)
}

/// Send times of emulation packets in ascending order. The first is stored in full, the others as distances from it in
/// steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    first: PackedU64,
    later: [u16; MAX_TIMESTAMPS - 1],
    count: u8,
}

impl Timestamps {
    pub fn one(first: Time) -> Self {
        let first = PackedU64::new(first.since_start().as_ps());
        Self { first, later: [0; MAX_TIMESTAMPS - 1], count: 1 }
    }

    /// Adds a timestamp. Returns false if there is no room, or if its distance from the first is not a whole number of
    /// steps below 2^16.
    pub fn add(&mut self, time: Time) -> bool {
        let distance = time.saturating_since(self.first()).as_ps();
        let whole = distance.is_multiple_of(TIMESTAMP_STEP.as_ps()) && time >= self.first();
        let Ok(steps) = u16::try_from(distance / TIMESTAMP_STEP.as_ps()) else { return false };
        let slot = self.later.get_mut(usize::from(self.count) - 1);
        let Some(slot) = slot.filter(|_| whole) else { return false };
        *slot = steps;
        self.count += 1;
        true
    }

    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    pub fn iter(&self) -> impl Iterator<Item = Time> + '_ {
        let later = self.later.iter().take(self.count().saturating_sub(1));
        let rest = later.map(|&steps| self.first().saturating_add(TIMESTAMP_STEP * u64::from(steps)));
        std::iter::once(self.first()).chain(rest)
    }

    fn first(&self) -> Time {
        Time::after_start(Span::from_ps(self.first.get()))
    }

    /// Bytes on the wire of all timestamps except the first.
    fn size(&self) -> u64 {
        TIMESTAMP_BYTES * (u64::from(self.count) - 1)
    }
}

/// Size on the wire of a credit packet with this many timestamps and no block.
pub const fn credit_size(timestamps: u64) -> u16 {
    frame(CREDIT_HEADERS + TIMESTAMP_BYTES * (timestamps - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> Time {
        Time::after_start(TIMESTAMP_STEP * number)
    }

    #[test]
    fn a_credit_grows_with_its_timestamps() {
        assert_eq!([1, 3, 4, 6].map(credit_size), [84, 84, 86, 90]);
        let mut timestamps = Timestamps::one(step(7));
        for number in 8..12 {
            assert!(timestamps.add(step(number)));
        }
        assert!(timestamps.add(step(9_000)) && !timestamps.add(step(9_001)), "there is room for six");
        let ack = Ack::new(0, NO_PACKET, 0..0);
        assert_eq!(Head::Credit { timestamps, ack }.size(), 90);
        let all: Vec<_> = timestamps.iter().collect();
        assert_eq!(all, [7, 8, 9, 10, 11, 9_000].map(step));
    }

    #[test]
    fn timestamps_out_of_order_between_steps_or_far_apart_do_not_fit() {
        let mut timestamps = Timestamps::one(step(100));
        assert!(!timestamps.add(step(99)));
        assert!(!timestamps.add(step(101) + Span::from_ps(1)));
        assert!(!timestamps.add(step(100 + 65_536)), "more than 536 us later");
        assert_eq!(timestamps.count(), 1);
        assert_eq!(round_up_to_step(step(5)), step(5));
        assert_eq!(round_up_to_step(step(5) + Span::from_ps(1)), step(6));
    }

    #[test]
    fn an_acknowledgement_encodes_a_block_by_its_distance() {
        let ack = Ack::new(1 << 40, 3, (1 << 40) + 1460..(1 << 40) + 2920);
        assert_eq!((ack.cumulative(), ack.newest()), (1 << 40, 3));
        assert_eq!(ack.block(), (1 << 40) + 1460..(1 << 40) + 2920);
        assert!(Ack::new(5, 0, 2..5).block().is_empty());
    }
}
