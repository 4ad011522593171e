//! Acknowledgements that come in bunches: how much more was delivered at once than the path carries in the time. The
//! window makes room for as much, so that the sender has something to send until the next bunch. State: an epoch, from
//! the last time the deliveries were what the path carries, and the largest excess of the last five to ten rounds.
//! Units: bytes. Source: kernel, `bbr_update_ack_aggregation`.

use shallop_core::{BitsPerSec, Bytes, Span, Time};

use crate::window::Ack;

/// Rounds after which the older of two maxima is forgotten.
const ROUNDS: u32 = 5;
/// What the path carries in this time is the most that room is made for.
const LONGEST: Span = Span::from_ms(100);

/// The excess so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    since: Option<Time>,
    /// Delivered in this epoch.
    acked: Bytes,
    rounds: u32,
    /// The largest excess of these rounds and of those before them.
    most: [Bytes; 2],
}

impl Bursts {
    /// An acknowledgement with a sample came, on a path believed to carry so much; `round` if it begins one.
    pub fn on_ack(&mut self, ack: &Ack, round: bool, carries: Option<BitsPerSec>, window: Bytes) {
        if round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                (self.rounds, self.most) = (0, [Bytes::ZERO, self.most[0]]);
            }
        }
        let since = *self.since.get_or_insert(ack.now);
        let passed = ack.now.saturating_since(since);
        let mut expected = carries.map_or(Bytes::ZERO, |rate| rate.bytes_in(passed));
        if self.acked <= expected {
            (self.since, self.acked, expected) = (Some(ack.now), Bytes::ZERO, Bytes::ZERO);
        }
        self.acked += ack.acked;
        let excess = self.acked.saturating_sub(expected).min(window);
        self.most[0] = self.most[0].max(excess);
    }

    /// The sender begins again after a silence.
    pub fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (Some(now), Bytes::ZERO);
    }

    /// What to make room for.
    pub fn room(&self, carries: Option<BitsPerSec>) -> Bytes {
        let most = carries.map_or(Bytes::ZERO, |rate| rate.bytes_in(LONGEST));
        self.most[0].max(self.most[1]).min(most)
    }
}
