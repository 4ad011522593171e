//! ACK aggregation: estimates the bytes that ACKs deliver in excess of the bottleneck bandwidth (`extra_acked`). cwnd
//! is increased by this excess, so that the sender can send until the next aggregated ACK. State: the current epoch,
//! which begins when the acknowledged bytes are not above the expected ones, and the maximum excess of the last five to
//! ten rounds. Units: bytes. Source: kernel, `bbr_update_ack_aggregation`.

use crate::window::Ack;
use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// Rounds in each of the two windows of the maximum filter (kernel: `bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// Upper bound of the increase of cwnd: the bytes delivered in this time at the bottleneck bandwidth (kernel:
/// `bbr_extra_acked_max_us`).
const MAX_TIME: Span = Span::from_ms(100);

/// Estimates how many bytes ACKs deliver at once beyond the bottleneck bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    /// Time at which the current epoch began (kernel: `ack_epoch_mstamp`).
    epoch_start: Option<Time>,
    /// Bytes acknowledged in the current epoch (kernel: `ack_epoch_acked`).
    epoch_acked: Bytes,
    /// Number of rounds so far in the current window of the filter.
    rounds: u32,
    /// Maximum excess of the current and of the previous window (kernel: `extra_acked`).
    extra_acked: [Bytes; 2],
}

impl AckAggregation {
    /// Processes an ACK with a rate sample. `round_start`: the ACK begins a round; `bw`: the bottleneck bandwidth.
    pub fn on_ack(&mut self, ack: &Ack, round_start: bool, bw: Option<BitsPerSec>, cwnd: Bytes) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                (self.rounds, self.extra_acked) = (0, [Bytes::ZERO, self.extra_acked[0]]);
            }
        }
        let epoch_start = *self.epoch_start.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_since(epoch_start);
        let mut expected_acked = bw.map_or(Bytes::ZERO, |bw| bw.bytes_in(elapsed));
        if self.epoch_acked <= expected_acked {
            (self.epoch_start, self.epoch_acked) = (Some(ack.now), Bytes::ZERO);
            expected_acked = Bytes::ZERO;
        }
        self.epoch_acked += ack.acked_sacked;
        let extra = self.epoch_acked.saturating_sub(expected_acked).min(cwnd);
        self.extra_acked[0] = self.extra_acked[0].max(extra);
    }

    /// Begins an epoch, because transmission restarts after an idle period.
    pub fn restart(&mut self, now: Time) {
        (self.epoch_start, self.epoch_acked) = (Some(now), Bytes::ZERO);
    }

    /// Bytes by which cwnd is increased (kernel: `bbr_ack_aggregation_cwnd`).
    pub fn cwnd_increase(&self, bw: Option<BitsPerSec>) -> Bytes {
        let max = bw.map_or(Bytes::ZERO, |bw| bw.bytes_in(MAX_TIME));
        self.extra_acked[0].max(self.extra_acked[1]).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Ack;

    const SEGMENT: Bytes = Bytes::new(1_000);
    /// Test bandwidth of one segment per millisecond.
    const BW: BitsPerSec = BitsPerSec::at_least_one(8_000_000);

    fn ack(now: Time, acked_sacked: Bytes) -> Ack {
        Ack { now, acked_sacked, is_cwnd_limited: true, snd_una_advance: acked_sacked, ..Ack::default() }
    }

    /// Increase of cwnd, in segments, after rounds of 40 segments. Each ACK covers `aggregated` segments, at slightly
    /// less than the bottleneck bandwidth; cwnd is 80 segments.
    fn after(aggregation: &mut AckAggregation, now: &mut Time, rounds: u32, aggregated: u64) -> u64 {
        for _ in 0..rounds {
            for nth in 0..40 / aggregated {
                *now += Span::from_us(1_100 * aggregated);
                let ack = ack(*now, SEGMENT * aggregated);
                aggregation.on_ack(&ack, nth == 0, Some(BW), SEGMENT * 80);
            }
        }
        aggregation.cwnd_increase(Some(BW)).get() / SEGMENT.get()
    }

    #[test]
    fn an_aggregated_ack_increases_cwnd_for_five_to_ten_rounds() {
        let (mut aggregation, mut now) = (AckAggregation::default(), Time::ZERO);
        assert_eq!(after(&mut aggregation, &mut now, 10, 1), 1);
        assert_eq!(after(&mut aggregation, &mut now, 1, 8), 8);
        assert_eq!(after(&mut aggregation, &mut now, 5, 1), 8);
        assert_eq!(after(&mut aggregation, &mut now, 5, 1), 1);
    }

    #[test]
    fn the_increase_is_at_most_cwnd_and_the_bytes_of_100_ms() {
        let (mut aggregation, mut now) = (AckAggregation::default(), Time::ZERO);
        aggregation.on_ack(&ack(now, SEGMENT * 90), true, Some(BW), SEGMENT * 80);
        assert_eq!(aggregation.cwnd_increase(Some(BW)), SEGMENT * 80);
        now += Span::from_secs(1);
        aggregation.on_ack(&ack(now, SEGMENT * 200), false, Some(BW), SEGMENT * 300);
        assert_eq!(aggregation.cwnd_increase(Some(BW)), SEGMENT * 100);
    }
}
