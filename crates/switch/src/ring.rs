//! First in, first out, in one piece of memory whose size is a power of two. Grows when full; gives memory back after a
//! burst, since a ring walks through all of its memory however little of it is in use.

use prefetch_index::prefetch_index;

/// Memory is given back when less than one part in so many is in use.
const SPARSE: usize = 8;
/// The smallest ring that has any memory.
const SMALLEST: usize = 8;

/// A ring.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    first: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), first: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// How many are in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when nothing is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one that has been in longest.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.first) }
    }

    /// The `nth` after the first.
    #[must_use]
    pub fn get(&self, nth: usize) -> Option<&T> {
        if nth >= self.len {
            return None;
        }
        self.slots.get((self.first + nth) & (self.slots.len() - 1))
    }

    /// Puts one in behind the others: gives its place, for the caller to write, so that nothing is copied twice. What
    /// stands there is left over, or was made by `filler`.
    #[inline]
    pub fn push(&mut self, filler: impl FnOnce() -> T) -> &mut T {
        let capacity = self.slots.len();
        if self.len == capacity {
            self.resize((self.len * 2).max(SMALLEST), filler());
        } else if self.len * SPARSE < capacity && capacity > SMALLEST * SPARSE {
            self.resize(capacity / 2, filler());
        }
        let mask = self.slots.len().wrapping_sub(1);
        let place = (self.first + self.len) & mask;
        self.len += 1;
        prefetch_index(&self.slots, (place + 1) & mask);
        &mut self.slots[place]
    }

    /// Takes the first one out. It stays where it stood until the next push.
    #[inline]
    pub fn pop(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        let (place, mask) = (self.first, self.slots.len() - 1);
        self.first = (place + 1) & mask;
        self.len -= 1;
        prefetch_index(&self.slots, (place + 2) & mask);
        self.slots.get_mut(place)
    }

    /// Moves everything to memory for `capacity`, a power of two; `filler` stands where nothing is yet.
    #[cold]
    fn resize(&mut self, capacity: usize, filler: T) {
        let mut slots = Vec::with_capacity(capacity);
        slots.extend((0..self.len).filter_map(|nth| self.get(nth).copied()));
        slots.resize(capacity, filler);
        (self.slots, self.first) = (slots, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn what_goes_in_comes_out_in_order_through_growth_and_after_bursts() {
        let (mut ring, mut queue, mut next) = (Ring::default(), VecDeque::new(), 0u32);
        for round in 0..40usize {
            for _ in 0..[3, 700, 1, 40][round % 4] {
                *ring.push(|| 0) = next;
                queue.push_back(next);
                next += 1;
            }
            for _ in 0..[5, 100, 590, 60][round % 4] {
                assert_eq!(ring.get(1), queue.get(1));
                assert_eq!(ring.pop().copied(), queue.pop_front());
            }
            assert_eq!((ring.len(), ring.front()), (queue.len(), queue.front()));
        }
        assert!(ring.slots.len() <= 8 * SMALLEST.max(ring.len() * SPARSE), "memory is given back");
    }
}
