//! The frames in the network. A simulated packet carries the number of its frame.

/// Frames by number.
#[derive(Debug, Default)]
pub struct FrameStore {
    slots: Vec<Option<Vec<u8>>>,
    free: Vec<u32>,
}

impl FrameStore {
    /// Stores a frame and returns its number.
    pub fn insert(&mut self, frame: Vec<u8>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(frame);
            return slot;
        }
        self.slots.push(Some(frame));
        self.slots.len() as u32 - 1
    }

    /// Stores a copy of a frame and returns the number of the copy; `None` if no frame has this number.
    pub fn copy(&mut self, slot: u32) -> Option<u32> {
        let frame = self.slots.get(slot as usize)?.clone()?;
        Some(self.insert(frame))
    }

    /// Removes a frame; `None` if no frame has this number.
    pub fn remove(&mut self, slot: u32) -> Option<Vec<u8>> {
        let frame = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(frame)
    }
}
