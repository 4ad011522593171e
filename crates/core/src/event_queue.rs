//! The simulator's queue of deadlines, one for each event target. Setting, clearing and popping a deadline cost the
//! same for any number of event targets.
//!
//! Tie rule, which is part of the model: deadlines at the same instant pop in ascending order of the ranks of their
//! event targets, in whatever order they were set. The rank of a target is its number, unless the driver gives another.
//!
//! Implementation: a hierarchical timing wheel (Varghese and Lauck, 1987) with 256 slots a level; a slot of the lowest
//! level covers 2^19 ticks (524 ns). Entries that the cursor has reached are sorted in `due`. No entry is searched for
//! or removed: an event target whose deadline moves later keeps its old entry, and one whose deadline moves earlier or
//! is cleared leaves the old entry behind. When an entry comes up, it is ignored unless it matches the present deadline
//! of its event target. Units: ticks.

use crate::units::{Span, Time};

/// Number of an object with a deadline: a flow start, a port, a host or an endpoint. The driver assigns the numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventTarget(pub u32);

/// Binary logarithm of the ticks that a slot of the lowest level covers.
const SLOT_TICKS_LOG2: u32 = 19;
/// Binary logarithm of the number of slots in a level of the wheel.
const LEVEL_BITS: u32 = 8;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = (64 - SLOT_TICKS_LOG2).div_ceil(LEVEL_BITS) as usize;
const NEVER: u64 = u64::MAX;
/// Largest number of entries for which insertion sort is faster than the library's sort.
const INSERTION_SORT_MAX: usize = 12;

/// The deadline of one event target, and the times of the target's entries in the wheel.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Deadline in ticks; [`NEVER`] if the target has none.
    deadline: u64,
    /// Time of the target's earliest entry in the wheel, never after `deadline`.
    first_entry: u64,
    /// Time of a later entry in the wheel, which is reused after the earliest one fires.
    later_entry: u64,
}

const CLEARED: Timer = Timer { deadline: NEVER, first_entry: NEVER, later_entry: NEVER };

/// Entry of the timing wheel: the ticks in the high bits, then the rank, then the event target's number. So entries are
/// ordered by time, then rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    #[inline]
    const fn new(at: u64, rank: u32, target: u32) -> Self {
        Self((at as u128) << 64 | (rank as u128) << 32 | target as u128)
    }

    #[inline]
    const fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    const fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    const fn target(self) -> u32 {
        self.0 as u32
    }
}

#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Timer of each event target; the index is the target's number.
    timers: Vec<Timer>,
    /// Entries of each slot of the wheel; the index is level * 256 + position in the level.
    slots: Vec<Vec<Entry>>,
    /// Bitmask of slots that have entries; bit `i` stands for `slots[i]`.
    used: [u64; LEVELS * SLOTS / 64],
    /// Number of the lowest-level slot that has been reached, counted from the start of the run.
    cursor: u64,
    /// Entries at or before the slot of the cursor, sorted with the earliest last.
    due: Vec<Entry>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            timers: Vec::new(),
            slots: vec![Vec::new(); LEVELS * SLOTS],
            used: [0; LEVELS * SLOTS / 64],
            cursor: 0,
            due: Vec::new(),
        }
    }
}

impl EventQueue {
    pub fn deadline(&self, target: EventTarget) -> Option<Time> {
        let deadline = self.timers.get(target.0 as usize)?.deadline;
        (deadline != NEVER).then(|| from_ticks(deadline))
    }

    /// Sets the deadline of an event target; `None` clears it. [`Time::LAST`] is never due, so it clears the deadline
    /// as well.
    #[inline]
    pub fn set(&mut self, target: EventTarget, at: Option<Time>) {
        self.set_ranked(target, target.0, at);
    }

