//! Round robin of the ends that wait for their host's link.

use std::collections::VecDeque;

use shallop_core::{End, Time};

/// The ends that wait, in the order they will be asked.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    waiting: VecDeque<End>,
    /// When somebody began to wait after nobody had.
    since: Time,
}

impl Turn {
    /// This end waits from `now` on. An end waits at most once: the driver sees to it.
    pub fn join(&mut self, now: Time, end: End) {
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.waiting.push_back(end);
    }

    /// The end to ask next, which waits no longer.
    pub fn call(&mut self) -> Option<End> {
        self.waiting.pop_front()
    }

    /// True when nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The earliest time at which the first may be asked, if the link is free from `free` on; `None` if nobody waits.
    #[must_use]
    pub fn due(&self, free: Time) -> Option<Time> {
        (!self.waiting.is_empty()).then(|| self.since.max(free))
    }
}
