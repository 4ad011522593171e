//! Which bytes have come. State: a prefix without holes, and the ranges beyond its first hole, sorted and disjoint, with
//! at least a byte between neighbours. In a network that keeps order there is never one. Units: bytes.

/// More ranges than this are not held: whatever would begin another one has to be sent again.
const MOST_HELD: usize = 1 << 16;

/// Which bytes have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    expected: u64,
    held: Vec<(u64, u64)>,
}

impl Arrived {
    /// The first byte that has not come.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// True if bytes have come beyond one that has not.
    pub(super) fn has_hole(&self) -> bool {
        !self.held.is_empty()
    }

    /// The end of the last byte that has come.
    pub(super) fn end(&self) -> u64 {
        self.held.last().map_or(self.expected, |&(_, stop)| stop)
    }

    /// The bytes from `start` to `stop` came. Gives how many of them are new.
    pub(super) fn add(&mut self, start: u64, stop: u64) -> u64 {
        let start = start.max(self.expected);
        if start >= stop {
            return 0;
        }
        if self.held.is_empty() && start == self.expected {
            self.expected = stop;
            return stop - start;
        }
        let fresh = self.hold(start, stop);
        if self.held.first().is_some_and(|&(first, _)| first == self.expected) {
            self.expected = self.held.remove(0).1;
        }
        fresh
    }

    /// Merges a range with those it overlaps or touches.
    fn hold(&mut self, start: u64, stop: u64) -> u64 {
        let from = self.held.partition_point(|&(_, end)| end < start);
        let to = from + self.held[from..].partition_point(|&(begin, _)| begin <= stop);
        if from == to {
            if self.held.len() == MOST_HELD {
                return 0;
            }
            self.held.insert(from, (start, stop));
            return stop - start;
        }
        let touched = &self.held[from..to];
        let merged = (start.min(touched[0].0), stop.max(touched[touched.len() - 1].1));
        let known: u64 = touched.iter().map(|&(begin, end)| end - begin).sum();
        self.held[from] = merged;
        self.held.drain(from + 1..to);
        merged.1 - merged.0 - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_list_of_bytes(
            ranges in prop::collection::vec((0u64..200, 0u64..30), 1..60),
        ) {
            let (mut arrived, mut bytes) = (Arrived::default(), [false; 256]);
            for (start, length) in ranges {
                let mut fresh = 0;
                for byte in &mut bytes[start as usize..(start + length) as usize] {
                    fresh += u64::from(!std::mem::replace(byte, true));
                }
                prop_assert_eq!(arrived.add(start, start + length), fresh);
                let expected = bytes.iter().position(|come| !come).unwrap();
                let end = bytes.iter().rposition(|&come| come).map_or(0, |last| last + 1);
                prop_assert_eq!(arrived.expected(), expected as u64);
                prop_assert_eq!(arrived.end(), end as u64);
                prop_assert_eq!(arrived.has_hole(), end > expected);
            }
        }
    }
}
