//! Which bytes of a stream have arrived, or are known to have: all before the first one missing, and ranges beyond it.
//! In a network that keeps order there are none beyond, and nothing costs more than a comparison.

use std::ops::Range;

use crate::ranges::Ranges;

/// The bytes that have arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    next: u64,
    beyond: Ranges,
}

impl Arrived {
    /// The first byte that is missing.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// True if bytes have arrived beyond one that is missing.
    #[must_use]
    pub fn has_hole(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// How many bytes have arrived beyond the first one missing.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond.held()
    }

    /// The end of the last byte that has arrived.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.beyond.last().map_or(self.next, |range| range.end)
    }

    /// These bytes have arrived. Gives how many of them are new, and the range without holes they are part of now.
    pub fn add(&mut self, body: Range<u64>) -> (u64, Range<u64>) {
        if body.end <= self.next || body.is_empty() {
            return (0, 0..self.next);
        }
        if body.start > self.next {
            return self.beyond.insert(body);
        }
        let had = self.beyond.held();
        let mut next = body.end;
        while let Some(end) = self.beyond.take_first(next) {
            next = next.max(end);
        }
        let new = next - self.next - (had - self.beyond.held());
        self.next = next;
        (new, 0..next)
    }

    /// Whether all of these bytes have arrived.
    #[must_use]
    pub fn covers(&self, body: &Range<u64>) -> bool {
        if body.is_empty() || body.end <= self.next {
            return true;
        }
        if body.start < self.next || self.beyond.is_empty() {
            return false;
        }
        self.beyond.containing(body.start).is_some_and(|range| body.end <= range.end)
    }

    /// Gives back the memory of holes, which may outlive them.
    pub fn shrink(&mut self) {
        if self.beyond.is_empty() {
            self.beyond = Ranges::default();
        }
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
                let (stop, mut new) = (start + length, 0);
                for byte in &mut bytes[start as usize..stop as usize] {
                    new += u64::from(!std::mem::replace(byte, true));
                }
                let (added, around) = arrived.add(start..stop);
                prop_assert_eq!(added, new);
                if length > 0 {
                    prop_assert!(around.start <= start && stop <= around.end);
                    prop_assert!(bytes[around.start as usize..around.end as usize].iter().all(|&b| b));
                }
                let next = bytes.iter().position(|come| !come).unwrap();
                let end = bytes.iter().rposition(|&come| come).map_or(0, |last| last + 1);
                prop_assert_eq!(arrived.next(), next as u64);
                prop_assert_eq!(arrived.end(), end as u64);
                prop_assert_eq!(arrived.has_hole(), end > next);
                let beyond = bytes[next..].iter().filter(|&&come| come).count();
                prop_assert_eq!(arrived.beyond(), beyond as u64);
                for body in [0..stop, start..stop + 1, start.saturating_sub(1)..stop] {
                    let all = bytes[body.start as usize..body.end as usize].iter().all(|&b| b);
                    prop_assert_eq!(arrived.covers(&body), all, "{:?}", body);
                }
            }
        }
    }
}
