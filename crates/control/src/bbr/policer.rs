//! Token-bucket policers: two intervals in a row of 4 to 16 rounds that each lost a fifth of what they delivered, at
//! nearly the same rate, mean that something drops what exceeds it. It is then believed for 48 rounds. State: the
//! interval in progress and the rate of the last. Units: bytes, bits per second. Source: kernel, `bbr_lt_bw_sampling`.

use shallop_core::{Bytes, Span, Time};

/// Rounds of an interval, at least and at most.
const ROUNDS: [u32; 2] = [4, 16];
/// Lost of delivered, in 256ths, that makes an interval one of a policer.
const LOSS: u64 = 50;
/// Two rates are the same if they differ by no more than an eighth, or by 4 kb/s.
const NEAR: u64 = 8;
const NEAR_BITS: u64 = 4_000;
/// Rounds for which the rate is believed.
const BELIEVED: u32 = 48;
/// Intervals shorter than this say nothing.
const SHORTEST: Span = Span::from_ms(1);

/// What an acknowledgement means to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub now: Time,
    /// All bytes delivered, and all taken for lost.
    pub delivered: Bytes,
    pub lost: Bytes,
    /// Something was just taken for lost.
    pub losing: bool,
    /// The application held the sender back.
    pub limited: bool,
    /// A round begins.
    pub round: bool,
}

/// The search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    believed: bool,
    /// Of the last interval, in bits per second; zero if there was none.
    rate: u64,
    rounds: u32,
    since: Time,
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    /// The rate of a policer, if there is one.
    pub fn rate(&self) -> Option<u64> {
        self.believed.then_some(self.rate)
    }

    /// Takes in an acknowledgement; `steady` unless the sender starts up or holds back. True if the rate has been
    /// believed for long enough, and the path is to be probed again.
    pub fn on_ack(&mut self, sight: &Sight, steady: bool) -> bool {
        if self.believed {
            self.rounds += u32::from(steady && sight.round);
            let over = self.rounds >= BELIEVED;
            if over {
                *self = Self::default();
            }
            return over;
        }
        if !self.sampling {
            // The first loss says that the bucket is empty; before it, bursts pass faster than the policer's rate.
            if !sight.losing {
                return false;
            }
            self.begin(sight);
            self.sampling = true;
        }
        if sight.limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(sight.round);
        if self.rounds > ROUNDS[1] {
            *self = Self::default();
        } else if self.rounds >= ROUNDS[0] && sight.losing {
            self.judge(sight);
        }
        false
    }

    fn begin(&mut self, sight: &Sight) {
        (self.since, self.delivered, self.lost) = (sight.now, sight.delivered, sight.lost);
        self.rounds = 0;
    }

    /// A loss ends an interval that is long enough, as the bucket is empty again.
    fn judge(&mut self, sight: &Sight) {
        let delivered = sight.delivered.saturating_sub(self.delivered);
        let lost = sight.lost.saturating_sub(self.lost).get();
        let lasted = sight.now.saturating_since(self.since);
        let little = lost.saturating_mul(256) < LOSS.saturating_mul(delivered.get());
        if delivered == Bytes::ZERO || little || lasted < SHORTEST {
            return;
        }
        let rate = delivered.per(lasted) as u64;
        let apart = rate.abs_diff(self.rate);
        if self.rate > 0 && (apart.saturating_mul(NEAR) <= self.rate || apart <= NEAR_BITS) {
            (self.rate, self.believed, self.rounds) = (rate.midpoint(self.rate), true, 0);
        } else {
            self.rate = rate;
            self.begin(sight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_ms(10);

    /// Rounds of this rate, in bits per second, of which the last ends with the loss of so many 256ths of what all of
    /// them delivered.
    fn rounds(policer: &mut Policer, sight: &mut Sight, count: u32, rate: u64, lost: u64) -> bool {
        let mut over = false;
        let each = Bytes::new(rate / 8 / 100);
        for round in 1..=count {
            sight.now += ROUND;
            sight.delivered += each;
            sight.losing = round == count && lost > 0;
            if sight.losing {
                sight.lost += Bytes::new((each.get() * u64::from(count) * lost).div_ceil(256));
            }
            over |= policer.on_ack(sight, true);
        }
        over
    }

    /// A policer after the first loss.
    fn emptied() -> (Policer, Sight) {
        let (delivered, lost) = (Bytes::ZERO, Bytes::ZERO);
        let (now, round) = (Time::ZERO, false);
        let mut sight = Sight { now, delivered, lost, losing: true, limited: false, round };
        let mut policer = Policer::default();
        policer.on_ack(&sight, true);
        sight.round = true;
        (policer, sight)
    }

    #[test]
    fn two_intervals_of_four_rounds_at_one_rate_with_a_fifth_lost_are_a_policer() {
        // Rounds, rate and loss of the second interval; and the rate believed.
        let table = [
            (4, 8_000_000, 50, Some(8_000_000)),
            (4, 8_000_000, 49, None),
            (3, 8_000_000, 50, None),
            (16, 8_000_000, 50, Some(8_000_000)),
            (17, 8_000_000, 50, None),
            (4, 9_000_000, 50, Some(8_500_000)),
            (4, 9_100_000, 50, None),
        ];
        for (count, rate, lost, believed) in table {
            let (mut policer, mut sight) = emptied();
            rounds(&mut policer, &mut sight, 4, 8_000_000, 50);
            assert_eq!(policer.rate(), None, "one interval is not enough");
            rounds(&mut policer, &mut sight, count, rate, lost);
            assert_eq!(policer.rate(), believed, "{count} rounds at {rate}, {lost} lost");
        }
    }

    #[test]
    fn the_rate_is_believed_for_48_rounds() {
        let (mut policer, mut sight) = emptied();
        for _ in 0..2 {
            rounds(&mut policer, &mut sight, 4, 8_000_000, 50);
        }
        assert!(!rounds(&mut policer, &mut sight, 47, 8_000_000, 0) && policer.rate().is_some());
        assert!(rounds(&mut policer, &mut sight, 1, 8_000_000, 0) && policer.rate().is_none());
    }

    #[test]
    fn want_of_data_ends_the_search() {
        let (mut policer, mut sight) = emptied();
        rounds(&mut policer, &mut sight, 4, 8_000_000, 50);
        sight.limited = true;
        rounds(&mut policer, &mut sight, 1, 8_000_000, 0);
        sight.limited = false;
        rounds(&mut policer, &mut sight, 4, 8_000_000, 50);
        assert_eq!(policer.rate(), None);
    }
}
