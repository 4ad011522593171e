//! Acknowledgements of unscheduled data, as bitmaps of up to 64 frames. If each frame were acknowledged by a packet,
//! these would take as much of the return path as a credit for each frame, and push credits out of their queue. State:
//! the bitmap that is being filled, and complete bitmaps. Units: bytes of the stream.

use super::head::{AckBitmap, BITMAP_FRAMES};
use shallop_core::Time;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct UnscheduledAcks {
    /// Payload of a full frame in bytes: the largest payload so far, because only the last frame is smaller.
    frame: u64,
    /// The bitmap that is being filled, and the time at which it is sent at the latest.
    open: Option<(AckBitmap, Time)>,
    complete: VecDeque<AckBitmap>,
}

impl UnscheduledAcks {
    /// Records that a frame arrived. Its bitmap is sent at `deadline` at the latest.
    pub fn on_frame(&mut self, offset: u64, length: u16, deadline: Time) {
        self.frame = self.frame.max(u64::from(length));
        let index_in = |bitmap: &AckBitmap| {
            let distance = offset.checked_sub(bitmap.start())?;
            let index = distance / self.frame;
            (distance.is_multiple_of(self.frame) && index < u64::from(BITMAP_FRAMES)).then_some(index as u32)
        };
        if let Some((bitmap, _)) = &mut self.open
            && let Some(index) = index_in(bitmap)
        {
            return bitmap.set(index);
        }
        self.complete_open();
        self.open = Some((AckBitmap::of_frame(offset), deadline));
    }

    /// Records that the probe arrived, which the sender sent behind the last unscheduled frame.
    pub fn on_probe(&mut self, upto: u64) {
        self.complete_open();
        self.complete.push_back(AckBitmap::of_probe(upto));
    }

    pub fn on_timer(&mut self, now: Time) {
        if self.wakeup().is_some_and(|at| at <= now) {
            self.complete_open();
        }
    }

    /// When the bitmap that is being filled must be sent; `None` if there is none.
    pub fn wakeup(&self) -> Option<Time> {
        self.open.map(|(_, deadline)| deadline)
    }

    pub fn is_ready(&self) -> bool {
        !self.complete.is_empty()
    }

    pub fn take(&mut self) -> Option<AckBitmap> {
        self.complete.pop_front()
    }

    /// Drops all bitmaps, because one cumulative acknowledgement tells that all data has arrived.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn complete_open(&mut self) {
        let bitmap = self.open.take().map(|(bitmap, _)| bitmap);
        self.complete.extend(bitmap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Span;

    fn starts(bitmap: AckBitmap, upto: u64) -> Vec<u64> {
        bitmap.frames(1000, upto).map(|frame| frame.start).collect()
    }

    #[test]
    fn bitmaps_are_sent_when_they_are_full_or_due_or_the_probe_arrives() {
        let (mut acks, due) = (UnscheduledAcks::default(), Time::after_start(Span::from_ms(1)));
        for number in (0..100).filter(|number| number % 3 > 0) {
            acks.on_frame(number * 1000, 1000, due);
        }
        let first = acks.take().unwrap();
        assert_eq!((first.start(), first.upto(1000, 100_000)), (1000, 65_000));
        let expected: Vec<u64> = (1..65).filter(|n| n % 3 > 0).map(|n| n * 1000).collect();
        assert_eq!(starts(first, 100_000), expected);
        assert!(!acks.is_ready() && acks.wakeup() == Some(due));
        acks.on_timer(due);
        assert_eq!(starts(acks.take().unwrap(), 100_000).len(), 23);
        acks.on_frame(100_000, 500, due);
        acks.on_probe(100_500);
        let last = acks.take().unwrap();
        assert!(last.frames(1000, 100_500).eq(std::iter::once(100_000..100_500)));
        let probe = acks.take().unwrap();
        assert_eq!((starts(probe, 100_500), probe.upto(1000, 100_500)), (vec![], 100_500));
        assert!(acks.wakeup().is_none() && !acks.is_ready());
    }
}
