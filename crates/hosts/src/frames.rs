//! The frames that are in the network. A packet of the simulator carries the number of its frame.

/// Frames by number.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Option<Vec<u8>>>,
    free: Vec<u32>,
}

impl Frames {
    /// Keeps a frame, and returns its number.
    pub fn insert(&mut self, frame: Vec<u8>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(frame);
            return slot;
        }
        self.slots.push(Some(frame));
        self.slots.len() as u32 - 1
    }

    /// Keeps a copy of a frame, and returns its number; `None` if there is none with this number.
    pub fn copy(&mut self, slot: u32) -> Option<u32> {
        let frame = self.slots.get(slot as usize)?.clone()?;
        Some(self.insert(frame))
    }

    /// Takes a frame out; `None` if there is none with this number.
    pub fn remove(&mut self, slot: u32) -> Option<Vec<u8>> {
        let frame = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(frame)
    }
}
