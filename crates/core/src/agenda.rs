//! Deadlines in order. Each actor has at most one, set anew or cleared at will; the cost of an operation does not grow
//! with the number of actors.
//!
//! The tie rule, part of the model: deadlines at one instant come in ascending order of their actors' numbers, whatever
//! the order they were set in.
//!
//! Inside: a timing wheel of 256-slot levels; the slot at the cursor is kept sorted. An actor's deadline is what it
//! wants; an entry in a slot is when to look what that is. A deadline that moves later leaves its entry where it is,
//! and one that is taken away or moves earlier leaves it behind, so nothing is ever searched for. Units: ticks,
//! grouped 2^19 (524 ns) to a slot of the lowest level.

use crate::units::{Span, Time};

/// Whoever has a deadline: a number, given by the driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Actor(pub u32);

const GRAIN: u32 = 19;
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = (64 - GRAIN).div_ceil(SLOT_BITS) as usize;
const NEVER: u64 = u64::MAX;
/// So few entries are sorted by hand.
const FEW: usize = 12;

/// What an actor wants, and its entries that matter.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// Its deadline.
    wanted: u64,
    /// Its earliest entry: never after `wanted`.
    soon: u64,
    /// An entry that `soon` came before; it will do again when that one is past.
    late: u64,
}

const NONE: Wish = Wish { wanted: NEVER, soon: NEVER, late: NEVER };

/// When to look at whom: the ticks above, the actor's number below, so that entries compare as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    #[inline]
    const fn new(at: u64, actor: u32) -> Self {
        Self((at as u128) << 32 | actor as u128)
    }

    #[inline]
    const fn at(self) -> u64 {
        (self.0 >> 32) as u64
    }

    #[inline]
    const fn actor(self) -> u32 {
        self.0 as u32
    }
}

/// The deadlines of a driver.
#[derive(Clone, Debug)]
pub struct Agenda {
    wishes: Vec<Wish>,
    /// Entries by slot: level * 256 + index.
    slots: Vec<Vec<Entry>>,
    /// Which slots have entries.
    used: [u64; LEVELS * SLOTS / 64],
    /// The slot of the lowest level that has been reached, counted from the start of time.
    cursor: u64,
    /// All entries at or before the cursor's slot, the earliest last.
    due: Vec<Entry>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            wishes: Vec::new(),
            slots: vec![Vec::new(); LEVELS * SLOTS],
            used: [0; LEVELS * SLOTS / 64],
            cursor: 0,
            due: Vec::new(),
        }
    }
}

impl Agenda {
    /// The deadline of this actor, if it has one.
    #[must_use]
    pub fn deadline(&self, actor: Actor) -> Option<Time> {
        let wanted = self.wishes.get(actor.0 as usize)?.wanted;
        (wanted != NEVER).then(|| from_ticks(wanted))
    }

    /// Gives this actor a deadline, or with `None` takes it away. [`Time::LAST`] is never due, so it takes it away too.
    #[inline]
    pub fn set(&mut self, actor: Actor, at: Option<Time>) {
        let at = at.map_or(NEVER, Time::ticks);
        let Some(wish) = self.wishes.get_mut(actor.0 as usize) else {
            return self.set_first(actor, at);
        };
        wish.wanted = at;
        if at < wish.soon {
            wish.late = wish.late.min(wish.soon);
            wish.soon = at;
            self.insert(Entry::new(at, actor.0));
        }
    }

