//! Pacing for window-based congestion control: cwnd leaves spread over a round trip instead of in bursts. The pacing
//! rate is a multiple of cwnd / SRTT: 2 in slow start, 1.2 in congestion avoidance, so that cwnd and not the pacing
//! rate limits the sender. State: SRTT and `FlightSize` at the last ACK. Unit: payload bits per second. Source: kernel,
//! `tcp_update_pacing_rate` with the default `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`.

use crate::window::Ack;
use shallop_core::{BitsPerSec, Bytes, Span};

/// Pacing rate in per cent of cwnd / SRTT, in slow start (`tcp_pacing_ss_ratio`) and in congestion avoidance
/// (`tcp_pacing_ca_ratio`).
const PACING_SS_RATIO: u64 = 200;
const PACING_CA_RATIO: u64 = 120;
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// Computes the pacing rate of one connection from cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    enabled: bool,
    /// Pacing rate in per cent of cwnd / SRTT, in congestion avoidance.
    ca_ratio: u64,
    srtt: Span,
    /// Bytes sent but not cumulatively acknowledged (`FlightSize` of RFC 5681).
    flight_size: Bytes,
}

impl Pacing {
    /// Pacing of a new connection; [`Pacing::rate`] is always `None` unless `enabled`.
    pub const fn new(enabled: bool) -> Self {
        Self { enabled, ca_ratio: PACING_CA_RATIO, srtt: Span::ZERO, flight_size: Bytes::ZERO }
    }

    /// Sets the pacing rate in congestion avoidance to `ca_ratio` per cent of cwnd / SRTT.
    pub(crate) const fn at(self, ca_ratio: u64) -> Self {
        Self { ca_ratio, ..self }
    }

    /// Records the SRTT and `FlightSize` of an ACK.
    pub fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.flight_size = Bytes::new(ack.snd_nxt.saturating_sub(ack.snd_una));
    }

    /// The pacing rate for this cwnd and ssthresh ([`pacing_rate`]); `None` before the first RTT sample.
    pub fn rate(&self, cwnd: Bytes, ssthresh: Bytes) -> Option<BitsPerSec> {
        self.enabled.then(|| rate_at(self.ca_ratio, cwnd, self.flight_size, ssthresh, self.srtt)).flatten()
    }
}

/// The pacing rate for this cwnd, `FlightSize`, ssthresh and SRTT; `None` before the first RTT sample. The ratio of
/// slow start applies below half of ssthresh only, since cwnd reaches ssthresh within the next round trip from there.
/// `FlightSize` replaces cwnd where it is larger, as after a reduction.
pub fn pacing_rate(cwnd: Bytes, flight: Bytes, ssthresh: Bytes, srtt: Span) -> Option<BitsPerSec> {
    rate_at(PACING_CA_RATIO, cwnd, flight, ssthresh, srtt)
}

fn rate_at(ca_ratio: u64, cwnd: Bytes, flight: Bytes, ssthresh: Bytes, srtt: Span) -> Option<BitsPerSec> {
    if srtt.is_zero() {
        return None;
    }
    let percent = if cwnd < ssthresh / 2 { PACING_SS_RATIO } else { ca_ratio };
    let bytes = u128::from(cwnd.max(flight).get());
    let bits = bytes * 8 * PS_PER_SEC / 100 * u128::from(percent);
    let rate = bits / u128::from(srtt.as_ps());
    Some(BitsPerSec::at_least_one(u64::try_from(rate).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: Bytes = Bytes::new(1_000);

    fn pacing(srtt: Span, flight_size: Bytes) -> Pacing {
        Pacing { srtt, flight_size, ..Pacing::new(true) }
    }

    #[test]
    fn the_pacing_rate_is_twice_cwnd_over_srtt_in_slow_start_and_1_2_times_it_afterwards() {
        let pacing = pacing(Span::from_ms(10), KB);
        let rate = |cwnd, ssthresh| pacing.rate(cwnd, ssthresh).map(BitsPerSec::get);
        // 100 KB in 10 ms are 80 Mb/s.
        assert_eq!(rate(KB * 100, Bytes::MAX), Some(160_000_000));
        assert_eq!(rate(KB * 100, KB * 100), Some(96_000_000));
        assert_eq!(rate(KB * 100, KB * 202), Some(160_000_000));
        assert_eq!(rate(KB * 100, KB * 200), Some(96_000_000), "cwnd is half of ssthresh");
    }

    #[test]
    fn flight_size_replaces_cwnd_after_a_reduction() {
        let pacing = pacing(Span::from_ms(10), KB * 150);
        let rate = pacing.rate(KB * 100, KB * 100).map(BitsPerSec::get);
        assert_eq!(rate, Some(144_000_000));
    }

    #[test]
    fn there_is_no_pacing_rate_without_an_rtt_sample_or_if_pacing_is_disabled() {
        assert_eq!(pacing(Span::ZERO, KB).rate(KB, KB), None);
        let disabled = Pacing { enabled: false, ..pacing(Span::from_ms(1), KB) };
        assert_eq!(disabled.rate(KB, KB), None);
    }

    #[test]
    fn the_largest_cwnd_and_the_shortest_srtt_do_not_overflow() {
        let largest = pacing(Span::from_ps(1), Bytes::MAX).rate(Bytes::MAX, Bytes::MAX);
        assert_eq!(largest, BitsPerSec::new(u64::MAX));
        let smallest = pacing(Span::MAX, Bytes::ZERO).rate(Bytes::new(1), Bytes::ZERO);
        assert_eq!(smallest, BitsPerSec::new(1));
    }
}
