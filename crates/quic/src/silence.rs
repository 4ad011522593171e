//! Whether anything comes back from the peer.

use std::time::{Duration, Instant};

/// The longest time between calls into a silence.
const LONGEST: Duration = Duration::from_secs(1);

/// The silence of a peer: nothing has arrived of it for longer than the limit since something was sent.
#[derive(Debug)]
pub(crate) struct Silence {
    limit: Duration,
    /// When the first packet was sent since one has arrived.
    since: Option<Instant>,
    /// Into the silence a packet is sent from time to time: when the next one may be, and the time after that.
    next: Option<Instant>,
    gap: Duration,
    /// Somebody waits for that.
    is_awaited: bool,
}

impl Silence {
    /// None so far.
    pub(crate) fn longer_than(limit: Duration) -> Self {
        Self { limit, since: None, next: None, gap: limit, is_awaited: false }
    }

    /// Something arrived.
    pub(crate) fn on_arrival(&mut self) {
        *self = Self::longer_than(self.limit);
    }

    /// Something was sent.
    pub(crate) fn on_departure(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        if self.is_at(now) {
            self.next = Some(now + self.gap);
            self.gap = (self.gap * 2).min(LONGEST.max(self.limit));
        }
    }

    /// Whether it is silent.
    pub(crate) fn is_at(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| since + self.limit < now)
    }

    /// Whether a packet may be sent all the same, to see whether it is over: after longer and longer times, up to a
    /// second.
    pub(crate) fn may_call(&mut self, now: Instant) -> bool {
        self.is_awaited = self.next.is_some_and(|next| next > now) && self.is_at(now);
        !self.is_awaited
    }

    /// When a packet may be sent into the silence, if it was asked and refused.
    pub(crate) fn next_call(&self) -> Option<Instant> {
        self.next.filter(|_| self.is_awaited)
    }
}