    /// True when nobody has a deadline.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wishes.iter().all(|wish| wish.wanted == NEVER)
    }

    /// The earliest deadline that is not after `end`, with its actor, which has none from now on.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Actor)> {
        loop {
            if self.due.is_empty() && !self.advance() {
                return None;
            }
            let next = *self.due.last()?;
            let (at, actor) = (next.at(), next.actor());
            if at > end.ticks() {
                return None;
            }
            self.due.pop();
            let wish = &mut self.wishes[actor as usize];
            if wish.soon == at {
                (wish.soon, wish.late) = (wish.late, NEVER);
            } else if wish.late == at {
                wish.late = NEVER;
            }
            if wish.wanted == at {
                wish.wanted = NEVER;
                return Some((from_ticks(at), Actor(actor)));
            }
            let wanted = wish.wanted;
            if wanted < wish.soon {
                (wish.soon, wish.late) = (wanted, wish.soon);
                self.insert(Entry::new(wanted, actor));
            }
        }
    }

    /// The first deadline an actor ever has.
    #[cold]
    fn set_first(&mut self, actor: Actor, at: u64) {
        if at != NEVER {
            self.wishes.resize(actor.0 as usize + 1, NONE);
            self.set(actor, Some(from_ticks(at)));
        }
    }

    #[inline]
    fn insert(&mut self, entry: Entry) {
        let slot = entry.at() >> GRAIN;
        if slot <= self.cursor {
            let place = self.due.partition_point(|&other| other > entry);
            return self.due.insert(place, entry);
        }
        let home = home(self.cursor, slot);
        self.used[home / 64] |= 1 << (home % 64);
        self.slots[home].push(entry);
    }

    /// Moves the cursor to the next slot that has entries; false if there is none.
    fn advance(&mut self) -> bool {
        while self.due.is_empty() {
            let next = (0..LEVELS).find_map(|level| {
                let index = (self.cursor >> (level as u32 * SLOT_BITS)) as usize % SLOTS;
                self.above(level, index).map(|slot| (level, slot))
            });
            let Some((level, slot)) = next else { return false };
            let shift = level as u32 * SLOT_BITS;
            let outer = (self.cursor >> shift) & !(SLOTS as u64 - 1);
            self.cursor = (outer | slot as u64) << shift;
            let home = level * SLOTS + slot;
            self.used[home / 64] &= !(1 << (home % 64));
            if level == 0 {
                std::mem::swap(&mut self.due, &mut self.slots[home]);
                sort(&mut self.due);
            } else {
                let mut entries = std::mem::take(&mut self.slots[home]);
                for entry in entries.drain(..) {
                    self.insert(entry);
                }
                // Its memory serves again.
                self.slots[home] = entries;
            }
        }
        true
    }

    /// The lowest used slot of a level above this index.
    fn above(&self, level: usize, index: usize) -> Option<usize> {
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

/// Sorts entries, the latest first. What a slot holds is mostly a few.
fn sort(due: &mut [Entry]) {
    if due.len() > FEW {
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

/// The list for a slot after the cursor: its level is the highest byte in which they differ.
const fn home(cursor: u64, slot: u64) -> usize {
    let level = (slot ^ cursor).ilog2() / SLOT_BITS;
    let index = (slot >> (level * SLOT_BITS)) % SLOTS as u64;
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
        let mut agenda = Agenda::default();
        for actor in [3, 1, 2, 0] {
            agenda.set(Actor(actor), Some(at(5_000_000)));
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop_until(Time::LAST)).collect();
        assert_eq!(order, [0, 1, 2, 3].map(|a| (at(5_000_000), Actor(a))));
    }

    #[test]
    fn nothing_after_the_end_is_popped_and_earlier_deadlines_may_still_be_set() {
        let mut agenda = Agenda::default();
        agenda.set(Actor(0), Some(at(1 << 40)));
        assert_eq!(agenda.pop_until(at(1 << 39)), None);
        agenda.set(Actor(1), Some(at(1 << 30)));
        assert_eq!(agenda.pop_until(Time::LAST), Some((at(1 << 30), Actor(1))));
        assert_eq!(agenda.pop_until(Time::LAST), Some((at(1 << 40), Actor(0))));
        assert_eq!(agenda.deadline(Actor(0)), None);
    }

    /// What a test does to the agenda and to a sorted map beside it.
    #[derive(Clone, Debug)]
    enum Step {
        Set(u32, u32, u64),
        Clear(u32),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0u32..40, 0u32..50, 0u64..u64::from(u16::MAX))
                .prop_map(|(a, s, v)| Step::Set(a, s, v)),
            (0u32..40).prop_map(Step::Clear),
            Just(Step::Pop),
            Just(Step::Pop),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_map(steps in steps()) {
            let (mut agenda, mut map, mut now) = (Agenda::default(), BTreeMap::new(), 0u64);
            for step in steps {
                match step {
                    Step::Set(actor, shift, value) => {
                        let due = now.saturating_add(value << (shift % 47)).min(u64::MAX - 1);
                        agenda.set(Actor(actor), Some(at(due)));
                        map.insert(actor, due);
                    }
                    Step::Clear(actor) => {
                        agenda.set(Actor(actor), None);
                        map.remove(&actor);
                    }
                    Step::Pop => {
                        let first = map.iter().map(|(&actor, &due)| (due, actor)).min();
                        let popped = agenda.pop_until(Time::LAST);
                        prop_assert_eq!(popped, first.map(|(due, a)| (at(due), Actor(a))));
                        if let Some((due, actor)) = first {
                            now = due;
                            map.remove(&actor);
                        }
                    }
                }
                let deadlines: Vec<_> =
                    (0..40).map(|a| agenda.deadline(Actor(a))).collect();
                let expected: Vec<_> = (0..40).map(|a| map.get(&a).copied().map(at)).collect();
                prop_assert_eq!(deadlines, expected);
            }
        }
    }
}