    /// As [`EventQueue::set`], for a target whose rank is not its number. Entries of earlier deadlines keep the rank
    /// that the target had then.
    #[inline]
    pub fn set_ranked(&mut self, target: EventTarget, rank: u32, at: Option<Time>) {
        let at = at.map_or(NEVER, Time::ticks);
        let Some(timer) = self.timers.get_mut(target.0 as usize) else {
            return self.set_first(target, rank, at);
        };
        timer.deadline = at;
        if at < timer.first_entry {
            timer.later_entry = timer.later_entry.min(timer.first_entry);
            timer.first_entry = at;
            self.insert(Entry::new(at, rank, target.0));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.timers.iter().all(|timer| timer.deadline == NEVER)
    }

    pub fn first_deadline(&mut self) -> Option<Time> {
        let (at, target, rank) = self.pop_ranked_until(Time::LAST)?;
        self.set_ranked(target, rank, Some(at));
        Some(at)
    }

    /// Removes the earliest deadline if it is at or before `end`, and returns its time and event target.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, EventTarget)> {
        self.pop_ranked_until(end).map(|(at, target, _)| (at, target))
    }

    /// As [`EventQueue::pop_until`], with the rank by which the deadline was ordered.
    #[inline]
    pub fn pop_ranked_until(&mut self, end: Time) -> Option<(Time, EventTarget, u32)> {
        loop {
            if self.due.is_empty() && !self.advance_cursor() {
                return None;
            }
            let next = *self.due.last()?;
            let (at, target) = (next.at(), next.target());
            if at > end.ticks() {
                return None;
            }
            self.due.pop();
            let timer = &mut self.timers[target as usize];
            if timer.first_entry == at {
                (timer.first_entry, timer.later_entry) = (timer.later_entry, NEVER);
            } else if timer.later_entry == at {
                timer.later_entry = NEVER;
            }
            if timer.deadline == at {
                timer.deadline = NEVER;
                return Some((from_ticks(at), EventTarget(target), next.rank()));
            }
            let deadline = timer.deadline;
            if deadline < timer.first_entry {
                (timer.first_entry, timer.later_entry) = (deadline, timer.first_entry);
                self.insert(Entry::new(deadline, next.rank(), target));
            }
        }
    }

    /// Sets the first deadline of an event target, which has no entries in the wheel yet.
    #[cold]
    fn set_first(&mut self, target: EventTarget, rank: u32, at: u64) {
        if at != NEVER {
            self.timers.resize(target.0 as usize + 1, CLEARED);
            self.set_ranked(target, rank, Some(from_ticks(at)));
        }
    }

    #[inline]
    fn insert(&mut self, entry: Entry) {
        let slot = entry.at() >> SLOT_TICKS_LOG2;
        if slot <= self.cursor {
            let place = self.due.partition_point(|&other| other > entry);
            return self.due.insert(place, entry);
        }
        let index = slot_index(self.cursor, slot);
        self.used[index / 64] |= 1 << (index % 64);
        self.slots[index].push(entry);
    }

    /// Moves the cursor to the next slot that has entries; returns false if there is none.
    fn advance_cursor(&mut self) -> bool {
        while self.due.is_empty() {
            let next = (0..LEVELS).find_map(|level| {
                let index = (self.cursor >> (level as u32 * LEVEL_BITS)) as usize % SLOTS;
                self.next_used(level, index).map(|slot| (level, slot))
            });
            let Some((level, slot)) = next else { return false };
            let shift = level as u32 * LEVEL_BITS;
            let outer = (self.cursor >> shift) & !(SLOTS as u64 - 1);
            self.cursor = (outer | slot as u64) << shift;
            let index = level * SLOTS + slot;
            self.used[index / 64] &= !(1 << (index % 64));
            if level == 0 {
                std::mem::swap(&mut self.due, &mut self.slots[index]);
                sort(&mut self.due);
            } else {
                let mut entries = std::mem::take(&mut self.slots[index]);
                for entry in entries.drain(..) {
                    self.insert(entry);
                }
                // The slot keeps its allocation.
                self.slots[index] = entries;
            }
        }
        true
    }

