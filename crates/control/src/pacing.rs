//! Pacing for window controllers: a window leaves spread over its round trip instead of in bursts. The rate is the
//! window over the smoothed round-trip time, twice that in slow start, 1.2 times that otherwise, so that the window
//! stays what limits the sender. State: what the last acknowledgement told. Units: payload bits per second. Source:
//! kernel: `tcp_update_pacing_rate`, with `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio` as they come.

use shallop_core::form::{Form, Part, key};
use shallop_core::{BitsPerSec, Bytes, Span};

use crate::window::Ack;

/// Whether a controller that need not pace does.
pub const KEYS: Part =
    &[key("pacing", Form::Truth, "Packets leave evenly spaced, as in Linux. Default: false.")];

/// Per cent of a window that leave in a round trip.
const SLOW_START: u64 = 200;
const AVOIDANCE: u64 = 120;
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// The pace of one controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    on: bool,
    smoothed_rtt: Span,
    /// Sent and not yet acknowledged cumulatively.
    outstanding: Bytes,
}

impl Pacing {
    /// A pace, or none if it is not `on`.
    #[must_use]
    pub const fn new(on: bool) -> Self {
        Self { on, smoothed_rtt: Span::ZERO, outstanding: Bytes::ZERO }
    }

    /// Takes in what an acknowledgement tells.
    pub fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = ack.smoothed_rtt;
        self.outstanding = Bytes::new(ack.next.saturating_sub(ack.una));
    }

    /// The rate of a controller with this window whose slow start ends at `threshold`; `None` before the first
    /// round-trip sample. Half the threshold is where Linux takes slow start to be nearly over. What is outstanding
    /// counts if it is more than the window, which may have shrunk.
    #[must_use]
    pub fn rate(&self, window: Bytes, threshold: Bytes) -> Option<BitsPerSec> {
        if !self.on || self.smoothed_rtt.is_zero() {
            return None;
        }
        let percent = if window < threshold / 2 { SLOW_START } else { AVOIDANCE };
        let bytes = u128::from(window.max(self.outstanding).get());
        let bits = bytes * 8 * PS_PER_SEC / 100 * u128::from(percent);
        let rate = bits / u128::from(self.smoothed_rtt.as_ps());
        Some(BitsPerSec::at_least_one(u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: Bytes = Bytes::new(1_000);

    fn paced(rtt: Span, outstanding: Bytes) -> Pacing {
        Pacing { on: true, smoothed_rtt: rtt, outstanding }
    }

    #[test]
    fn two_windows_a_round_trip_in_slow_start_and_a_fifth_more_than_one_after_it() {
        let pacing = paced(Span::from_ms(10), KB);
        let rate = |window, threshold| pacing.rate(window, threshold).map(BitsPerSec::get);
        // 100 KB in 10 ms are 80 Mb/s.
        assert_eq!(rate(KB * 100, Bytes::MAX), Some(160_000_000));
        assert_eq!(rate(KB * 100, KB * 100), Some(96_000_000));
        assert_eq!(rate(KB * 100, KB * 202), Some(160_000_000));
        assert_eq!(rate(KB * 100, KB * 200), Some(96_000_000), "slow start is nearly over");
    }

    #[test]
    fn what_is_outstanding_counts_after_the_window_shrank() {
        let pacing = paced(Span::from_ms(10), KB * 150);
        let rate = pacing.rate(KB * 100, KB * 100).map(BitsPerSec::get);
        assert_eq!(rate, Some(144_000_000));
    }

    #[test]
    fn there_is_no_pace_before_a_sample_nor_where_it_is_not_asked_for() {
        assert_eq!(paced(Span::ZERO, KB).rate(KB, KB), None);
        let off = Pacing { on: false, ..paced(Span::from_ms(1), KB) };
        assert_eq!(off.rate(KB, KB), None);
    }

    #[test]
    fn the_largest_window_and_the_shortest_round_trip_do_not_overflow() {
        let most = paced(Span::from_ps(1), Bytes::MAX).rate(Bytes::MAX, Bytes::MAX);
        assert_eq!(most, BitsPerSec::new(u64::MAX));
        let least = paced(Span::MAX, Bytes::ZERO).rate(Bytes::new(1), Bytes::ZERO);
        assert_eq!(least, BitsPerSec::new(1));
    }
}
