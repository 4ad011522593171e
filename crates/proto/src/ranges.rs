//! A set of numbers kept as sorted, disjoint ranges that do not touch: bytes received out of order, bytes acknowledged
//! selectively. Fast at both ends, where almost everything happens; O(log n) with a small constant in between.
//!
//! Inside: a sequence of chunks of at most 32 ranges, none empty.

use std::collections::VecDeque;
use std::ops::Range;

const CHUNK: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: u64,
    end: u64,
}

/// Where a run is: its chunk, and its place in that chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    chunk: usize,
    place: usize,
}

/// The set.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    chunks: VecDeque<Vec<Run>>,
    /// An empty chunk's memory, kept for the next one: the set of a flow that loses now and then empties often.
    spare: Vec<Run>,
    held: u64,
}

impl Ranges {
    /// True when nothing is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// How many numbers are in.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The ranges, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.chunks.iter().flatten().map(|run| run.start..run.end)
    }

    /// The highest range.
    #[must_use]
    pub fn last(&self) -> Option<Range<u64>> {
        self.chunks.back()?.last().map(|run| run.start..run.end)
    }

    /// The range that `number` is in.
    #[must_use]
    pub fn containing(&self, number: u64) -> Option<Range<u64>> {
        let run = self.run(self.find(number.checked_add(1)?))?;
        (run.start <= number).then_some(run.start..run.end)
    }

    /// The first part of `range` that is not in.
    #[must_use]
    pub fn gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        // The first run that ends above the start of the range.
        let mut spot = self.find(range.start + 1);
        let Some(run) = self.run(spot) else { return Some(range) };
        if run.start > range.start {
            return Some(range.start..range.end.min(run.start));
        }
        if run.end >= range.end {
            return None;
        }
        spot = self.after(spot);
        let end = self.run(spot).map_or(range.end, |next| next.start.min(range.end));
        Some(run.end..end)
    }

    /// Puts a range in, which must not be empty. Gives how many of its numbers were not in before, and the range it is
    /// part of now.
    pub fn insert(&mut self, range: Range<u64>) -> (u64, Range<u64>) {
        debug_assert!(!range.is_empty(), "an empty range is part of none");
        let spot = self.find(range.start);
        let fits = |run: &Run| run.start <= range.end;
        let Some(run) = self.run(spot).filter(fits) else {
            let new = range.end - range.start;
            self.held += new;
            self.put(spot, Run { start: range.start, end: range.end });
            return (new, range);
        };
        let (start, mut end) = (run.start.min(range.start), run.end.max(range.end));
        let mut covered = run.end - run.start;
        while let Some(absorbed) = self.run(self.after(spot)).filter(fits) {
            covered += absorbed.end - absorbed.start;
            end = end.max(absorbed.end);
            self.remove(self.after(spot));
        }
        self.chunks[spot.chunk][spot.place] = Run { start, end };
        let new = end - start - covered;
        self.held += new;
        (new, start..end)
    }

    /// Takes out the lowest range, if it starts at `start` or below, and gives its end.
    pub fn take_first(&mut self, start: u64) -> Option<u64> {
        let run = self.run(Spot { chunk: 0, place: 0 }).filter(|run| run.start <= start)?;
        self.remove(Spot { chunk: 0, place: 0 });
        self.held -= run.end - run.start;
        Some(run.end)
    }

    /// Takes out every number below `limit`.
    pub fn trim(&mut self, limit: u64) {
        let first = Spot { chunk: 0, place: 0 };
        while let Some(run) = self.run(first).filter(|run| run.start < limit) {
            if run.end > limit {
                self.held -= limit - run.start;
                self.chunks[0][0].start = limit;
                return;
            }
            self.held -= run.end - run.start;
            self.remove(first);
        }
    }

    /// The first run that ends at `number` or above: past the end if there is none.
    fn find(&self, number: u64) -> Spot {
        let ends_above = |chunk: &Vec<Run>| chunk.last().is_some_and(|run| run.end >= number);
        let chunk = match (self.chunks.front(), self.chunks.back()) {
            (Some(front), _) if ends_above(front) => 0,
            (_, Some(back)) if !ends_above(back) => self.chunks.len(),
            (_, Some(back)) if back.first().is_some_and(|run| run.start < number) => {
                self.chunks.len() - 1
            }
            _ => self.chunks.partition_point(|chunk| !ends_above(chunk)),
        };
        let Some(runs) = self.chunks.get(chunk) else { return Spot { chunk, place: 0 } };
        let place = match runs.as_slice() {
            [first, ..] if first.end >= number => 0,
            [.., below, _] if below.end < number => runs.len() - 1,
            _ => runs.partition_point(|run| run.end < number),
        };
        Spot { chunk, place }
    }

    fn run(&self, spot: Spot) -> Option<Run> {
        self.chunks.get(spot.chunk)?.get(spot.place).copied()
    }

    fn after(&self, spot: Spot) -> Spot {
        if spot.place + 1 < self.chunks[spot.chunk].len() {
            Spot { place: spot.place + 1, ..spot }
        } else {
            Spot { chunk: spot.chunk + 1, place: 0 }
        }
    }

    /// Puts a run in before the one at `spot`.
    fn put(&mut self, spot: Spot, run: Run) {
        if let Some(chunk) = self.chunks.get_mut(spot.chunk) {
            if chunk.len() == CHUNK {
                let upper = chunk.split_off(CHUNK / 2);
                self.chunks.insert(spot.chunk + 1, upper);
            }
            let lower = self.chunks[spot.chunk].len();
            let (chunk, place) = if spot.place <= lower {
                (spot.chunk, spot.place)
            } else {
                (spot.chunk + 1, spot.place - lower)
            };
            return self.chunks[chunk].insert(place, run);
        }
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => last.push(run),
            _ => {
                let mut chunk = std::mem::take(&mut self.spare);
                chunk.push(run);
                self.chunks.push_back(chunk);
            }
        }
    }

    fn remove(&mut self, spot: Spot) {
        let chunk = &mut self.chunks[spot.chunk];
        chunk.remove(spot.place);
        if chunk.is_empty()
            && let Some(chunk) = self.chunks.remove(spot.chunk)
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
    fn ranges_that_touch_become_one() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10..20), (10, 10..20));
        assert_eq!(ranges.insert(30..40), (10, 30..40));
        assert_eq!(ranges.gap(0..50), Some(0..10));
        assert_eq!(ranges.gap(10..50), Some(20..30));
        assert_eq!(ranges.gap(12..18), None);
        assert_eq!(ranges.insert(20..30), (10, 10..40));
        assert_eq!((ranges.last(), ranges.held()), (Some(10..40), 30));
        assert_eq!((ranges.take_first(9), ranges.take_first(10)), (None, Some(40)));
        assert!(ranges.is_empty());
    }

    #[test]
    fn thousands_of_holes_fill_in_any_order() {
        let mut ranges = Ranges::default();
        for hole in 0..10_000 {
            ranges.insert(hole * 2..hole * 2 + 1);
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
        Take(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0u64..2000, 1u64..12).prop_map(|(start, len)| Step::Insert(start, len)),
            1 => (0u64..60).prop_map(Step::Trim),
            1 => (0u64..2000).prop_map(Step::Take),
        ];
        prop::collection::vec(step, 1..600)
    }

    proptest! {
        #[test]
        fn they_agree_with_a_set_of_numbers(steps in steps()) {
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
                    Step::Take(start) => {
                        if let Some(end) = ranges.take_first(start) {
                            prop_assert!(set.first().is_some_and(|&first| first <= start));
                            set.retain(|&n| n >= end);
                        }
                    }
                }
                prop_assert_eq!(ranges.held(), set.len() as u64);
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
