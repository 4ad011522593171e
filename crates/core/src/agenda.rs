//! Deadlines in order. Each actor has at most one, set anew or cleared at will; the cost of an operation does not grow
//! with the number of actors.
//!
//! The tie rule, part of the model: deadlines at one instant come in ascending order of their actors' numbers, whatever
//! the order they were set in.
//!
//! Inside: a timing wheel of 256-slot levels, each slot a list threaded through the actors' entries; the slot at the
//! cursor is kept as a short sorted list. Units: ticks, grouped 2^18 (262 ns) to a slot of the lowest level.

use crate::units::Time;

/// Whoever has a deadline: a number, given by the driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Actor(pub u32);

const GRAIN: u32 = 18;
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = (64 - GRAIN).div_ceil(SLOT_BITS) as usize;
const NOBODY: u32 = u32::MAX;
/// So few due entries are put in order one by one.
const FEW: usize = 8;

/// Where an entry is: nowhere, in the sorted list at the cursor, or in the list of a slot (level * 256 + index).
type Home = u16;
const NOWHERE: Home = Home::MAX;
const AT_CURSOR: Home = Home::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The deadline; the last tick there is if there is none.
    at: u64,
    before: u32,
    after: u32,
    home: Home,
}

const IDLE: Entry = Entry { at: u64::MAX, before: NOBODY, after: NOBODY, home: NOWHERE };

/// The slots of all levels: the first actor of each slot's list, and which slots have one.
#[derive(Clone, Debug)]
struct Slots {
    first: [u32; LEVELS * SLOTS],
    used: [u64; LEVELS * SLOTS / 64],
}

impl Slots {
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

    /// Puts an actor first in a slot's list. Gives who was.
    fn push(&mut self, home: usize, actor: u32) -> u32 {
        self.used[home / 64] |= 1 << (home % 64);
        std::mem::replace(&mut self.first[home], actor)
    }

    /// Makes `first` the first of a slot's list.
    fn set_first(&mut self, home: usize, first: u32) {
        self.first[home] = first;
        if first == NOBODY {
            self.used[home / 64] &= !(1 << (home % 64));
        }
    }
}

/// The deadlines of a driver.
#[derive(Clone, Debug)]
pub struct Agenda {
    entries: Vec<Entry>,
    slots: Box<Slots>,
    /// The slot of the lowest level that has been reached, counted from the start of time.
    cursor: u64,
    /// Everything due at or before the cursor's slot, the earliest last.
    due: Vec<(u64, u32)>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            slots: Box::new(Slots {
                first: [NOBODY; LEVELS * SLOTS],
                used: [0; LEVELS * SLOTS / 64],
            }),
            cursor: 0,
            due: Vec::new(),
        }
    }
}

impl Agenda {
    /// The deadline of this actor, if it has one.
    #[must_use]
    pub fn deadline(&self, actor: Actor) -> Option<Time> {
        let entry = self.entries.get(actor.0 as usize)?;
        (entry.home != NOWHERE).then(|| from_ticks(entry.at))
    }

    /// Gives this actor a deadline, or with `None` takes it away. [`Time::LAST`] is never due, so it takes it away too.
    pub fn set(&mut self, actor: Actor, at: Option<Time>) {
        let at = at.map_or(u64::MAX, Time::ticks);
        let Some(entry) = self.entries.get_mut(actor.0 as usize) else {
            return self.set_new(actor, at);
        };
        if entry.at == at {
            return;
        }
        let old = entry.home;
        if old != NOWHERE {
            if old < AT_CURSOR && old == home(self.cursor, at >> GRAIN) {
                entry.at = at;
                return;
            }
            self.remove(actor.0);
        }
        if at != u64::MAX {
            self.insert(actor.0, at);
        }
    }

