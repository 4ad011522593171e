//! Round robin over the endpoints that wait for their host's link, with a second, lower priority for unscheduled data.

use shallop_core::{End, Time};
use std::collections::VecDeque;

/// The priority with which an endpoint waits for its host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The endpoint is served in turn with others of this priority.
    Normal,
    /// The endpoint is served when none of normal priority waits.
    Low,
}

/// The endpoints that wait for one host's link, in the order in which they are served.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct RoundRobin {
    /// Number of endpoints that wait.
    len: u32,
    /// When the first of the present endpoints began to wait; before that, none waited.
    since: Time,
    normal: VecDeque<End>,
    low: VecDeque<End>,
}

impl RoundRobin {
    /// Makes an endpoint wait from `now` on. `current` is its priority if it waits already: it then keeps one place,
    /// and may move from low to normal priority, but not back. Returns its priority from now on.
    pub fn enqueue(&mut self, now: Time, end: End, current: Option<Priority>, low_priority: bool) -> Priority {
        if self.is_empty() {
            self.since = now;
        }
        match (current, low_priority) {
            (Some(Priority::Normal), _) => return Priority::Normal,
            (Some(Priority::Low), true) => return Priority::Low,
            (Some(Priority::Low), false) => self.low.retain(|other| *other != end),
            (None, true) => {
                self.len += 1;
                self.low.push_back(end);
                return Priority::Low;
            }
            (None, false) => self.len += 1,
        }
        self.normal.push_back(end);
        Priority::Normal
    }

    pub fn dequeue(&mut self) -> Option<End> {
        let next = self.normal.pop_front().or_else(|| self.low.pop_front());
        self.len -= u32::from(next.is_some());
        next
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The earliest time at which a waiting endpoint may be served, if the link is busy until `free`; `None` if none
    /// waits.
    pub fn due(&self, free: Time) -> Option<Time> {
        (!self.is_empty()).then(|| self.since.max(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_low_priority_are_served_last_and_each_waits_once() {
        let (mut waiting, now) = (RoundRobin::default(), Time::ZERO);
        let mut enqueue = |end: u32, current, low| waiting.enqueue(now, End(end), current, low);
        assert_eq!(enqueue(0, None, true), Priority::Low);
        assert_eq!(enqueue(1, None, true), Priority::Low);
        assert_eq!(enqueue(2, None, false), Priority::Normal);
        assert_eq!(enqueue(1, Some(Priority::Low), false), Priority::Normal, "a credit arrived");
        assert_eq!(enqueue(2, Some(Priority::Normal), true), Priority::Normal);
        let order: Vec<u32> = std::iter::from_fn(|| waiting.dequeue()).map(|end| end.0).collect();
        assert_eq!(order, [2, 1, 0]);
        assert!(waiting.is_empty() && waiting.due(now).is_none());
    }
}
