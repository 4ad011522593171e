//! What `FlashPass` packets say, and how large that makes them.
//!
//! Wire format assumed for sizes, in bytes at IP: IP header 20; ports 4, kind and count 2, checksum 2, timestamp 8;
//! acknowledgement 4 and newest data number 2; each further timestamp 4 (a distance in picoseconds); each block 8.
//! Emulation packets, acknowledgements and credits of two timestamps so fit the smallest frame, whose IP packet has 46.

use shallop_core::{Span, Time};

use crate::wire::frame;

/// Most timestamps in one credit packet.
pub const MOST_TIMES: usize = 6;

/// Headers of a credit up to its acknowledgement.
const FIXED: u64 = 20 + 16 + 6;
const EACH_TIME: u64 = 4;
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
}

const _: () =
    assert!(size_of::<Head>() <= 64, "heads are copied into and out of the driver's arena");

impl Head {
    /// Bytes on the wire.
    #[must_use]
    pub fn size(&self) -> u16 {
        match self {
            Self::Emulation { .. } => frame(0),
            Self::Credit { times, ack } => frame(ack.size() + times.size()),
            Self::Ack(ack) => frame(ack.size()),
            Self::Data { length, .. } => crate::wire::data_frame(u64::from(*length)),
        }
    }
}

/// What data has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Every byte before this one.
    pub upto: u64,
    /// Number of the data packet received last; `u32::MAX` before the first.
    pub newest: u32,
    /// The bytes around it, if they are apart from the rest: distance of their start from `upto`, and their length.
    pub block: (u32, u32),
}

impl Ack {
    fn size(&self) -> u64 {
        FIXED + if self.block.1 > 0 { EACH_BLOCK } else { 0 }
    }
}

/// Send times of emulation packets that arrived, in order: the first, and how much later the others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    first: Time,
    later: [u32; MOST_TIMES - 1],
    count: u8,
}

impl Times {
    /// One time.
    #[must_use]
    pub fn one(first: Time) -> Self {
        Self { first, later: [0; MOST_TIMES - 1], count: 1 }
    }

    /// Adds a time, which must not be before the first; false if there is no room or it is too far from the first.
    pub fn add(&mut self, time: Time) -> bool {
        let distance = u32::try_from(time.saturating_since(self.first).as_ps());
        let (Ok(distance), index) = (distance, usize::from(self.count) - 1) else { return false };
        let Some(place) = self.later.get_mut(index).filter(|_| time >= self.first) else {
            return false;
        };
        *place = distance;
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
        let rest = later.map(|&ps| self.first.saturating_add(Span::from_ps(u64::from(ps))));
        std::iter::once(self.first).chain(rest)
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

    #[test]
    fn a_credit_grows_with_its_timestamps() {
        assert_eq!([1, 2, 3, 6].map(credit_size), [84, 84, 88, 100]);
        let mut times = Times::one(Time::after_start(Span::from_us(7)));
        for us in 8..12 {
            assert!(times.add(Time::after_start(Span::from_us(us))));
        }
        assert!(times.add(Time::after_start(Span::from_us(12))) && !times.add(Time::LAST));
        let ack = Ack::default();
        assert_eq!(Head::Credit { times, ack }.size(), 100);
        let times: Vec<_> = times.iter().collect();
        assert_eq!(
            times,
            (7..13).map(|us| Time::after_start(Span::from_us(us))).collect::<Vec<_>>()
        );
    }

    #[test]
    fn times_out_of_order_or_far_apart_do_not_fit() {
        let mut times = Times::one(Time::after_start(Span::from_ms(10)));
        assert!(!times.add(Time::after_start(Span::from_ms(9))));
        assert!(!times.add(Time::after_start(Span::from_ms(15))), "more than 4.29 ms later");
        assert_eq!(times.count(), 1);
    }
}
