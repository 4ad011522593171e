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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Ack;

    const SEGMENT: Bytes = Bytes::new(1_000);
    /// A segment takes a millisecond.
    const RATE: BitsPerSec = BitsPerSec::at_least_one(8_000_000);

    fn ack(now: Time, acked: Bytes) -> Ack {
        let (none, zero) = (Bytes::ZERO, Span::ZERO);
        Ack {
            now,
            acked,
            lost: none,
            marked: none,
            delivered: none,
            rtt: None,
            smoothed_rtt: zero,
            min_rtt: zero,
            rate: None,
            flight_before: none,
            in_flight: none,
            window_limited: true,
            advanced: acked,
            round_start: false,
            recovering: false,
            una: 0,
            next: 0,
        }
    }

    /// What room is made for after rounds of 40 segments, in bunches of so many each, at a little less than the rate;
    /// the window is of 80.
    fn after(bursts: &mut Bursts, now: &mut Time, rounds: u32, bunch: u64) -> u64 {
        for _ in 0..rounds {
            for nth in 0..40 / bunch {
                *now += Span::from_us(1_100 * bunch);
                bursts.on_ack(&ack(*now, SEGMENT * bunch), nth == 0, Some(RATE), SEGMENT * 80);
            }
        }
        bursts.room(Some(RATE)).get() / SEGMENT.get()
    }

    #[test]
    fn there_is_room_for_a_bunch_until_it_is_five_to_ten_rounds_old() {
        let (mut bursts, mut now) = (Bursts::default(), Time::ZERO);
        assert_eq!(after(&mut bursts, &mut now, 10, 1), 1);
        assert_eq!(after(&mut bursts, &mut now, 1, 8), 8);
        assert_eq!(after(&mut bursts, &mut now, 5, 1), 8);
        assert_eq!(after(&mut bursts, &mut now, 5, 1), 1);
    }

    #[test]
    fn no_bunch_is_larger_than_the_window_or_than_what_passes_in_100_ms() {
        let (mut bursts, mut now) = (Bursts::default(), Time::ZERO);
        bursts.on_ack(&ack(now, SEGMENT * 90), true, Some(RATE), SEGMENT * 80);
        assert_eq!(bursts.room(Some(RATE)), SEGMENT * 80);
        now += Span::from_secs(1);
        bursts.on_ack(&ack(now, SEGMENT * 200), false, Some(RATE), SEGMENT * 300);
        assert_eq!(bursts.room(Some(RATE)), SEGMENT * 100);
    }
}