    /// Index of the first slot with entries after `index` in one level of the wheel.
    fn next_used(&self, level: usize, index: usize) -> Option<usize> {
        let words = &self.used[level * (SLOTS / 64)..][..SLOTS / 64];
        let start = index + 1;
        let mut word = start / 64;
        let mut bits = words.get(word)? & (u64::MAX << (start % 64));
        while bits == 0 {
            word += 1;
            bits = *words.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// Sorts entries, the latest first. Insertion sort for few entries, since most slots hold few.
fn sort(due: &mut [Entry]) {
    if due.len() > INSERTION_SORT_MAX {
        return due.sort_unstable_by(|a, b| b.cmp(a));
    }
    for sorted in 1..due.len() {
        let mut place = sorted;
        while place > 0 && due[place - 1] < due[place] {
            due.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Index in `slots` of a lowest-level slot after the cursor. The level is the highest byte in which `cursor` and `slot`
/// differ.
const fn slot_index(cursor: u64, slot: u64) -> usize {
    let level = (slot ^ cursor).ilog2() / LEVEL_BITS;
    let index = (slot >> (level * LEVEL_BITS)) % SLOTS as u64;
    level as usize * SLOTS + index as usize
}

const fn from_ticks(ticks: u64) -> Time {
    Time::after_start(Span::from_ps(ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn at(ps: u64) -> Time {
        Time::after_start(Span::from_ps(ps))
    }

    #[test]
    fn equal_times_come_in_order_of_actors_whatever_the_order_they_were_set_in() {
        let mut events = EventQueue::default();
        for target in [3, 1, 2, 0] {
            events.set(EventTarget(target), Some(at(5_000_000)));
        }
        let order: Vec<_> = std::iter::from_fn(|| events.pop_until(Time::LAST)).collect();
        assert_eq!(order, [0, 1, 2, 3].map(|a| (at(5_000_000), EventTarget(a))));
    }

    #[test]
    fn nothing_after_the_end_is_popped_and_earlier_deadlines_may_still_be_set() {
        let mut events = EventQueue::default();
        events.set(EventTarget(0), Some(at(1 << 40)));
        assert_eq!(events.pop_until(at(1 << 39)), None);
        events.set(EventTarget(1), Some(at(1 << 30)));
        assert_eq!(events.pop_until(Time::LAST), Some((at(1 << 30), EventTarget(1))));
        assert_eq!(events.pop_until(Time::LAST), Some((at(1 << 40), EventTarget(0))));
        assert_eq!(events.deadline(EventTarget(0)), None);
    }

    /// An operation that the property test applies to the event queue and to a sorted map.
    #[derive(Clone, Debug)]
    enum Step {
        Set(u32, u32, u64),
        Clear(u32),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0u32..40, 0u32..50, 0u64..u64::from(u16::MAX)).prop_map(|(a, s, v)| Step::Set(a, s, v)),
            (0u32..40).prop_map(Step::Clear),
            Just(Step::Pop),
            Just(Step::Pop),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_map(steps in steps()) {
            let (mut events, mut map, mut now) = (EventQueue::default(), BTreeMap::new(), 0u64);
            for step in steps {
                match step {
                    Step::Set(target, shift, value) => {
                        let due = now.saturating_add(value << (shift % 47)).min(u64::MAX - 1);
                        events.set(EventTarget(target), Some(at(due)));
                        map.insert(target, due);
                    }
                    Step::Clear(target) => {
                        events.set(EventTarget(target), None);
                        map.remove(&target);
                    }
                    Step::Pop => {
                        let first = map.iter().map(|(&target, &due)| (due, target)).min();
                        let popped = events.pop_until(Time::LAST);
                        prop_assert_eq!(popped, first.map(|(due, a)| (at(due), EventTarget(a))));
                        if let Some((due, target)) = first {
                            now = due;
                            map.remove(&target);
                        }
                    }
                }
                let deadlines: Vec<_> =
                    (0..40).map(|a| events.deadline(EventTarget(a))).collect();
                let expected: Vec<_> = (0..40).map(|a| map.get(&a).copied().map(at)).collect();
                prop_assert_eq!(deadlines, expected);
            }
        }
    }
}
