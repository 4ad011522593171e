//! The ideal completion time of a flow, alone in an empty network: the denominator of the slowdown.

use shallop_core::{BitsPerSec, Span};
use shallop_proto::wire;

const PS_PER_BYTE_AT_ONE_BPS: u128 = 8_000_000_000_000;

/// Computes the time from the start of a flow to the arrival of its last byte over idle links, given as (rate, delay)
/// in the order of the path. A full frame carries `payload` bytes; the last one carries the rest of `bytes`. Frames
/// include headers, preamble and gap. The time is zero for no bytes.
///
/// The time is rounded down to the picosecond at each link, so that no run is faster than the ideal. It is
/// [`Span::MAX`] if it exceeds that.
pub fn ideal_fct(links: impl Iterator<Item = (BitsPerSec, Span)>, payload: u64, bytes: u64) -> Span {
    if bytes == 0 {
        return Span::ZERO;
    }
    let payload = payload.clamp(1, wire::MAX_PAYLOAD);
    let full = u128::from(wire::data_frame(payload));
    // All frames but the last are full.
    let before = u128::from((bytes - 1) / payload);
    let last = u128::from(wire::data_frame((bytes - 1) % payload + 1));
    // `first`: the time to send the first frame over all links so far. `arrived`: when the last frame has arrived.
    // `delays`: sum of delays so far. `slowest`: the slowest link so far, which sets the pace of full frames.
    let (mut first, mut arrived, mut delays, mut slowest) = (0, 0, 0, None);
    for (rate, delay) in links {
        let takes = |size: u128| size * PS_PER_BYTE_AT_ONE_BPS / u128::from(rate.get());
        let slow = slowest.map_or(rate, |slow: BitsPerSec| slow.min(rate));
        slowest = Some(slow);
        let free = if before == 0 {
            0
        } else {
            first += takes(full);
            let others = (before - 1) * full * PS_PER_BYTE_AT_ONE_BPS / u128::from(slow.get());
            first + others + delays
        };
        let delay = u128::from(delay.as_ps());
        arrived = free.max(arrived) + takes(last) + delay;
        delays += delay;
    }
    u64::try_from(arrived).map_or(Span::MAX, Span::from_ps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::{Bytes, Pace};

    fn ideal(links: &[(u64, Span)], payload: u64, bytes: u64) -> Span {
        let links = links.iter().map(|&(rate, delay)| (BitsPerSec::at_least_one(rate), delay));
        ideal_fct(links, payload, bytes)
    }

    #[test]
    fn two_hops_take_the_time_computed_by_hand() {
        let links = [(10_000_000_000, Span::from_us(100)), (1_000_000_000, Span::from_us(500))];
        // Two full frames of 1538 B and a smallest one of 84 B: the first is at the switch after 1.2304 us and 100 us;
        // the second link then takes 12.304 us for each full frame and 0.672 us for the last, and 500 us.
        let by_hand = Span::from_ps(1_230_400 + 100_000_000 + 2 * 12_304_000 + 672_000 + 500_000_000);
        assert_eq!(ideal(&links, 1460, 2 * 1460 + 1), by_hand);
        // A single byte: 84 B on both links.
        let single = Span::from_ps(67_200 + 672_000 + 600_000_000);
        assert_eq!(ideal(&links, 1460, 1), single);
        assert_eq!(ideal(&links, 1460, 0), Span::ZERO);
        // The slow link first: the fast one only adds its own time for the last frame.
        let back = [links[1], links[0]];
        let by_hand = Span::from_ps(3 * 12_304_000 + 500_000_000 + 1_230_400 + 100_000_000);
        assert_eq!(ideal(&back, 1460, 3 * 1460), by_hand);
    }

    #[test]
    fn a_time_that_does_not_fit_is_span_max() {
        assert_eq!(ideal(&[(1, Span::MAX)], 1, u64::MAX), Span::MAX);
    }

    /// Simulates every frame: it starts on a link when it has arrived and the frame before it has left.
    fn brute_force(links: &[(u64, Span)], payload: u64, bytes: u64) -> Span {
        let mut here: Vec<(Span, Bytes)> = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let body = left.min(payload);
            here.push((Span::ZERO, Bytes::new(u64::from(wire::data_frame(body)))));
            left -= body;
        }
        for &(rate, delay) in links {
            let mut pace = Pace::new(BitsPerSec::at_least_one(rate));
            let mut free = Span::ZERO;
            for (at, size) in &mut here {
                free = free.max(*at) + pace.charge(*size);
                *at = free + delay;
            }
        }
        here.last().map_or(Span::ZERO, |frame| frame.0)
    }

    proptest! {
        #[test]
        fn the_ideal_equals_a_simulation_of_every_frame(
            links in prop::collection::vec((1_000u64..400_000_000_000, 0u64..100_000_000_000), 1..7),
            payload in 1u64..9_000,
            bytes in 1u64..300_000,
        ) {
            let links: Vec<_> =
                links.into_iter().map(|(rate, delay)| (rate, Span::from_ps(delay))).collect();
            let bytes = bytes.min(payload * 500);
            let (ideal, simulated) =
                (ideal(&links, payload, bytes), brute_force(&links, payload, bytes));
            // Each link may round once, up or down.
            let apart = ideal.max(simulated) - ideal.min(simulated);
            prop_assert!(apart.as_ps() <= 3 * links.len() as u64, "{} {}", ideal, simulated);
        }
    }
}
