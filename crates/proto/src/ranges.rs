//! A set of numbers, stored as sorted, disjoint ranges that do not touch: bytes that were received out of order or
//! selectively acknowledged. Operations at either end of the set, where almost all are, take constant time; others take
//! O(log n).
//!
//! Implementation: a sequence of non-empty chunks of at most 32 ranges.

use std::{collections::VecDeque, ops::Range};

const CHUNK: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    start: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    chunk: usize,
    index: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Ranges {
    chunks: VecDeque<Vec<Interval>>,
    /// The memory of an emptied chunk, to be used for the next one: at a low loss rate the set is often empty.
    spare: Vec<Interval>,
    count: u64,
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.chunks.iter().flatten().map(|interval| interval.start..interval.end)
    }

    pub fn last(&self) -> Option<Range<u64>> {
        self.chunks.back()?.last().map(|interval| interval.start..interval.end)
    }

    pub fn containing(&self, number: u64) -> Option<Range<u64>> {
        let interval = self.interval(self.find(number.checked_add(1)?))?;
        (interval.start <= number).then_some(interval.start..interval.end)
    }

    /// Returns the first part of `range` that is not in the set; `None` if there is none.
    pub fn gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        // The first interval that ends above the start of the range.
        let mut position = self.find(range.start + 1);
        let Some(interval) = self.interval(position) else { return Some(range) };
        if interval.start > range.start {
            return Some(range.start..range.end.min(interval.start));
        }
        if interval.end >= range.end {
            return None;
        }
        position = self.after(position);
        let end = self.interval(position).map_or(range.end, |next| next.start.min(range.end));
        Some(interval.end..end)
    }

    /// Inserts a range, which must not be empty. Returns how many of its numbers are new, and the stored range that
    /// contains it now.
    pub fn insert(&mut self, range: Range<u64>) -> (u64, Range<u64>) {
        debug_assert!(!range.is_empty(), "no range contains an empty one");
        let position = self.find(range.start);
        let fits = |interval: &Interval| interval.start <= range.end;
        let Some(interval) = self.interval(position).filter(fits) else {
            let new = range.end - range.start;
            self.count += new;
            self.insert_at(position, Interval { start: range.start, end: range.end });
            return (new, range);
        };
        let (start, mut end) = (interval.start.min(range.start), interval.end.max(range.end));
        let mut covered = interval.end - interval.start;
        while let Some(absorbed) = self.interval(self.after(position)).filter(fits) {
            covered += absorbed.end - absorbed.start;
            end = end.max(absorbed.end);
            self.remove(self.after(position));
        }
        self.chunks[position.chunk][position.index] = Interval { start, end };
        let new = end - start - covered;
        self.count += new;
        (new, start..end)
    }

    /// Removes the lowest range of the set if it starts at or before `start`, and returns the end of that range.
    pub fn take_first(&mut self, start: u64) -> Option<u64> {
        let interval = self.interval(Position { chunk: 0, index: 0 }).filter(|interval| interval.start <= start)?;
        self.remove(Position { chunk: 0, index: 0 });
        self.count -= interval.end - interval.start;
        Some(interval.end)
    }

    pub fn trim(&mut self, limit: u64) {
        let first = Position { chunk: 0, index: 0 };
        while let Some(interval) = self.interval(first).filter(|interval| interval.start < limit) {
            if interval.end > limit {
                self.count -= limit - interval.start;
                self.chunks[0][0].start = limit;
                return;
            }
            self.count -= interval.end - interval.start;
            self.remove(first);
        }
    }

    /// Position of the first stored range that ends at or after `number`, or the position after the last range.
    fn find(&self, number: u64) -> Position {
        let ends_above = |chunk: &Vec<Interval>| chunk.last().is_some_and(|interval| interval.end >= number);
        let chunk = match (self.chunks.front(), self.chunks.back()) {
            (Some(front), _) if ends_above(front) => 0,
            (_, Some(back)) if !ends_above(back) => self.chunks.len(),
            (_, Some(back)) if back.first().is_some_and(|interval| interval.start < number) => self.chunks.len() - 1,
            _ => self.chunks.partition_point(|chunk| !ends_above(chunk)),
        };
        let Some(intervals) = self.chunks.get(chunk) else { return Position { chunk, index: 0 } };
        let index = match intervals.as_slice() {
            [first, ..] if first.end >= number => 0,
            [.., below, _] if below.end < number => intervals.len() - 1,
            _ => intervals.partition_point(|interval| interval.end < number),
        };
        Position { chunk, index }
    }

    fn interval(&self, position: Position) -> Option<Interval> {
        self.chunks.get(position.chunk)?.get(position.index).copied()
    }

    fn after(&self, position: Position) -> Position {
        if position.index + 1 < self.chunks[position.chunk].len() {
            Position { index: position.index + 1, ..position }
        } else {
            Position { chunk: position.chunk + 1, index: 0 }
        }
    }

    fn insert_at(&mut self, position: Position, interval: Interval) {
        if let Some(chunk) = self.chunks.get_mut(position.chunk) {
            if chunk.len() == CHUNK {
                let upper = chunk.split_off(CHUNK / 2);
                self.chunks.insert(position.chunk + 1, upper);
            }
            let lower = self.chunks[position.chunk].len();
            let (chunk, index) = if position.index <= lower {
                (position.chunk, position.index)
            } else {
                (position.chunk + 1, position.index - lower)
            };
            return self.chunks[chunk].insert(index, interval);
        }
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => last.push(interval),
            _ => {
                let mut chunk = std::mem::take(&mut self.spare);
                chunk.push(interval);
                self.chunks.push_back(chunk);
            }
        }
    }

    fn remove(&mut self, position: Position) {
        let chunk = &mut self.chunks[position.chunk];
        chunk.remove(position.index);
        if chunk.is_empty()
            && let Some(chunk) = self.chunks.remove(position.chunk)
        {
            self.spare = chunk;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(ranges: &Ranges) -> Vec<Range<u64>> {
        ranges.iter().collect()
    }

    #[test]
    fn ranges_merge_in_any_order_of_insertion() {
        let mut ranges = Ranges::default();
        for number in 0..10_000 {
            ranges.insert(number * 2..number * 2 + 1);
        }
        assert_eq!(ranges.iter().count(), 10_000);
        // Odd numbers, spread by a multiplier coprime to their count.
        for nth in 0..9_999 {
            let odd = nth * 7_001 % 9_999 * 2 + 1;
            assert_eq!(ranges.insert(odd..odd + 1).0, 1);
        }
        assert_eq!((ranges.iter().count(), ranges.last()), (1, Some(0..19_999)));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64, u64),
        Trim(u64),
        TakeFirst(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0u64..2000, 1u64..12).prop_map(|(start, len)| Step::Insert(start, len)),
            1 => (0u64..60).prop_map(Step::Trim),
            1 => (0u64..2000).prop_map(Step::TakeFirst),
        ];
        prop::collection::vec(step, 1..600)
    }

    proptest! {
        #[test]
        fn ranges_agree_with_a_btree_set(steps in steps()) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Insert(start, len) => {
                        let before = set.len();
                        let gap = (start..start + len).find(|n| !set.contains(n));
                        prop_assert_eq!(ranges.gap(start..start + len).map(|g| g.start), gap);
                        set.extend(start..start + len);
                        let (new, range) = ranges.insert(start..start + len);
                        prop_assert_eq!(new, (set.len() - before) as u64);
                        prop_assert_eq!(ranges.containing(start), Some(range));
                    }
                    Step::Trim(limit) => {
                        ranges.trim(limit);
                        set.retain(|&n| n >= limit);
                    }
                    Step::TakeFirst(start) => {
                        if let Some(end) = ranges.take_first(start) {
                            prop_assert!(set.first().is_some_and(|&first| first <= start));
                            set.retain(|&n| n >= end);
                        }
                    }
                }
                prop_assert_eq!(ranges.count(), set.len() as u64);
                let inside = ranges.iter().flatten();
                prop_assert!(inside.eq(set.iter().copied()), "{:?}", all(&ranges));
                let last = set.last().map(|&n| n + 1);
                prop_assert_eq!(ranges.last().map(|r| r.end), last);
                prop_assert_eq!(ranges.containing(500).is_some(), set.contains(&500));
            }
            let apart = all(&ranges).windows(2).all(|pair| pair[0].end < pair[1].start);
            prop_assert!(apart);
        }
    }
}
