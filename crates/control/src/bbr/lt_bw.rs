//! Long-term bandwidth sampling, which detects token-bucket policers: two consecutive sampling intervals of 4 to 16
//! rounds, with a loss rate of 20 % or more and nearly equal throughput, mean that the flow is policed. Their mean
//! throughput (`lt_bw`) is then used as the bandwidth for 48 rounds. State: the current interval, and the throughput of
//! the previous one. Units: bytes, bits per second. Source: kernel, `bbr_lt_bw_sampling`.

use shallop_core::{Bytes, Span, Time};

/// Minimum length of a sampling interval in rounds (kernel: `bbr_lt_intvl_min_rtts`); the maximum is four times as
/// long.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Minimum ratio of lost to delivered bytes in a policed interval, in 256ths (kernel: `bbr_lt_loss_thresh`).
const LOSS_THRESH: u64 = 50;
/// Two intervals have nearly equal throughput if it differs by at most an eighth (kernel: `bbr_lt_bw_ratio`) or by at
/// most 4 kb/s (kernel: `bbr_lt_bw_diff`).
const BW_RATIO: u64 = 8;
const BW_DIFF: u64 = 4_000;
/// Number of rounds for which `lt_bw` is used (kernel: `bbr_lt_bw_max_rtts`).
const MAX_USE_ROUNDS: u32 = 48;
/// Minimum length of a sampling interval in time.
const MIN_INTERVAL: Span = Span::from_ms(1);

/// State of the connection at an ACK or RTO.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub now: Time,
    /// Bytes delivered and bytes lost since the start of the connection.
    pub delivered: Bytes,
    pub lost: Bytes,
    /// Whether the ACK or RTO revealed a loss.
    pub has_losses: bool,
    pub is_app_limited: bool,
    pub round_start: bool,
}

/// Detects token-bucket policers and measures their rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LtBw {
    is_sampling: bool,
    use_bw: bool,
    /// Throughput of the previous interval, in bits per second; zero if there was none. While `use_bw` is set, the mean
    /// of the two intervals that agreed (`lt_bw`).
    bw: u64,
    /// Rounds so far in the sampling interval, or since `lt_bw` came into use.
    rtt_cnt: u32,
    /// Start of the sampling interval, and bytes delivered and lost until then.
    last_stamp: Time,
    last_delivered: Bytes,
    last_lost: Bytes,
}

impl LtBw {
    /// Rate of the policer in bit/s; `None` if no policer is detected.
    pub fn bw(&self) -> Option<u64> {
        self.use_bw.then_some(self.bw)
    }

    /// Processes an ACK or RTO. `probe_bw` says whether BBR is in mode `PROBE_BW`. Returns true if `lt_bw` expires, so
    /// that BBR must probe for bandwidth again.
    pub fn on_sample(&mut self, sample: &Sample, probe_bw: bool) -> bool {
        if self.use_bw {
            self.rtt_cnt += u32::from(probe_bw && sample.round_start);
            let expired = self.rtt_cnt >= MAX_USE_ROUNDS;
            if expired {
                *self = Self::default();
            }
            return expired;
        }
        if !self.is_sampling {
            // The first loss shows that the token bucket is empty. Until then the policer passes bursts at a higher
            // rate than its own.
            if !sample.has_losses {
                return false;
            }
            self.reset_interval(sample);
            self.is_sampling = true;
        }
        if sample.is_app_limited {
            *self = Self::default();
            return false;
        }
        self.rtt_cnt += u32::from(sample.round_start);
        if self.rtt_cnt > MAX_ROUNDS {
            *self = Self::default();
        } else if self.rtt_cnt >= MIN_ROUNDS && sample.has_losses {
            self.end_interval(sample);
        }
        false
    }

    fn reset_interval(&mut self, sample: &Sample) {
        self.last_stamp = sample.now;
        (self.last_delivered, self.last_lost) = (sample.delivered, sample.lost);
        self.rtt_cnt = 0;
    }

