//! Exact serialisation times. The time of a packet at a rate is rarely a whole number of picoseconds; the remainder is
//! carried to the next packet, so that a million packets take exactly as long as one packet of all their bytes. Units:
//! bytes in, picoseconds out.

use crate::units::{BitsPerSec, Bytes, Span};

const PS_PER_BYTE_AT_ONE_BPS: u64 = 8_000_000_000_000;

/// A link rate, and the fraction of a picosecond that earlier packets left over.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: BitsPerSec,
    /// Whole picoseconds that one byte takes.
    whole: u64,
    /// Fraction of a picosecond that one byte takes beyond `whole`. Unit: 1/rate picoseconds.
    fraction: u64,
    /// Fraction of a picosecond that earlier packets left over. Unit: 1/rate picoseconds.
    carried: u64,
}

/// The time that packets of one size take: whole picoseconds and, in units of 1/rate picoseconds, a fraction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    whole: u64,
    parts: u64,
}

impl Step {
    /// The time that a packet alone takes, rounded down.
    pub const fn quote(self) -> Span {
        Span::from_ps(self.whole)
    }
}

impl Pace {
    pub const fn new(rate: BitsPerSec) -> Self {
        let (whole, fraction) = (PS_PER_BYTE_AT_ONE_BPS / rate.get(), PS_PER_BYTE_AT_ONE_BPS % rate.get());
        Self { rate, whole, fraction, carried: 0 }
    }

    pub const fn rate(&self) -> BitsPerSec {
        self.rate
    }

    /// Time that `bytes` take to serialise. Adds the fraction of a tick that the previous call left over, and keeps the
    /// new fraction for the next call.
    pub fn charge(&mut self, bytes: Bytes) -> Span {
        let whole = bytes.get() * self.whole;
        if self.fraction == 0 {
            return Span::from_ps(whole);
        }
        let small = bytes.get().checked_mul(self.fraction);
        if let Some(parts) = small.and_then(|parts| parts.checked_add(self.carried)) {
            self.carried = parts % self.rate.get();
            return Span::from_ps(whole + parts / self.rate.get());
        }
        let parts = u128::from(bytes.get()) * u128::from(self.fraction) + u128::from(self.carried);
        let rate = u128::from(self.rate.get());
        self.carried = (parts % rate) as u64;
        Span::from_ps(whole + (parts / rate) as u64)
    }

    /// The charges of packets of one size, which then need no division.
    pub fn step(&self, bytes: Bytes) -> Step {
        let parts = u128::from(bytes.get()) * u128::from(self.fraction);
        let rate = u128::from(self.rate.get());
        Step { whole: bytes.get() * self.whole + (parts / rate) as u64, parts: (parts % rate) as u64 }
    }

    /// [`Pace::charge`] for the size of this step, which was computed at the present rate.
    #[inline]
    pub fn charge_step(&mut self, step: Step) -> Span {
        let carried = self.carried + step.parts;
        let over = carried >= self.rate.get();
        self.carried = if over { carried - self.rate.get() } else { carried };
        Span::from_ps(step.whole + u64::from(over))
    }

    /// Time that `bytes` alone take to serialise, rounded down. Neither uses nor changes the carried fraction.
    pub fn quote(&self, bytes: Bytes) -> Span {
        let mut fresh = Self { carried: 0, ..*self };
        fresh.charge(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_links_serialise_a_full_frame_in_known_time() {
        let frame = Bytes::new(1538);
        for (gbps, ps) in [(1, 12_304_000), (10, 1_230_400), (25, 492_160), (100, 123_040)] {
            assert_eq!(Pace::new(BitsPerSec::gbps(gbps)).charge(frame), Span::from_ps(ps));
        }
    }

    #[test]
    fn credits_of_a_ten_gigabit_link_leave_every_1297_6_ns() {
        let rate = BitsPerSec::new(517_879_162).unwrap();
        let mut pace = Pace::new(rate);
        let total: Span = (0..1_000_000).map(|_| pace.charge(Bytes::new(84))).sum();
        let exact = 84u128 * 1_000_000 * 8_000_000_000_000 / 517_879_162;
        assert_eq!(u128::from(total.as_ps()), exact);
        assert_eq!(pace.quote(Bytes::new(84)).as_ps() / 100, 12_975);
    }

    proptest! {
        #[test]
        fn the_sum_of_charges_is_the_charge_of_the_sum(
            rate in 1u64..2_000_000_000_000,
            packets in prop::collection::vec(1u64..10_000, 1..60),
        ) {
            let rate = BitsPerSec::new(rate).unwrap();
            let mut pace = Pace::new(rate);
            let piecewise: Span = packets.iter().map(|&p| pace.charge(Bytes::new(p))).sum();
            let at_once = Pace::new(rate).charge(Bytes::new(packets.iter().sum()));
            prop_assert_eq!(piecewise, at_once);
            let mut pace = Pace::new(rate);
            let by_step: Span = packets.iter().map(|&p| pace.charge_step(pace.step(Bytes::new(p)))).sum();
            prop_assert_eq!(by_step, at_once);
        }
    }
}
