//! Values that come and go, named by `u32`. Freed places are used again, the latest first, so the working set stays
//! as small as what is alive.

/// An arena of copyable values, such as the heads of packets in flight.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Arena<T> {
    /// Puts a value in and names it.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.values[id as usize] = value;
            return id;
        }
        let id = self.values.len() as u32;
        self.values.push(value);
        id
    }

    /// Takes the value out; its name may be given to another from now on.
    pub fn take(&mut self, id: u32) -> T {
        self.free.push(id);
        self.values[id as usize]
    }

    /// The value, to be changed in place.
    pub fn value(&mut self, id: u32) -> &mut T {
        &mut self.values[id as usize]
    }

    /// How many values are in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// True when nothing is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut arena = Arena::default();
        let (a, b) = (arena.insert('a'), arena.insert('b'));
        assert_eq!(arena.take(a), 'a');
        let c = arena.insert('c');
        assert_eq!((c, arena.len()), (a, 2));
        *arena.value(b) = 'B';
        assert_eq!((arena.take(b), arena.take(c), arena.is_empty()), ('B', 'c', true));
    }
}
