//! A token bucket for a class that may use only a share of its link, such as credits or emulation packets. It starts
//! full. Instead of counting tokens it keeps the time at which the bucket will be full again, so nothing has to be
//! updated while it idles. Units: bytes of depth; the rate's remainder is carried exactly.

use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    pace: Pace,
    depth: Bytes,
    /// When the bucket is full, if nothing more is taken.
    full_at: Time,
    /// A packet size and the time its absence from a full bucket takes to refill: most classes have one size.
    known: (Bytes, Span),
}

impl Meter {
    /// A full bucket that holds `depth` bytes and refills at `rate`.
    #[must_use]
    pub fn new(rate: BitsPerSec, depth: Bytes) -> Self {
        let known = (Bytes::ZERO, Pace::new(rate).quote(depth));
        Self { pace: Pace::new(rate), depth, full_at: Time::ZERO, known }
    }

    /// The earliest time at which a packet of this size has its tokens. Packets larger than the bucket wait for a full
    /// one.
    pub fn ready(&mut self, size: Bytes) -> Time {
        if self.known.0 != size {
            self.known = (size, self.pace.quote(self.depth.saturating_sub(size)));
        }
        Time::after_start(self.full_at.since_start().saturating_sub(self.known.1))
    }

    /// Takes the tokens of a packet that leaves at `start`, which must not be before [`Meter::ready`].
    pub fn take(&mut self, start: Time, size: Bytes) {
        self.full_at = self.full_at.max(start) + self.pace.charge(size);
    }

    /// The rate it refills at.
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        self.pace.rate()
    }

    /// Refills at another rate from now on; what is in the bucket stays in proportion.
    pub fn set_rate(&mut self, now: Time, rate: BitsPerSec) {
        let missing = self.pace.rate().bytes_in(self.full_at.saturating_since(now));
        let depth = self.depth;
        *self = Self::new(rate, depth);
        self.full_at = now + self.pace.charge(missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Share;

    const CREDIT: Bytes = Bytes::new(84);

    fn credits_of_ten_gigabits(depth: u64) -> Meter {
        let share = Share::of(CREDIT, Bytes::new(1538)).unwrap();
        Meter::new(BitsPerSec::gbps(10).share(share), Bytes::new(depth))
    }

    #[test]
    fn two_credits_pass_at_once_then_one_every_gap() {
        let mut meter = credits_of_ten_gigabits(168);
        let mut departures = vec![];
        let (mut now, on_the_wire) = (Time::after_start(Span::from_ms(1)), Span::from_ps(67_200));
        let start = now;
        for _ in 0..5 {
            now = now.max(meter.ready(CREDIT));
            departures.push((now - start).as_ps());
            meter.take(now, CREDIT);
            now += on_the_wire;
        }
        assert_eq!(departures[..2], [0, 67_200]);
        for (nth, departure) in departures.iter().enumerate().skip(2) {
            assert!(departure.abs_diff((nth as u64 - 1) * 1_297_600) <= 2, "{departures:?}");
        }
    }

    #[test]
    fn over_a_long_time_exactly_the_share_passes() {
        let mut meter = credits_of_ten_gigabits(168);
        let (mut now, mut passed) = (Time::ZERO, 0u64);
        while now < Time::after_start(Span::from_secs(1)) {
            now = now.max(meter.ready(CREDIT));
            meter.take(now, CREDIT);
            passed += 1;
        }
        assert!(passed.abs_diff(770_654) <= 2, "{passed}");
    }

    #[test]
    fn a_new_rate_holds_from_the_next_token() {
        let mut meter = Meter::new(BitsPerSec::gbps(8), Bytes::new(1000));
        meter.take(Time::ZERO, Bytes::new(1000));
        meter.set_rate(Time::ZERO, BitsPerSec::gbps(4));
        assert_eq!(meter.ready(Bytes::new(1000)), Time::after_start(Span::from_us(2)));
    }
}
