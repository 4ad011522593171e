//! Time, bytes and rates as types. Only operators that make physical sense are defined.
//!
//! The unit of time is a picosecond, which only this file knows: a 64 B frame takes 1.28 ns at 400 Gb/s, and 64 bits
//! last for 213 days.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::time::Duration;
use std::{iter::Sum, num::NonZeroU64};

const PS_PER_SEC: u64 = 1_000_000_000_000;

/// Point in time since the start of the run, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// Length of a time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// Number of bytes; on the wire, including preamble and inter-frame gap, unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// Rate in bit/s, never zero. [`crate::Pace`] computes serialisation times without rounding errors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSec(NonZeroU64);

/// Exact fraction of a link's rate, such as the 84/1622 that credits may use. Range: (0, 1].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Share {
    part: u64,
    whole: u64,
}

impl Time {
    pub const ZERO: Self = Self(0);
    /// Largest representable time; it stands for "never".
    pub const LAST: Self = Self(u64::MAX);

    /// Point in time `span` after the start of the run.
    pub const fn after_start(span: Span) -> Self {
        Self(span.0)
    }

    pub const fn since_start(self) -> Span {
        Span(self.0)
    }

    /// Span from `earlier` to `self`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Point in time `span` later; [`Time::LAST`] if the sum overflows.
    #[must_use]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Picoseconds since the start of the run, for ordered structures that need an integer key.
    pub(crate) const fn ticks(self) -> u64 {
        self.0
    }
}

impl Span {
    pub const ZERO: Self = Self(0);
    /// Longest span, 213 days.
    pub const MAX: Self = Self(u64::MAX);

    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * PS_PER_SEC)
    }

    /// Span of `secs` seconds, rounded to the nearest picosecond. Negative values and NaN give zero, too large ones
    /// [`Span::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * PS_PER_SEC as f64).round() as u64)
    }

    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to the nearest `f64`.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SEC as f64
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Difference of two spans; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Quotient of two spans; infinite for a zero `other`.
    pub fn ratio(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }

    /// This span times `factor`, rounded to the picosecond. Negative factors give zero.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl From<Duration> for Span {
    /// Saturates at [`Span::MAX`], 213 days.
    fn from(duration: Duration) -> Self {
        u64::try_from(duration.as_nanos().saturating_mul(1_000)).map_or(Self::MAX, Self)
    }
}

impl Bytes {
    pub const ZERO: Self = Self(0);
    /// Largest number of bytes; it stands for "no limit".
    pub const MAX: Self = Self(u64::MAX);

    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    /// Difference; zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Sum; [`Bytes::MAX`] if it overflows.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub fn ratio(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }

    /// Mean rate of this number of bytes over `span`, in bit/s; zero for a zero span.
    pub fn per(self, span: Span) -> f64 {
        if span.is_zero() { 0.0 } else { self.0 as f64 * 8.0 / span.as_secs_f64() }
    }
}

impl BitsPerSec {
    /// `None` for zero bit/s.
    pub const fn new(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// A rate in bit/s, raised to 1 if `bits` is zero, as the result of arithmetic may be.
    pub const fn at_least_one(bits: u64) -> Self {
        match NonZeroU64::new(bits) {
            Some(bits) => Self(bits),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// A rate of whole Gb/s; 0 gives 1 bit/s.
    pub const fn gbps(gbps: u64) -> Self {
        Self::at_least_one(gbps * 1_000_000_000)
    }

    /// The rate in bit/s.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// `share` times this rate, rounded to the nearest bit/s.
    #[must_use]
    pub fn share(self, share: Share) -> Self {
        let (part, whole) = (u128::from(share.part), u128::from(share.whole));
        let bits = (u128::from(self.get()) * part + whole / 2) / whole;
        Self::at_least_one(bits as u64)
    }

    /// This rate times `factor`, at least 1 bit/s.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self::at_least_one((self.get() as f64 * factor).round() as u64)
    }

    /// Whole bytes that fit in `span` at this rate.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bits = u128::from(self.get()) * u128::from(span.0) / u128::from(PS_PER_SEC);
        Bytes((bits / 8) as u64)
    }
}

impl Share {
    /// The fraction `part` / `whole`; `None` unless 0 < `part` <= `whole`.
    pub const fn new(part: u64, whole: u64) -> Option<Self> {
        if part == 0 || part > whole { None } else { Some(Self { part, whole }) }
    }

    /// The fraction `part` / (`part` + `rest`): for example the share of credits of 84 B, each of which releases a
    /// frame of 1538 B.
    pub const fn of(part: Bytes, rest: Bytes) -> Option<Self> {
        Self::new(part.0, part.0 + rest.0)
    }

    pub fn as_f64(self) -> f64 {
        self.part as f64 / self.whole as f64
    }

    /// Numerator and denominator, not reduced.
    pub const fn parts(self) -> (u64, u64) {
        (self.part, self.whole)
    }
}

/// Implements sums and differences of a quantity, and its products and quotients with integers.
macro_rules! linear {
    ($($unit:ident),*) => {$(
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $unit {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $unit {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $unit {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }
        impl Div<u64> for $unit {
            type Output = Self;
            fn div(self, parts: u64) -> Self {
                Self(self.0 / parts)
            }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self(0), Add::add)
            }
        }
    )*};
}
linear!(Span, Bytes);

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_ten_gigabits_rounds_to_the_nearest_bit() {
        let credits = Share::of(Bytes::new(84), Bytes::new(1538)).unwrap();
        assert_eq!(BitsPerSec::gbps(10).share(credits).get(), 517_879_162);
        assert_eq!(BitsPerSec::gbps(1).share(credits).get(), 51_787_916);
    }

    #[test]
    fn a_span_of_a_duration_of_more_than_213_days_is_the_longest_span() {
        assert_eq!(Span::from(Duration::from_nanos(1_500)), Span::from_ns(1_500));
        for days in [214, 400, 1_000_000_000] {
            assert_eq!(Span::from(Duration::from_secs(days * 24 * 3_600)), Span::MAX);
        }
    }

    #[test]
    fn a_share_is_a_part_of_a_whole() {
        assert_eq!(Share::new(0, 3), None);
        assert_eq!(Share::new(4, 3), None);
        assert_eq!(Share::new(3, 3).map(Share::as_f64), Some(1.0));
    }

    #[test]
    fn times_and_spans_keep_to_the_tick() {
        let start = Time::after_start(Span::from_ms(40));
        assert_eq!((start + Span::from_ps(1)) - start, Span::from_ps(1));
        assert_eq!(Time::ZERO.saturating_since(start), Span::ZERO);
        assert_eq!(Time::LAST.saturating_add(Span::from_ps(1)), Time::LAST);
    }

    #[test]
    fn bytes_pass_at_the_rate_they_should() {
        assert_eq!(BitsPerSec::gbps(10).bytes_in(Span::from_ms(40)), Bytes::new(50_000_000));
        assert!((Bytes::new(1250).per(Span::from_us(1)) - 1e10).abs() < 1e-3);
    }
}
