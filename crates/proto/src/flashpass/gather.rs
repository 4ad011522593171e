//! What came without a credit, gathered for acknowledgement: a map of up to 64 frames at a time. Acknowledgements of
//! single frames would ask for as much of the way back as a credit for each, and push credits out of their queue.
//! State: the map at hand and those that are ready. Units: bytes of the stream.

use std::collections::VecDeque;

use shallop_core::Time;

use super::head::{FRAMES, Map};

/// The frames that came and are not acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Gather {
    /// Payload of a full frame, once a frame has come that is not the last.
    frame: u64,
    /// The map at hand, and when it must leave.
    open: Option<(Map, Time)>,
    ready: VecDeque<Map>,
}

impl Gather {
    /// A frame came. What is gathered leaves at `due` at the latest.
    pub fn add(&mut self, offset: u64, length: u16, due: Time) {
        self.frame = self.frame.max(u64::from(length));
        let fits = |map: &Map| {
            let distance = offset.checked_sub(map.start())?;
            let index = distance / self.frame;
            (distance.is_multiple_of(self.frame) && index < u64::from(FRAMES))
                .then_some(index as u32)
        };
        if let Some((map, _)) = &mut self.open
            && let Some(index) = fits(map)
        {
            return map.set(index);
        }
        self.close();
        self.open = Some((Map::one(offset), due));
    }

    /// The probe came: all that was sent before it has passed.
    pub fn end(&mut self, upto: u64) {
        self.close();
        self.ready.push_back(Map::none(upto));
    }

    /// The time of what is gathered may have come.
    pub fn on_timer(&mut self, now: Time) {
        if self.wakeup().is_some_and(|at| at <= now) {
            self.close();
        }
    }

    /// When what is gathered must leave.
    pub fn wakeup(&self) -> Option<Time> {
        self.open.map(|(_, due)| due)
    }

    /// Whether something is ready to leave.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next map to send.
    pub fn take(&mut self) -> Option<Map> {
        self.ready.pop_front()
    }

    /// Everything has come, and another acknowledgement says so.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn close(&mut self) {
        let map = self.open.take().map(|(map, _)| map);
        self.ready.extend(map);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Span;

    fn starts(map: Map, upto: u64) -> Vec<u64> {
        map.frames(1000, upto).map(|frame| frame.start).collect()
    }

    #[test]
    fn frames_are_told_by_maps_that_leave_when_they_are_full_or_due_or_the_probe_comes() {
        let (mut gather, due) = (Gather::default(), Time::after_start(Span::from_ms(1)));
        for number in (0..100).filter(|number| number % 3 > 0) {
            gather.add(number * 1000, 1000, due);
        }
        let first = gather.take().unwrap();
        assert_eq!((first.start(), first.upto(1000, 100_000)), (1000, 65_000));
        let expected: Vec<u64> = (1..65).filter(|n| n % 3 > 0).map(|n| n * 1000).collect();
        assert_eq!(starts(first, 100_000), expected);
        assert!(!gather.is_ready() && gather.wakeup() == Some(due));
        gather.on_timer(due);
        assert_eq!(starts(gather.take().unwrap(), 100_000).len(), 23);
        gather.add(100_000, 500, due);
        gather.end(100_500);
        let last = gather.take().unwrap();
        assert!(last.frames(1000, 100_500).eq(std::iter::once(100_000..100_500)));
        let probe = gather.take().unwrap();
        assert_eq!((starts(probe, 100_500), probe.upto(1000, 100_500)), (vec![], 100_500));
        assert!(gather.wakeup().is_none() && !gather.is_ready());
    }
}
