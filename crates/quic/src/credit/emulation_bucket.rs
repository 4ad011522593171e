//! The token bucket of emulation packets: late ones leave in bursts that queues on the path can hold, and no more leave
//! than this host has time to answer with data.

use shallop_core::{Span, Time};

/// The most late emulation packets that leave at once at the start: half of a switch's queue for emulation packets.
pub(super) const BURST: u32 = 4;
/// The longest burst, packets: what one system call sends.
const MAX_BURST: u64 = 64;
/// The loss of emulation packets, 0 to 1, above which a burst longer than [`BURST`] counts as too long.
const MAX_LOSS: f64 = 0.02;
/// The time after which a burst that was too long is tried again.
const RETRY: Span = Span::from_secs(60);
/// One in this number of credits may be skipped before the host asks for fewer: single stalls of a host skip some.
const MAX_SKIPPED: u64 = 8;
/// The most to which two windows of many skipped credits reduce the rate at once.
const MAX_CUT: f64 = 0.85;
/// The factor of the gap between emulation packets in each window that skips few credits.
const FASTER: f64 = 0.9;
/// The most by which a host's speed lengthens the gap between emulation packets.
const MAX_SLOWDOWN: u64 = 16;
/// The least credits in a window by which a host's speed is judged.
const MIN_CREDITS: u64 = 20;

/// Tokens accrue at twice the rate of emulation packets. Each window of time, two things adapt:
/// - the size of the bucket, 4 to 64 packets: a host that is late because each wake-up costs it time sends longer
///   bursts, as long as they lose no emulation packets. Data leaves in such bursts, too, so they last no longer than
///   the slack of data packets;
/// - a limit of the rate: a host that skips credits because it is late asks for little more than it has used.
#[derive(Debug)]
pub(crate) struct EmulationBucket {
    window: Span,
    /// The longest time that a burst may take at the full rate.
    slack: Span,
    ends: Time,
    not_before: Time,
    burst: u32,
    /// The longest burst that the path holds, and when a longer one is tried again.
    ceiling: (u32, Time),
    /// Whether the bucket has held back a packet in this window.
    has_bound: bool,
    /// The credits used and skipped in this window.
    used: u64,
    skipped: u64,
    /// Whether the window before skipped many credits.
    was_slow: bool,
    /// The mean gap between packets at the last one.
    gap: Span,
    /// The least gap between emulation packets for which this host has time.
    least_gap: Span,
}

impl EmulationBucket {
    /// A full bucket that adapts once in each `window`.
    pub(crate) fn new(window: Span, slack: Span) -> Self {
        Self {
            window,
            slack,
            ends: Time::ZERO,
            not_before: Time::ZERO,
            burst: BURST,
            ceiling: (BURST, Time::ZERO),
            has_bound: false,
            used: 0,
            skipped: 0,
            was_slow: false,
            gap: Span::ZERO,
            least_gap: Span::ZERO,
        }
    }

    /// When an emulation packet that is planned for `at` may leave.
    pub(crate) fn earliest(&self, at: Time) -> Time {
        at.max(self.not_before)
    }

    /// How long packets that are due wait for each other, so that a late host wakes up once for several. The time is 0
    /// with a bucket of [`BURST`] packets, and one token interval longer for each further packet.
    pub(crate) fn turn(&self, gap: Span) -> Span {
        self.interval(gap) * u64::from(self.burst - BURST)
    }

    /// The time in which a token accrues.
    fn interval(&self, gap: Span) -> Span {
        (gap / 2).max(self.least_gap)
    }

    /// Takes a token for a packet that leaves `now` and was planned for `planned`. `gap` is the mean gap between
    /// packets.
    pub(crate) fn take(&mut self, now: Time, planned: Time, gap: Span) {
        self.has_bound |= self.not_before > planned;
        self.gap = gap;
        let interval = self.interval(gap);
        let room = (interval * u64::from(self.burst - 1)).min(now.since_start());
        self.not_before = self.not_before.max(now - room).saturating_add(interval);
    }

    /// Notes the departure of a data packet, or that its credit was skipped because this host is late. `loss` is the
    /// newest loss of emulation packets, 0 to 1.
    pub(crate) fn on_departure(&mut self, now: Time, is_skipped: bool, loss: f64) {
        *(if is_skipped { &mut self.skipped } else { &mut self.used }) += 1;
        if now < self.ends {
            return;
        }
        self.adapt_burst(now, loss);
        self.adapt_rate();
        self.ends = now.saturating_add(self.window);
        (self.has_bound, self.used, self.skipped) = (false, 0, 0);
    }

