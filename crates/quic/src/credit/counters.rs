//! What was dropped, and why.

use std::iter::Sum;
use std::ops::AddAssign;

use serde::Serialize;

/// Packets of ours, and stamps in credits, that were dropped, by reason. Every part counts its own reasons; the sum of
/// the parts is the connection's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Packets of a type that there is not.
    pub unknown_kind: u64,
    /// Packets of a length that their type has not.
    pub wrong_length: u64,
    /// Packets with a tag of no connection.
    pub unknown_tag: u64,
    /// Packets whose MAC is not that of their connection.
    pub wrong_mac: u64,
    /// Emulation packets that had been accepted before.
    pub emulation_repeated: u64,
    /// Emulation packets too far behind the newest one, in numbers or in the order of their times.
    pub emulation_behind: u64,
    /// Emulation packets too much older than the newest one.
    pub emulation_old: u64,
    /// Stamps of packets that were not sent.
    pub stamp_unknown: u64,
    /// Stamps that had been accepted before.
    pub stamp_repeated: u64,
    /// Stamps of packets that have been forgotten, since they are older than the waiting time.
    pub stamp_late: u64,
}

impl Counters {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        let packets = [self.unknown_kind, self.wrong_length, self.unknown_tag, self.wrong_mac];
        let emulation = [self.emulation_repeated, self.emulation_behind, self.emulation_old];
        let stamps = [self.stamp_unknown, self.stamp_repeated, self.stamp_late];
        packets.iter().chain(&emulation).chain(&stamps).sum()
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.unknown_kind += other.unknown_kind;
        self.wrong_length += other.wrong_length;
        self.unknown_tag += other.unknown_tag;
        self.wrong_mac += other.wrong_mac;
        self.emulation_repeated += other.emulation_repeated;
        self.emulation_behind += other.emulation_behind;
        self.emulation_old += other.emulation_old;
        self.stamp_unknown += other.stamp_unknown;
        self.stamp_repeated += other.stamp_repeated;
        self.stamp_late += other.stamp_late;
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_added_and_is_part_of_the_total() {
        let names = serde_json::to_value(Counters::default()).unwrap();
        let names = names.as_object().unwrap();
        let counters = Counters {
            unknown_kind: 1,
            wrong_length: 2,
            unknown_tag: 4,
            wrong_mac: 8,
            emulation_repeated: 16,
            emulation_behind: 32,
            emulation_old: 64,
            stamp_unknown: 128,
            stamp_repeated: 256,
            stamp_late: 512,
        };
        assert_eq!(counters.total(), (1 << names.len()) - 1);
        let twice =
            serde_json::to_value([counters, counters].into_iter().sum::<Counters>()).unwrap();
        let once = serde_json::to_value(counters).unwrap();
        for name in names.keys() {
            assert_eq!(twice[name].as_u64().unwrap(), 2 * once[name].as_u64().unwrap(), "{name}");
        }
    }
}
