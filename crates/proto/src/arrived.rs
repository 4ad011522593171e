//! The bytes of a stream that have arrived (at the receiver) or are acknowledged (at the sender): all bytes before the
//! first missing byte, and ranges after it. Without loss and reordering there are no such ranges, and each operation
//! costs one comparison.

use crate::ranges::Ranges;
use std::ops::Range;

#[derive(Clone, Debug, Default)]
pub struct Arrived {
    next: u64,
    above: Ranges,
}

impl Arrived {
    /// Offset of the first byte that has not arrived (RCV.NXT).
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether any byte after the first missing byte has arrived.
    pub fn has_gap(&self) -> bool {
        !self.above.is_empty()
    }

    /// The number of bytes that have arrived after the first missing byte.
    pub fn out_of_order(&self) -> u64 {
        self.above.count()
    }

    /// Offset of the end of the last byte that has arrived.
    pub fn end(&self) -> u64 {
        self.above.last().map_or(self.next, |range| range.end)
    }

    /// Adds bytes that arrived. Returns how many of them are new, and the contiguous range of arrived bytes that
    /// contains them now.
    pub fn add(&mut self, body: Range<u64>) -> (u64, Range<u64>) {
        if body.end <= self.next || body.is_empty() {
            return (0, 0..self.next);
        }
        if body.start > self.next {
            return self.above.insert(body);
        }
        let before = self.above.count();
        let mut next = body.end;
        while let Some(end) = self.above.take_first(next) {
            next = next.max(end);
        }
        let new = next - self.next - (before - self.above.count());
        self.next = next;
        (new, 0..next)
    }

    /// Whether all bytes of `body` have arrived.
    pub fn covers(&self, body: &Range<u64>) -> bool {
        if body.is_empty() || body.end <= self.next {
            return true;
        }
        if body.start < self.next || self.above.is_empty() {
            return false;
        }
        self.above.containing(body.start).is_some_and(|range| body.end <= range.end)
    }

    /// Frees the memory for ranges if there are none.
    pub fn shrink(&mut self) {
        if self.above.is_empty() {
            self.above = Ranges::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arrived_agrees_with_a_list_of_bytes(
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
                let next = bytes.iter().position(|arrived| !arrived).unwrap();
                let end = bytes.iter().rposition(|&arrived| arrived).map_or(0, |last| last + 1);
                prop_assert_eq!(arrived.next(), next as u64);
                prop_assert_eq!(arrived.end(), end as u64);
                prop_assert_eq!(arrived.has_gap(), end > next);
                let above = bytes[next..].iter().filter(|&&arrived| arrived).count();
                prop_assert_eq!(arrived.out_of_order(), above as u64);
                for body in [0..stop, start..stop + 1, start.saturating_sub(1)..stop] {
                    let all = bytes[body.start as usize..body.end as usize].iter().all(|&b| b);
                    prop_assert_eq!(arrived.covers(&body), all, "{:?}", body);
                }
            }
        }
    }
}
