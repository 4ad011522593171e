//! Gemini's formulas in integers, so that a kernel implementation gives the same numbers. No state.
//!
//! | quantity | format | maximum |
//! |---|---|---|
//! | `C RTT_base`, the bandwidth-delay product (BDP) | bits, from Kb/s times ns | 10^13 (1 Tb/s and 10 s); saturates |
//! | `K`, the marking threshold | bits | 2^41; saturates |
//! | `alpha`, the average fraction of marked bytes | 2^-10 | 1 |
//! | `F`, the scale factor | 2^-20 | 4 |
//! | `f_dcn` and `f_wan`, the extents of a reduction | 2^-20 | 1/2 |
//! | `H`, the increase parameter | 2^-40 segments per bit of BDP | 1 |
//! | `h`, the increase step | 2^-16 segments per round trip | 5 |
//! | cwnd | whole segments | 2^27 |
//! | `cwnd_cnt`, the progress to the next segment | 2^-16 segments times cwnd | one segment |
//!
//! No product exceeds 64 bits. Source: Zeng's doctoral thesis on Gemini and `FlashPass`, 3.2.2, 3.3.3, Tables 3.3 and
//! 3.4.

use shallop_core::{BitsPerSec, Bytes, Span};

/// Fractional bits of `F` and of the extents of reductions.
pub const REDUCTION_BITS: u32 = 20;
/// The largest reduction: half of cwnd, as for a loss. `alpha F` can exceed 1, since `F` approaches 4 where `K` is much
/// larger than the BDP, and the thesis gives no bound.
pub const MAX_REDUCTION: u64 = 1 << (REDUCTION_BITS - 1);
/// Fractional bits of `H`.
pub const H_BITS: u32 = 40;
/// Fractional bits of `h`.
pub const STEP_BITS: u32 = 16;
/// Minimum and maximum of `h`: 0.1 and 5 segments per round trip (thesis, 3.3.3).
pub const STEP_BOUNDS: (u64, u64) = (6_554, 5 << STEP_BITS);
/// Minimum cwnd after a reduction, in segments (kernel: `dctcp_ssthresh`).
pub const MIN_CWND: u64 = 2;
/// Maximum cwnd, in segments.
pub const MAX_CWND: u64 = 1 << 27;

const ALPHA_BITS: u32 = 10;
const MAX_KBPS: u64 = 1_000_000_000;
const MAX_NS: u64 = 10_000_000_000;
const MAX_K: u64 = 1 << 41;

/// Congestion window and the progress to its next segment (kernel: `snd_cwnd`, `snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cwnd {
    /// Whole segments, at least one.
    pub segments: u64,
    /// cwnd grows by one segment when this reaches `segments` in 2^-16.
    pub cwnd_cnt: u64,
}

/// Bandwidth-delay product `C RTT_base`, in bits. Capacities count in Kb/s, times in nanoseconds.
pub fn bdp(capacity: BitsPerSec, rtt_base: Span) -> u64 {
    let kbps = (capacity.get() / 1_000).clamp(1, MAX_KBPS);
    let ns = (rtt_base.as_ps() / 1_000).min(MAX_NS);
    kbps * ns / 1_000_000
}

/// Scale factor `F = 4 K / (C RTT_base + K)`, in 2^-20, from the marking threshold `k` and the BDP in bits.
pub fn scale_factor(k: Bytes, bdp: u64) -> u64 {
    let k = k.get().saturating_mul(8).min(MAX_K);
    (k << (REDUCTION_BITS + 2)) / (bdp + k).max(1)
}

/// Increase step `h = H C RTT_base`, in 2^-16 segments per round trip, from `H` in 2^-40 and the BDP in bits.
pub fn increase_step(h_parameter: u64, bdp: u64) -> u64 {
    let step = bdp.saturating_mul(h_parameter) >> (H_BITS - STEP_BITS);
    step.clamp(STEP_BOUNDS.0, STEP_BOUNDS.1)
}

/// Extent of the reduction for marks, `f_dcn = alpha F`, in 2^-20.
pub fn f_dcn(alpha: u32, scale_factor: u64) -> u64 {
    f_dcn_up_to(alpha, scale_factor, MAX_REDUCTION)
}

/// Extent of the reduction for marks with another bound than half.
pub fn f_dcn_up_to(alpha: u32, scale_factor: u64, max: u64) -> u64 {
    ((u64::from(alpha) * scale_factor) >> ALPHA_BITS).min(max)
}

/// cwnd after a reduction by `extent`, in 2^-20, or by half if that is less; at least two segments. A remaining
/// fraction of a segment becomes `cwnd_cnt`.
pub fn reduce(cwnd: Cwnd, extent: u64) -> Cwnd {
    reduce_by(cwnd, extent.min(MAX_REDUCTION))
}

