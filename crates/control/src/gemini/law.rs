//! Gemini's formulas in integers, so that a kernel computes the same numbers. Nothing here has a state.
//!
//! | what | format | largest |
//! |---|---|---|
//! | C RTT | bits, from Kb/s times ns | 10^13: 1 Tb/s for 10 s, more counts as that |
//! | K | bits | 2^41, more counts as that |
//! | alpha, the part that was marked | 2^-10 | 1 |
//! | F, the scale of a cut | 2^-20 | 4 |
//! | a cut, alpha F or beta | 2^-20 | 1/2 |
//! | H | 2^-40 segments for each bit of C RTT | 1 |
//! | h, the step | 2^-16 segments a round trip | 5 |
//! | the window | whole segments | 2^27 |
//! | what was grown towards the next segment | 2^-16 segments times the window | one segment |
//!
//! No product exceeds 64 bits. Source: gemini-flashpass-thesis, 3.2.2, 3.3.3, Tables 3.3 and 3.4.

use shallop_core::{BitsPerSec, Bytes, Span};

/// F and cuts are in 2^-20.
pub const CUT_BITS: u32 = 20;
/// The largest cut, a half: F alone comes to 4 where K is much more than C RTT, and no window shrinks by more than
/// itself. The thesis is silent; half is what a loss takes.
pub const MOST_CUT: u64 = 1 << (CUT_BITS - 1);
/// H is in 2^-40.
pub const INCREASE_BITS: u32 = 40;
/// h is in 2^-16.
pub const STEP_BITS: u32 = 16;
/// The smallest and the largest h, 0.1 and 5 segments a round trip (thesis, 3.3.3).
pub const STEPS: (u64, u64) = (6_554, 5 << STEP_BITS);
/// The smallest window after a cut, as in Linux (`dctcp_ssthresh`).
pub const LEAST_WINDOW: u64 = 2;
/// The largest window.
pub const MOST_WINDOW: u64 = 1 << 27;

const ALPHA_BITS: u32 = 10;
const MOST_KBPS: u64 = 1_000_000_000;
const MOST_NS: u64 = 10_000_000_000;
const MOST_MARK: u64 = 1 << 41;

/// A window in whole segments, and what was grown towards the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Whole segments, at least one.
    pub whole: u64,
    /// The next segment is there when this reaches `whole` in 2^-16.
    pub grown: u64,
}

/// C RTT in bits: what the link carries in a round trip. Rates count in Kb/s, times in nanoseconds.
#[must_use]
pub fn product(capacity: BitsPerSec, base: Span) -> u64 {
    let kbps = (capacity.get() / 1_000).clamp(1, MOST_KBPS);
    let ns = (base.as_ps() / 1_000).min(MOST_NS);
    kbps * ns / 1_000_000
}

/// F = 4 K / (C RTT + K) in 2^-20, from K and from C RTT in bits.
#[must_use]
pub fn scale(mark: Bytes, product: u64) -> u64 {
    let mark = mark.get().saturating_mul(8).min(MOST_MARK);
    (mark << (CUT_BITS + 2)) / (product + mark).max(1)
}

/// h = H C RTT in 2^-16 segments a round trip, from H in 2^-40 and C RTT in bits.
#[must_use]
pub fn step(increase: u64, product: u64) -> u64 {
    let step = product.saturating_mul(increase) >> (INCREASE_BITS - STEP_BITS);
    step.clamp(STEPS.0, STEPS.1)
}

/// The part of the window that marks take, alpha F, in 2^-20.
#[must_use]
pub fn marked_cut(alpha: u32, scale: u64) -> u64 {
    ((u64::from(alpha) * scale) >> ALPHA_BITS).min(MOST_CUT)
}

/// A window after a cut in 2^-20: two segments at least. What is left of a segment counts as grown.
#[must_use]
pub fn shrink(window: Segments, cut: u64) -> Segments {
    let whole = window.whole.clamp(1, MOST_WINDOW);
    let exact = (whole << STEP_BITS) + window.grown / whole;
    let left = exact - ((exact * cut.min(MOST_CUT)) >> CUT_BITS);
    let (whole, part) = (left >> STEP_BITS, left & ((1 << STEP_BITS) - 1));
    if whole < LEAST_WINDOW {
        return Segments { whole: LEAST_WINDOW, grown: 0 };
    }
    Segments { whole, grown: part * whole }
}

