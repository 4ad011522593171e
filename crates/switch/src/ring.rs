//! A FIFO in a ring buffer whose capacity is a power of two. The ring grows when it is full, and shrinks after a burst:
//! even a few packets cycle through all slots, so a large ring costs cache misses.

use prefetch_index::prefetch_index;

/// The ring shrinks when fewer than one slot in this many is in use.
const SPARSE: usize = 8;
/// Smallest capacity of a ring that has held an element. With thousands of ports, most rings hold one or two.
const MIN_CAPACITY: usize = 2;
/// Largest capacity of a ring that does not shrink.
const KEPT_CAPACITY: usize = 64;

#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::new([]), first: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.first as usize) }
    }

    /// The `nth` element from the head; 0 is the oldest.
    pub fn get(&self, nth: usize) -> Option<&T> {
        if nth >= self.len() {
            return None;
        }
        self.slots.get((self.first as usize + nth) & (self.slots.len() - 1))
    }

    /// Adds a slot at the tail and returns it for the caller to write, so that an element is copied only once. The slot
    /// holds an old value, or one made by `filler`.
    #[inline]
    pub fn push(&mut self, filler: impl FnOnce() -> T) -> &mut T {
        let (capacity, len) = (self.slots.len(), self.len());
        if len == capacity {
            self.resize((len * 2).max(MIN_CAPACITY), filler());
        } else if len * SPARSE < capacity && capacity > KEPT_CAPACITY {
            self.resize(capacity / 2, filler());
        }
        let mask = self.slots.len().wrapping_sub(1);
        if len == 0 {
            // The ring of an idle link stays in one cache line.
            self.first = 0;
        }
        let slot = (self.first as usize + len) & mask;
        self.len += 1;
        if len > 0 {
            prefetch_index(&self.slots, (slot + 1) & mask);
        }
        &mut self.slots[slot]
    }

    /// Removes the oldest element. Its slot keeps the value until the next push.
    #[inline]
    pub fn pop(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        let (slot, mask) = (self.first as usize, self.slots.len() - 1);
        self.first = ((slot + 1) & mask) as u32;
        self.len -= 1;
        if self.len > 2 {
            prefetch_index(&self.slots, (slot + 2) & mask);
        }
        self.slots.get_mut(slot)
    }

    /// Moves the elements to a ring of this capacity, a power of two, and fills the ring's other slots with `filler`.
    #[cold]
    fn resize(&mut self, capacity: usize, filler: T) {
        let mut slots = Vec::with_capacity(capacity);
        slots.extend((0..self.len()).filter_map(|nth| self.get(nth).copied()));
        slots.resize(capacity, filler);
        (self.slots, self.first) = (slots.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn elements_keep_their_order_while_the_ring_grows_and_shrinks() {
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
        assert!(ring.slots.len() <= KEPT_CAPACITY.max(8 * ring.len() * SPARSE), "memory is given back");
    }
}