/// cwnd after a reduction by `extent`, up to all of it; at least two segments.
pub fn reduce_by(cwnd: Cwnd, extent: u64) -> Cwnd {
    let segments = cwnd.segments.clamp(1, MAX_CWND);
    let exact = (segments << STEP_BITS) + cwnd.cwnd_cnt / segments;
    let reduced = exact - ((exact * extent.min(1 << REDUCTION_BITS)) >> REDUCTION_BITS);
    let (segments, fraction) = (reduced >> STEP_BITS, reduced & ((1 << STEP_BITS) - 1));
    if segments < MIN_CWND {
        return Cwnd { segments: MIN_CWND, cwnd_cnt: 0 };
    }
    Cwnd { segments, cwnd_cnt: fraction * segments }
}

/// cwnd after `acked` segments were acknowledged. Each segment adds h / cwnd, for at most cwnd segments, so that cwnd
/// grows by h per round trip.
pub fn grow(cwnd: Cwnd, acked: u64, step: u64) -> Cwnd {
    let Cwnd { mut segments, mut cwnd_cnt } = cwnd;
    cwnd_cnt += acked.min(segments) * step;
    while cwnd_cnt >= segments << STEP_BITS && segments < MAX_CWND {
        cwnd_cnt -= segments << STEP_BITS;
        segments += 1;
    }
    Cwnd { segments, cwnd_cnt: cwnd_cnt.min(segments << STEP_BITS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: u64 = 1_538;

    fn real(fixed: u64, bits: u32) -> f64 {
        fixed as f64 / (1u64 << bits) as f64
    }

    #[test]
    fn a_reduction_keeps_the_fraction_of_a_segment_and_leaves_two_segments() {
        let extent = f_dcn(512, 1 << REDUCTION_BITS >> 2);
        assert_eq!(extent, 1 << REDUCTION_BITS >> 3);
        // 10 less an eighth is 8.75.
        let reduced = reduce(Cwnd { segments: 10, cwnd_cnt: 0 }, extent);
        assert_eq!(reduced, Cwnd { segments: 8, cwnd_cnt: (8 * 3) << (STEP_BITS - 2) });
        let minimum = Cwnd { segments: 2, cwnd_cnt: 99 };
        assert_eq!(reduce(minimum, extent), Cwnd { segments: 2, cwnd_cnt: 0 });
        assert_eq!(f_dcn(1024, 4 << REDUCTION_BITS), MAX_REDUCTION, "never more than half");
        // alpha F = 3/4, with the thesis's law: a quarter of 100 segments is left; of alpha F above 1, two segments.
        let without_bound = |alpha, factor| f_dcn_up_to(alpha, factor, 1 << REDUCTION_BITS);
        let reduced = reduce_by(Cwnd { segments: 100, cwnd_cnt: 0 }, without_bound(256, 3 << REDUCTION_BITS));
        assert_eq!(reduced, Cwnd { segments: 25, cwnd_cnt: 0 });
        assert_eq!(reduce_by(reduced, without_bound(1024, 3 << REDUCTION_BITS)), Cwnd { segments: 2, cwnd_cnt: 0 });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn integers_stay_within_an_eighth_per_cent_of_the_formulas_in_real_numbers(
            mbps in 100u64..=100_000,
            base_ns in 50_000u64..=300_000_000,
            frames in 5u64..=500,
        ) {
            let capacity = BitsPerSec::at_least_one(mbps * 1_000_000);
            let k = Bytes::new(frames * FRAME * mbps / 1_000);
            let bdp = bdp(capacity, Span::from_ns(base_ns));
            let bits = capacity.get() as f64 * base_ns as f64 * 1e-9;
            let factor = 4.0 * k.get() as f64 * 8.0 / (bits + k.get() as f64 * 8.0);
            let error = real(scale_factor(k, bdp), REDUCTION_BITS) / factor - 1.0;
            prop_assert!(error.abs() < 1.25e-3, "F is {} off", error);
            let h = (1.2e-7 * bits).clamp(0.1, 5.0);
            let error = real(increase_step(131_941, bdp), STEP_BITS) / h - 1.0;
            prop_assert!(error.abs() < 2.1e-4, "h is {} off", error);
        }

        #[test]
        fn no_input_overflows_or_leaves_the_bounds_of_cwnd(
            capacity in 1u64.., base in any::<u64>(), k in any::<u64>(), h_parameter in any::<u64>(),
            segments in 1u64..=MAX_CWND, alpha in 0u32..=1024, acked in any::<u64>(),
        ) {
            let bdp = bdp(BitsPerSec::at_least_one(capacity), Span::from_ps(base));
            let factor = scale_factor(Bytes::new(k), bdp);
            let step = increase_step(h_parameter, bdp);
            let (min_step, max_step) = STEP_BOUNDS;
            prop_assert!(factor <= 4 << REDUCTION_BITS && (min_step..=max_step).contains(&step));
            let cwnd = Cwnd { segments, cwnd_cnt: segments << STEP_BITS >> 1 };
            let grown = grow(cwnd, acked, step);
            prop_assert!((segments..=segments + 6).contains(&grown.segments));
            prop_assert!(grown.cwnd_cnt <= grown.segments << STEP_BITS);
            let reduced = reduce(grown, f_dcn(alpha, factor));
            prop_assert!(reduced.segments >= MIN_CWND && reduced.segments <= grown.segments.max(2));
            prop_assert!(reduced.cwnd_cnt < reduced.segments << STEP_BITS);
        }
    }
}
