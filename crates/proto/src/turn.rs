//! Round robin of the ends that wait for their host's link. Those that may wait are asked when nobody else is left.

use std::collections::VecDeque;

use shallop_core::{End, Time};

/// Where an end waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// With those whose packets have their time.
    First,
    /// With those that may wait.
    Last,
}

/// The ends that wait, in the order they will be asked.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    first: VecDeque<End>,
    last: VecDeque<End>,
    /// When somebody began to wait after nobody had.
    since: Time,
}

impl Turn {
    /// This end, which waits in `row` if it does already, waits from `now` on. Gives where it does: an end waits once,
    /// and may move to the first row, but not back.
    pub fn join(&mut self, now: Time, end: End, row: Option<Row>, may_wait: bool) -> Row {
        if self.is_empty() {
            self.since = now;
        }
        match (row, may_wait) {
            (Some(Row::First), _) => return Row::First,
            (Some(Row::Last), true) => return Row::Last,
            (Some(Row::Last), false) => self.last.retain(|other| *other != end),
            (None, true) => {
                self.last.push_back(end);
                return Row::Last;
            }
            (None, false) => {}
        }
        self.first.push_back(end);
        Row::First
    }

    /// The end to ask next, which waits no longer.
    pub fn call(&mut self) -> Option<End> {
        self.first.pop_front().or_else(|| self.last.pop_front())
    }

    /// True when nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.last.is_empty()
    }

    /// The earliest time at which the first may be asked, if the link is free from `free` on; `None` if nobody waits.
    #[must_use]
    pub fn due(&self, free: Time) -> Option<Time> {
        (!self.is_empty()).then(|| self.since.max(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_may_wait_come_last_and_nobody_is_asked_twice() {
        let (mut turn, now) = (Turn::default(), Time::ZERO);
        let mut join = |end: u32, row, may_wait| turn.join(now, End(end), row, may_wait);
        assert_eq!(join(0, None, true), Row::Last);
        assert_eq!(join(1, None, true), Row::Last);
        assert_eq!(join(2, None, false), Row::First);
        assert_eq!(join(1, Some(Row::Last), false), Row::First, "its credit has come");
        assert_eq!(join(2, Some(Row::First), true), Row::First);
        let order: Vec<u32> = std::iter::from_fn(|| turn.call()).map(|end| end.0).collect();
        assert_eq!(order, [2, 1, 0]);
        assert!(turn.is_empty() && turn.due(now).is_none());
    }
}