    fn adapt_burst(&mut self, now: Time, loss: f64) {
        if now >= self.ceiling.1 {
            let most = self.slack.as_ps() / self.gap.as_ps().max(1);
            self.ceiling.0 = most.min(MAX_BURST).max(u64::from(BURST)) as u32;
        }
        if loss > MAX_LOSS && self.burst > BURST {
            self.burst = (self.burst * 3 / 4).max(BURST);
            self.ceiling = (self.burst, now.saturating_add(RETRY));
        } else if self.has_bound && loss <= MAX_LOSS {
            self.burst = (self.burst + self.burst / 2).min(self.ceiling.0);
        }
    }

    /// A single window of many skipped credits is a stall of the host, and changes nothing.
    fn adapt_rate(&mut self) {
        let credits = self.used + self.skipped;
        let is_slow = credits >= MIN_CREDITS && self.skipped * MAX_SKIPPED > credits;
        if std::mem::replace(&mut self.was_slow, is_slow) && is_slow {
            let part = (self.used as f64 / credits as f64).max(MAX_CUT);
            let slower = self.least_gap.max(self.gap).scale(1.0 / part);
            self.least_gap = slower.min(self.gap * MAX_SLOWDOWN);
        } else if !is_slow {
            self.least_gap = self.least_gap.scale(FASTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Span = Span::from_ms(20);
    const GAP: Span = Span::from_us(10);
    const SLACK: Span = Span::from_ms(1);

    /// The packets that leave at once when all of a second are late.
    fn burst(bucket: &mut EmulationBucket, now: Time) -> u32 {
        let mut count = 0;
        while bucket.earliest(Time::ZERO) <= now {
            bucket.take(now, Time::ZERO, GAP);
            count += 1;
        }
        count
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn bursts_grow_while_they_bind_and_lose_nothing_and_shrink_at_a_loss() {
        let mut bucket = EmulationBucket::new(WINDOW, SLACK);
        let mut bursts = Vec::new();
        for window in 1..40 {
            let now = at_ms(window * 20);
            bursts.push(burst(&mut bucket, now));
            bucket.on_departure(now, false, if window == 15 { 0.1 } else { 0.0 });
        }
        assert_eq!(bursts[..4], [4, 6, 9, 13], "a half more in each window");
        assert!(bursts[..14].is_sorted(), "{bursts:?}");
        let (before, after) = (bursts[14], bursts[15]);
        assert_eq!(after, before * 3 / 4, "{bursts:?}");
        assert_eq!(bursts[38], after, "no longer ones for a minute");
        bucket.on_departure(at_ms(61_000), false, 0.0);
        burst(&mut bucket, at_ms(62_000));
        bucket.on_departure(at_ms(62_000), false, 0.0);
        assert!(burst(&mut bucket, at_ms(63_000)) >= after);
    }

    #[test]
    fn bursts_last_no_longer_than_the_slack() {
        for (slack, longest) in [(230, 23), (30, 4), (1_000, 64)] {
            let mut bucket = EmulationBucket::new(WINDOW, Span::from_us(slack));
            for window in 1..40 {
                assert!(burst(&mut bucket, at_ms(window * 20)) <= longest);
                bucket.on_departure(at_ms(window * 20), false, 0.0);
            }
            assert_eq!(burst(&mut bucket, at_ms(1_000)), longest, "{slack}");
        }
    }

    #[test]
    fn bursts_stay_short_where_the_bucket_holds_nothing_back() {
        let mut bucket = EmulationBucket::new(WINDOW, SLACK);
        for packet in 1..20_000 {
            let now = Time::ZERO + GAP * packet;
            bucket.take(now, now, GAP);
            bucket.on_departure(now, false, 0.0);
        }
        assert_eq!(bucket.burst, BURST);
    }

    /// Emulation packets of a second, at a host that answers one credit in `each` and skips others.
    fn emulated(bucket: &mut EmulationBucket, from: Time, each: u64) -> u64 {
        let (mut now, mut count) = (from, 0);
        while now < from + Span::from_secs(1) {
            now = bucket.earliest(now + GAP);
            bucket.take(now, now, GAP);
            count += 1;
            bucket.on_departure(now, count % each != 0, 0.0);
        }
        count
    }

    #[test]
    fn a_host_that_skips_credits_asks_for_fewer_and_for_all_once_it_keeps_up() {
        let mut bucket = EmulationBucket::new(WINDOW, SLACK);
        assert!(emulated(&mut bucket, at_ms(0), 1) > 99_000, "all are used");
        let few = emulated(&mut bucket, at_ms(1_000), 3);
        assert!((6_000..20_000).contains(&few), "a third in each window, down to a sixteenth of the rate: {few}");
        emulated(&mut bucket, at_ms(2_000), 1);
        let again = emulated(&mut bucket, at_ms(3_000), 1);
        assert!(again > 99_000, "{again}");
    }
}
