//! Detects that a peer does not answer.

use std::time::{Duration, Instant};

/// The upper bound of the time between probes, unless the limit is longer.
const MAX_GAP: Duration = Duration::from_secs(1);

/// Detects that nothing has arrived from a peer for longer than a limit since something was sent. During the silence,
/// probes are allowed at intervals that double up to a second.
#[derive(Debug)]
pub(crate) struct PeerSilence {
    limit: Duration,
    /// The time of the first packet sent after the last arrival.
    since: Option<Instant>,
    /// The time of the next probe, and the interval after it.
    next: Option<Instant>,
    gap: Duration,
    /// Whether a probe was refused because it was too early.
    is_awaited: bool,
}

impl PeerSilence {
    pub(crate) fn after(limit: Duration) -> Self {
        Self { limit, since: None, next: None, gap: limit, is_awaited: false }
    }

    /// Notes that a packet of the peer has arrived.
    pub(crate) fn on_arrival(&mut self) {
        *self = Self::after(self.limit);
    }

    /// Notes that a packet that the peer has to answer is sent.
    pub(crate) fn on_departure(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        if self.is_silent(now) {
            self.next = Some(now + self.gap);
            self.gap = (self.gap * 2).min(MAX_GAP.max(self.limit));
        }
    }

    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| since + self.limit < now)
    }

    /// Whether a packet may be sent: always while the peer answers, and into a silence when a probe is due.
    pub(crate) fn may_probe(&mut self, now: Instant) -> bool {
        self.is_awaited = self.next.is_some_and(|next| next > now) && self.is_silent(now);
        !self.is_awaited
    }

    /// The time of the next probe, if [`PeerSilence::may_probe`] has refused one.
    pub(crate) fn next_probe(&self) -> Option<Instant> {
        self.next.filter(|_| self.is_awaited)
    }
}