/// A window after so many segments were acknowledged, each of which adds h / window. No more than a window's count:
/// it grows by h in a round trip.
#[must_use]
pub fn grow(window: Segments, acked: u64, step: u64) -> Segments {
    let Segments { mut whole, mut grown } = window;
    grown += acked.min(whole) * step;
    while grown >= whole << STEP_BITS && whole < MOST_WINDOW {
        grown -= whole << STEP_BITS;
        whole += 1;
    }
    Segments { whole, grown: grown.min(whole << STEP_BITS) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKET: u64 = 1_538;

    fn real(fixed: u64, bits: u32) -> f64 {
        fixed as f64 / (1u64 << bits) as f64
    }

    #[test]
    fn a_threshold_of_a_seventh_of_what_is_on_the_way_halves_as_dctcp_does() {
        let product = product(BitsPerSec::gbps(1), Span::from_ms(10));
        assert_eq!(product, 10_000_000);
        let seventh = Bytes::new(product / 8 / 7);
        let factor = real(scale(seventh, product), CUT_BITS);
        assert!((factor - 0.5).abs() < 1e-5, "{factor}");
    }

    #[test]
    fn a_gigabit_and_8_ms_grow_a_segment_a_round_trip_and_steps_have_bounds() {
        let increase = (1.2e-7 * (1u64 << INCREASE_BITS) as f64) as u64;
        let step = |gbps, rtt| step(increase, product(BitsPerSec::gbps(gbps), rtt));
        let one = real(step(1, Span::from_ms(8)), STEP_BITS);
        // 1.2e-7 times 8e6 is 0.96: the thesis rounds.
        assert!((one - 0.96).abs() < 1e-4, "{one}");
        assert_eq!(step(1, Span::from_us(50)), STEPS.0);
        assert_eq!(step(100, Span::from_ms(300)), STEPS.1);
        assert_eq!(step(u64::MAX / 1_000_000_000, Span::MAX), STEPS.1);
    }

    #[test]
    fn a_cut_carries_its_fraction_and_leaves_two_segments() {
        let cut = marked_cut(512, 1 << CUT_BITS >> 2);
        assert_eq!(cut, 1 << CUT_BITS >> 3);
        let from = Segments { whole: 10, grown: 0 };
        // 10 less an eighth is 8.75.
        let left = shrink(from, cut);
        assert_eq!(left, Segments { whole: 8, grown: (8 * 3) << (STEP_BITS - 2) });
        let few = Segments { whole: 2, grown: 99 };
        assert_eq!(shrink(few, cut), Segments { whole: 2, grown: 0 });
        assert_eq!(marked_cut(1024, 4 << CUT_BITS), MOST_CUT, "never more than half");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn integers_stay_within_an_eighth_per_cent_of_the_real_formulas(
            mbps in 100u64..=100_000,
            base_ns in 50_000u64..=300_000_000,
            packets in 5u64..=500,
        ) {
            let capacity = BitsPerSec::at_least_one(mbps * 1_000_000);
            let mark = Bytes::new(packets * PACKET * mbps / 1_000);
            let product = product(capacity, Span::from_ns(base_ns));
            let bits = capacity.get() as f64 * base_ns as f64 * 1e-9;
            let factor = 4.0 * mark.get() as f64 * 8.0 / (bits + mark.get() as f64 * 8.0);
            let error = real(scale(mark, product), CUT_BITS) / factor - 1.0;
            prop_assert!(error.abs() < 1.25e-3, "F is {} off", error);
            let h = (1.2e-7 * bits).clamp(0.1, 5.0);
            let error = real(step(131_941, product), STEP_BITS) / h - 1.0;
            prop_assert!(error.abs() < 2.1e-4, "h is {} off", error);
        }

        #[test]
        fn no_numbers_overflow_nor_break_what_a_window_is(
            capacity in 1u64.., base in any::<u64>(), mark in any::<u64>(), increase in any::<u64>(),
            whole in 1u64..=MOST_WINDOW, alpha in 0u32..=1024, acked in any::<u64>(),
        ) {
            let product = product(BitsPerSec::at_least_one(capacity), Span::from_ps(base));
            let (scale, step) = (scale(Bytes::new(mark), product), step(increase, product));
            prop_assert!(scale <= 4 << CUT_BITS && (STEPS.0..=STEPS.1).contains(&step));
            let window = Segments { whole, grown: whole << STEP_BITS >> 1 };
            let grown = grow(window, acked, step);
            prop_assert!((whole..=whole + 6).contains(&grown.whole));
            prop_assert!(grown.grown <= grown.whole << STEP_BITS);
            let left = shrink(grown, marked_cut(alpha, scale));
            prop_assert!(left.whole >= LEAST_WINDOW && left.whole <= grown.whole.max(2));
            prop_assert!(left.grown < left.whole << STEP_BITS);
        }
    }
}