    /// True when nobody has a deadline.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.due.is_empty() && self.slots.used.iter().all(|&used| used == 0)
    }

    /// The earliest deadline that is not after `end`, with its actor, which has none from now on.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Actor)> {
        if self.due.is_empty() && !self.advance() {
            return None;
        }
        let &(at, actor) = self.due.last()?;
        if at > end.ticks() {
            return None;
        }
        self.due.pop();
        self.entries[actor as usize] = IDLE;
        Some((from_ticks(at), Actor(actor)))
    }

    /// Counts the slots as they are opened: while it stays the same, so do those that [`Agenda::upcoming`] gives, apart
    /// from deadlines set since.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.cursor
    }

    /// Who is due in the slot that is open.
    pub fn upcoming(&self) -> impl Iterator<Item = Actor> + '_ {
        self.due.iter().map(|&(_, actor)| Actor(actor))
    }

    /// The first deadline an actor ever has.
    #[cold]
    fn set_new(&mut self, actor: Actor, at: u64) {
        if at != u64::MAX {
            self.entries.resize(actor.0 as usize + 1, IDLE);
            self.insert(actor.0, at);
        }
    }

    fn insert(&mut self, actor: u32, at: u64) {
        let home = home(self.cursor, at >> GRAIN);
        let entry = &mut self.entries[actor as usize];
        (entry.at, entry.home) = (at, home);
        if home == AT_CURSOR {
            let place = self.due.partition_point(|&other| other > (at, actor));
            self.due.insert(place, (at, actor));
        } else {
            self.link(actor, home);
        }
    }

    /// Threads an entry into the list of its home.
    fn link(&mut self, actor: u32, home: Home) {
        let after = self.slots.push(usize::from(home), actor);
        if after != NOBODY {
            self.entries[after as usize].before = actor;
        }
        let entry = &mut self.entries[actor as usize];
        (entry.before, entry.after) = (NOBODY, after);
    }

    fn remove(&mut self, actor: u32) {
        let Entry { at, before, after, home } = self.entries[actor as usize];
        self.entries[actor as usize] = IDLE;
        if home == AT_CURSOR {
            let place = self.due.partition_point(|&other| other > (at, actor));
            self.due.remove(place);
            return;
        }
        if after != NOBODY {
            self.entries[after as usize].before = before;
        }
        if before == NOBODY {
            self.slots.set_first(usize::from(home), after);
        } else {
            self.entries[before as usize].after = after;
        }
    }

    /// Moves the cursor to the next slot that holds anything; false if there is none.
    fn advance(&mut self) -> bool {
        while self.due.is_empty() {
            let next = (0..LEVELS).find_map(|level| {
                let index = (self.cursor >> (level as u32 * SLOT_BITS)) as usize % SLOTS;
                self.slots.above(level, index).map(|slot| (level, slot))
            });
            let Some((level, slot)) = next else { return false };
            let shift = level as u32 * SLOT_BITS;
            let outer = (self.cursor >> shift) & !(SLOTS as u64 - 1);
            self.cursor = (outer | slot as u64) << shift;
            self.spread(level * SLOTS + slot);
        }
        true
    }

    /// Empties a slot the cursor has reached: what is due goes to the sorted list, the rest to lower levels.
    fn spread(&mut self, place: usize) {
        let mut actor = self.slots.first[place];
        self.slots.set_first(place, NOBODY);
        while actor != NOBODY {
            let entry = &mut self.entries[actor as usize];
            let after = entry.after;
            let home = home(self.cursor, entry.at >> GRAIN);
            entry.home = home;
            if home == AT_CURSOR {
                self.due.push((entry.at, actor));
            } else {
                self.link(actor, home);
            }
            actor = after;
        }
        if self.due.len() <= FEW {
            sort_few(&mut self.due);
        } else {
            self.due.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

/// Insertion sort, the largest first: what a slot holds is mostly one or two entries.
fn sort_few(due: &mut [(u64, u32)]) {
    for sorted in 1..due.len() {
        let mut place = sorted;
        while place > 0 && due[place - 1] < due[place] {
            due.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// The list for a slot: that of the cursor, or of the level given by the highest byte in which they differ.
const fn home(cursor: u64, slot: u64) -> Home {
    if slot <= cursor {
        return AT_CURSOR;
    }
    let level = (slot ^ cursor).ilog2() / SLOT_BITS;
    let index = (slot >> (level * SLOT_BITS)) % SLOTS as u64;
    (level as u64 * SLOTS as u64 + index) as Home
}

const fn from_ticks(ticks: u64) -> Time {
    Time::after_start(crate::units::Span::from_ps(ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;
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
