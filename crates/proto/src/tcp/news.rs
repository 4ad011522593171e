//! What one acknowledgement delivers: how much, and the two transmissions that time is measured by.

use shallop_core::{Span, Time};

use super::delivery::Stamp;
use super::scoreboard::Segment;

/// A transmission, in order of time and, at one instant, of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// Which segment.
    pub index: u64,
}

/// The delivered transmission that was sent last.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// When, and which segment.
    pub sent: Sent,
    /// What had been delivered then.
    pub stamp: Stamp,
    /// The application had no more to send then.
    pub app_limited: bool,
}

/// What an acknowledgement delivers.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// A segment sent again by this time may have been delivered by its last transmission; if sent later, the
    /// acknowledgement is of an earlier one (RFC 8985, 6.2, step 2).
    plausible: Time,
    /// Bytes newly delivered.
    pub bytes: u64,
    /// The transmission among them that was sent last.
    pub newest: Option<Newest>,
    /// When the first and the last of them were sent, if all were sent only once (Karn's rule).
    pub once: Option<(Time, Time)>,
    again: bool,
    /// Something never sent again was delivered after what was sent later.
    pub reordered: bool,
}

impl News {
    /// Nothing yet, at `now`, on a path whose shortest round trip is known.
    #[must_use]
    pub fn new(now: Time, shortest: Span) -> Self {
        let plausible = Time::after_start(now.since_start().saturating_sub(shortest));
        Self { plausible, bytes: 0, newest: None, once: None, again: false, reordered: false }
    }

    /// A segment is delivered.
    pub fn add(&mut self, index: u64, len: u64, segment: &Segment) {
        self.bytes += len;
        if segment.again {
            (self.again, self.once) = (true, None);
            if segment.sent > self.plausible {
                return;
            }
        } else if !self.again {
            let (first, last) = self.once.unwrap_or((segment.sent, segment.sent));
            self.once = Some((first.min(segment.sent), last.max(segment.sent)));
        }
        let sent = Sent { at: segment.sent, index };
        if self.newest.is_none_or(|newest| newest.sent < sent) {
            let Segment { stamp, app_limited, .. } = *segment;
            self.newest = Some(Newest { sent, stamp, app_limited });
        }
    }
}