    /// Ends the sampling interval at a loss, which shows that the token bucket is empty again. The interval continues
    /// if too few bytes were lost or it is too short.
    fn end_interval(&mut self, sample: &Sample) {
        let delivered = sample.delivered.saturating_sub(self.last_delivered);
        let lost = sample.lost.saturating_sub(self.last_lost).get();
        let interval = sample.now.saturating_since(self.last_stamp);
        let below_loss_thresh = lost.saturating_mul(256) < LOSS_THRESH.saturating_mul(delivered.get());
        if delivered == Bytes::ZERO || below_loss_thresh || interval < MIN_INTERVAL {
            return;
        }
        let bw = delivered.per(interval) as u64;
        let diff = bw.abs_diff(self.bw);
        if self.bw > 0 && (diff.saturating_mul(BW_RATIO) <= self.bw || diff <= BW_DIFF) {
            (self.bw, self.use_bw, self.rtt_cnt) = (bw.midpoint(self.bw), true, 0);
        } else {
            self.bw = bw;
            self.reset_interval(sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_ms(10);

    /// Runs `count` rounds at a throughput of `bw` bit/s. The last one ends with a loss of `lost` 256ths of the bytes
    /// that they delivered. Returns true if `lt_bw` expired.
    fn rounds(lt_bw: &mut LtBw, sample: &mut Sample, count: u32, bw: u64, lost: u64) -> bool {
        let mut expired = false;
        let delivered = Bytes::new(bw / 8 / 100);
        for round in 1..=count {
            sample.now += ROUND;
            sample.delivered += delivered;
            sample.has_losses = round == count && lost > 0;
            if sample.has_losses {
                let total = delivered.get() * u64::from(count);
                sample.lost += Bytes::new((total * lost).div_ceil(256));
            }
            expired |= lt_bw.on_sample(sample, true);
        }
        expired
    }

    /// A detector after a first loss, which starts the first sampling interval.
    fn after_first_loss() -> (LtBw, Sample) {
        let mut sample = Sample { has_losses: true, ..Sample::default() };
        let mut lt_bw = LtBw::default();
        lt_bw.on_sample(&sample, true);
        sample.round_start = true;
        (lt_bw, sample)
    }

    #[test]
    fn two_intervals_of_equal_throughput_with_20_per_cent_of_loss_are_a_policer() {
        // Rounds, throughput and loss of the second interval; lt_bw after it.
        let table = [
            (4, 8_000_000, 50, Some(8_000_000)),
            (4, 8_000_000, 49, None),
            (3, 8_000_000, 50, None),
            (16, 8_000_000, 50, Some(8_000_000)),
            (17, 8_000_000, 50, None),
            (4, 9_000_000, 50, Some(8_500_000)),
            (4, 9_100_000, 50, None),
        ];
        for (count, bw, lost, expected) in table {
            let (mut lt_bw, mut sample) = after_first_loss();
            rounds(&mut lt_bw, &mut sample, 4, 8_000_000, 50);
            assert_eq!(lt_bw.bw(), None, "one interval is not enough");
            rounds(&mut lt_bw, &mut sample, count, bw, lost);
            assert_eq!(lt_bw.bw(), expected, "{count} rounds at {bw}, {lost} lost");
        }
    }

    #[test]
    fn lt_bw_is_used_for_48_rounds() {
        let (mut lt_bw, mut sample) = after_first_loss();
        for _ in 0..2 {
            rounds(&mut lt_bw, &mut sample, 4, 8_000_000, 50);
        }
        assert!(!rounds(&mut lt_bw, &mut sample, 47, 8_000_000, 0) && lt_bw.bw().is_some());
        assert!(rounds(&mut lt_bw, &mut sample, 1, 8_000_000, 0) && lt_bw.bw().is_none());
    }

    #[test]
    fn an_app_limited_sample_ends_the_sampling() {
        let (mut lt_bw, mut sample) = after_first_loss();
        rounds(&mut lt_bw, &mut sample, 4, 8_000_000, 50);
        sample.is_app_limited = true;
        rounds(&mut lt_bw, &mut sample, 1, 8_000_000, 0);
        sample.is_app_limited = false;
        rounds(&mut lt_bw, &mut sample, 4, 8_000_000, 50);
        assert_eq!(lt_bw.bw(), None);
    }
}
