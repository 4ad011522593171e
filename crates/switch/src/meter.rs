//! A token bucket: for a class of packets that may use only a share of its link, such as credits or emulation packets,
//! and for shapers and policers, which have a rate of their own.
//! The bucket starts full. It stores the time at which it will be full again instead of a count of tokens, so that it
//! needs no update while the class is idle. Units: bytes of depth; remainders of the rate are carried exactly.

use shallop_core::{BitsPerSec, Bytes, Pace, Span, Step, Time};

#[derive(Clone, Copy, Debug)]
pub struct Meter {
    pace: Pace,
    depth: Bytes,
    /// Time at which the bucket will be full if no more tokens are consumed.
    full_at: Time,
    /// Cache: a packet size, how long before `full_at` the bucket has enough tokens for such a packet, and the tokens
    /// that the packet consumes. Most classes have packets of one size.
    size: Bytes,
    lead: Span,
    step: Step,
    /// Whether the rate stays when the rate of the link changes.
    is_fixed: bool,
}

impl Meter {
    /// A full bucket that holds `depth` bytes and refills at `rate`.
    pub fn new(rate: BitsPerSec, depth: Bytes) -> Self {
        let (pace, size) = (Pace::new(rate), Bytes::ZERO);
        Self { pace, depth, full_at: Time::ZERO, size, lead: pace.quote(depth), step: pace.step(size), is_fixed: false }
    }

    /// A full token bucket of a shaper or policer. Its rate stays when the rate of the link changes.
    pub fn fixed(rate: BitsPerSec, depth: Bytes) -> Self {
        Self { is_fixed: true, ..Self::new(rate, depth) }
    }

    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Whether the bucket has tokens for a packet at `now`; if it has, they are consumed.
    pub fn admits(&mut self, now: Time, size: Bytes) -> bool {
        let admitted = self.ready(size) <= now;
        if admitted {
            self.consume(now, size);
        }
        admitted
    }

    /// Earliest time at which the bucket has tokens for a packet of this size. A packet larger than the bucket waits
    /// until the bucket is full.
    #[inline]
    pub fn ready(&mut self, size: Bytes) -> Time {
        if self.size != size {
            self.set_size(size);
        }
        Time::after_start(self.full_at.since_start().saturating_sub(self.lead))
    }

    #[cold]
    fn set_size(&mut self, size: Bytes) {
        let lead = self.pace.quote(self.depth.saturating_sub(size));
        (self.size, self.lead, self.step) = (size, lead, self.pace.step(size));
    }

    /// Consumes the tokens of a packet that leaves at `start`, which is not before [`Meter::ready`].
    #[inline]
    pub fn consume(&mut self, start: Time, size: Bytes) {
        if self.size != size {
            self.set_size(size);
        }
        self.full_at = self.full_at.max(start) + self.pace.charge_step(self.step);
    }

    pub fn rate(&self) -> BitsPerSec {
        self.pace.rate()
    }

    /// Changes the refill rate from `now` on; the number of tokens stays.
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
            meter.consume(now, CREDIT);
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
            meter.consume(now, CREDIT);
            passed += 1;
        }
        assert!(passed.abs_diff(770_654) <= 2, "{passed}");
    }

    #[test]
    fn a_new_rate_holds_from_the_next_token() {
        let mut meter = Meter::new(BitsPerSec::gbps(8), Bytes::new(1000));
        meter.consume(Time::ZERO, Bytes::new(1000));
        meter.set_rate(Time::ZERO, BitsPerSec::gbps(4));
        assert_eq!(meter.ready(Bytes::new(1000)), Time::after_start(Span::from_us(2)));
    }
}
