//! What `FlashPass` packets say, and how large that makes them.
//!
//! Wire format assumed for sizes, in bytes at IP: IP header 20; ports 4, kind and count 2, checksum 2, timestamp 8;
//! acknowledgement 4 and newest data number 2; each further timestamp 2 (a number of steps); a block 8. Emulation
//! packets, acknowledgements and credits of up to three timestamps so fit the smallest frame, whose IP packet has 46.
//! So do a probe (position 8) and what answers it or data without a credit (position 8, length 2).

use std::ops::Range;

use shallop_core::{Span, Time};

use crate::wire::frame;

/// Most timestamps in one credit packet.
pub const MOST_TIMES: usize = 6;

/// What an acknowledgement gives as the newest packet before the first has come.
pub const NO_PACKET: u32 = u32::MAX;

/// Headers of a credit up to its acknowledgement.
const FIXED: u64 = 20 + 16 + 6;
const EACH_TIME: u64 = 2;
const EACH_BLOCK: u64 = 8;

/// What a packet says to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Rehearses a data packet.
    Emulation {
        /// When it was sent.
        time: Time,
        /// How long its credit may be held back.
        hold: Span,
    },
    /// Allows one data packet for each time, a waiting time later.
    Credit {
        /// Send times of emulation packets that arrived.
        times: Times,
        /// What data has arrived.
        ack: Ack,
    },
    /// Carries payload.
    Data {
        /// Position of the first byte in the stream.
        offset: u64,
        /// How many bytes.
        length: u16,
        /// The stream ends with this packet.
        last: bool,
        /// Counts data packets as they are sent, repeats included.
        number: u32,
    },
    /// What data has arrived, when no credit can carry it.
    Ack(Ack),
    /// Carries payload before any credit.
    Unscheduled {
        /// Position of the first byte in the stream.
        offset: u64,
        /// How many bytes.
        length: u16,
        /// The stream ends with this packet.
        last: bool,
    },
    /// Follows the last payload that was sent without a credit.
    Probe {
        /// Where that ended.
        upto: u64,
        /// The stream ends there, too.
        last: bool,
    },
    /// What came without a credit.
    Received(Map),
}

const _: () = assert!(size_of::<Head>() <= 48, "heads travel inside packets: keep them small");

impl Head {
    /// Bytes on the wire.
    #[must_use]
    pub fn size(&self) -> u16 {
        match self {
            Self::Emulation { .. } | Self::Probe { .. } => frame(0),
            Self::Received(_) => frame(MAP),
            Self::Credit { times, ack } => frame(ack.size() + times.size()),
            Self::Ack(ack) => frame(ack.size()),
            Self::Data { length, .. } | Self::Unscheduled { length, .. } => {
                crate::wire::data_frame(u64::from(*length))
            }
        }
    }
}

/// A 64-bit number that does not ask for 64-bit alignment, so that heads stay small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Halves(u32, u32);

impl Halves {
    fn of(number: u64) -> Self {
        Self((number >> 32) as u32, number as u32)
    }

    fn number(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.1)
    }
}

/// Frames in a map.
pub const FRAMES: u32 = 64;
/// IP header, ports and the like, the first frame's position and a bit for each frame.
const MAP: u64 = 20 + 16 + 8 + 8;

/// Which of a row of frames have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    start: Halves,
    frames: Halves,
}

impl Map {
    /// The frame that begins at `start` has.
    #[must_use]
    pub fn one(start: u64) -> Self {
        Self { start: Halves::of(start), frames: Halves::of(1) }
    }

    /// No frame, but everything before `upto` has passed: the probe that was sent after it has come.
    #[must_use]
    pub fn none(upto: u64) -> Self {
        Self { start: Halves::of(upto), frames: Halves::of(0) }
    }

    /// The frame so many after the first has arrived as well.
    pub fn set(&mut self, index: u32) {
        debug_assert!(index < FRAMES, "a map has no more frames");
        self.frames = Halves::of(self.frames.number() | 1 << index);
    }

    /// Where the first frame begins.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start.number()
    }

    /// The frames that have arrived, of `payload` bytes each but for one that ends at `end`.
    pub fn frames(&self, payload: u64, end: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let (start, frames) = (self.start(), self.frames.number());
        let set = (0..u64::from(FRAMES)).filter(move |index| frames >> index & 1 == 1);
        set.map(move |index| {
            let at = start.saturating_add(index * payload);
            at..at.saturating_add(payload).min(end)
        })
    }

    /// What was sent before this has passed: it has arrived, or never will.
    #[must_use]
    pub fn upto(&self, payload: u64, end: u64) -> u64 {
        let last = u64::from(FRAMES - self.frames.number().leading_zeros());
        self.start().saturating_add(last * payload).min(end)
    }
}

/// What data has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    upto: Halves,
    newest: u32,
    block: (u32, u32),
}

