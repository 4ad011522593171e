//! Counts of dropped emulation packets and credits.

use serde::Serialize;
use std::{iter::Sum, ops::AddAssign};

/// Dropped emulation packets, credits and stamps of credits, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DropCounters {
    /// Packets of an unknown type.
    pub unknown_kind: u64,
    /// Packets with a wrong length.
    pub wrong_length: u64,
    /// Packets whose tag belongs to no connection.
    pub unknown_tag: u64,
    /// Packets with a wrong MAC.
    pub wrong_mac: u64,
    /// Emulation packets that were accepted before.
    pub emulation_repeated: u64,
    /// Emulation packets outside the replay window.
    pub emulation_behind: u64,
    /// Emulation packets older than the newest one by more than twice the waiting time.
    pub emulation_old: u64,
    /// Stamps in credits that belong to no emulation packet of this side.
    pub stamp_unknown: u64,
    /// Stamps in credits for emulation packets that had a credit before.
    pub stamp_repeated: u64,
    /// Stamps in credits whose emulation packet is older than the waiting time.
    pub stamp_late: u64,
}

impl DropCounters {
    fn counts(&mut self) -> [&mut u64; 10] {
        [
            &mut self.unknown_kind, &mut self.wrong_length, &mut self.unknown_tag, &mut self.wrong_mac,
            &mut self.emulation_repeated, &mut self.emulation_behind, &mut self.emulation_old, &mut self.stamp_unknown,
            &mut self.stamp_repeated, &mut self.stamp_late,
        ]
    }

    /// The sum of all counts.
    pub fn total(mut self) -> u64 {
        self.counts().into_iter().map(|count| *count).sum()
    }
}

impl AddAssign for DropCounters {
    fn add_assign(&mut self, mut other: Self) {
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count += *more;
        }
    }
}

impl Sum for DropCounters {
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
    fn sums_and_totals_contain_every_counter() {
        let names = serde_json::to_value(DropCounters::default()).unwrap();
        let names = names.as_object().unwrap();
        let counters = DropCounters {
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
        let twice = serde_json::to_value([counters, counters].into_iter().sum::<DropCounters>()).unwrap();
        let once = serde_json::to_value(counters).unwrap();
        for name in names.keys() {
            assert_eq!(twice[name].as_u64().unwrap(), 2 * once[name].as_u64().unwrap(), "{name}");
        }
    }
}