impl Ack {
    /// Every byte before `upto` has arrived, and those of `block`, which may be empty. The data packet received last
    /// had the number `newest`; [`NO_PACKET`] if none has come.
    #[must_use]
    pub fn new(upto: u64, newest: u32, block: Range<u64>) -> Self {
        let distance = |to: u64| u32::try_from(to.saturating_sub(upto)).unwrap_or(u32::MAX);
        let block =
            if block.start > upto { (distance(block.start), distance(block.end)) } else { (0, 0) };
        Self { upto: Halves::of(upto), newest, block }
    }

    /// Every byte before this one has arrived.
    #[must_use]
    pub fn upto(&self) -> u64 {
        self.upto.number()
    }

    /// Number of the data packet received last.
    #[must_use]
    pub fn newest(&self) -> u32 {
        self.newest
    }

    /// The bytes around that packet, if they are apart from the rest; empty otherwise.
    #[must_use]
    pub fn block(&self) -> Range<u64> {
        let (start, end) = self.block;
        let at = |distance| self.upto().saturating_add(u64::from(distance));
        at(start)..at(end)
    }

    fn size(&self) -> u64 {
        FIXED + if self.block.1 > 0 { EACH_BLOCK } else { 0 }
    }
}

/// The step of send times: each is a whole number of these after the start of the run.
pub const STEP: Span = Span::from_ps(1 << 13);

/// The first send time that is not before `at`.
#[must_use]
pub fn on_step(at: Time) -> Time {
    let steps = at.since_start().as_ps().div_ceil(STEP.as_ps());
    Time::after_start(STEP * steps)
}

/// Send times of emulation packets that arrived, in order: the first, and how many steps later the others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    first: Halves,
    later: [u16; MOST_TIMES - 1],
    count: u8,
}

impl Times {
    /// One time.
    #[must_use]
    pub fn one(first: Time) -> Self {
        let first = Halves::of(first.since_start().as_ps());
        Self { first, later: [0; MOST_TIMES - 1], count: 1 }
    }

    /// Adds a time. False if there is no room, or if it cannot be told as a number of steps after the first.
    pub fn add(&mut self, time: Time) -> bool {
        let distance = time.saturating_since(self.first()).as_ps();
        let whole = distance.is_multiple_of(STEP.as_ps()) && time >= self.first();
        let Ok(steps) = u16::try_from(distance / STEP.as_ps()) else { return false };
        let place = self.later.get_mut(usize::from(self.count) - 1);
        let Some(place) = place.filter(|_| whole) else { return false };
        *place = steps;
        self.count += 1;
        true
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// The times, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = Time> + '_ {
        let later = self.later.iter().take(self.count().saturating_sub(1));
        let rest = later.map(|&steps| self.first().saturating_add(STEP * u64::from(steps)));
        std::iter::once(self.first()).chain(rest)
    }

    fn first(&self) -> Time {
        Time::after_start(Span::from_ps(self.first.number()))
    }

    /// Bytes that the times after the first add.
    fn size(&self) -> u64 {
        EACH_TIME * (u64::from(self.count) - 1)
    }
}

/// Bytes on the wire of a credit with this many timestamps, when no data is missing.
#[must_use]
pub const fn credit_size(times: u64) -> u16 {
    frame(FIXED + EACH_TIME * (times - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> Time {
        Time::after_start(STEP * number)
    }

    #[test]
    fn a_credit_grows_with_its_timestamps() {
        assert_eq!([1, 3, 4, 6].map(credit_size), [84, 84, 86, 90]);
        let mut times = Times::one(step(7));
        for number in 8..12 {
            assert!(times.add(step(number)));
        }
        assert!(times.add(step(9_000)) && !times.add(step(9_001)), "there is room for six");
        let ack = Ack::new(0, NO_PACKET, 0..0);
        assert_eq!(Head::Credit { times, ack }.size(), 90);
        let all: Vec<_> = times.iter().collect();
        assert_eq!(all, [7, 8, 9, 10, 11, 9_000].map(step));
    }

    #[test]
    fn times_out_of_order_off_the_steps_or_far_apart_do_not_fit() {
        let mut times = Times::one(step(100));
        assert!(!times.add(step(99)));
        assert!(!times.add(step(101) + Span::from_ps(1)));
        assert!(!times.add(step(100 + 65_536)), "more than 536 us later");
        assert_eq!(times.count(), 1);
        assert_eq!(on_step(step(5)), step(5));
        assert_eq!(on_step(step(5) + Span::from_ps(1)), step(6));
    }

    #[test]
    fn an_acknowledgement_tells_a_block_by_its_distance() {
        let ack = Ack::new(1 << 40, 3, (1 << 40) + 1460..(1 << 40) + 2920);
        assert_eq!((ack.upto(), ack.newest()), (1 << 40, 3));
        assert_eq!(ack.block(), (1 << 40) + 1460..(1 << 40) + 2920);
        assert!(Ack::new(5, 0, 2..5).block().is_empty());
    }
}
