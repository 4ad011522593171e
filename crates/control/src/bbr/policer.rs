//! Token-bucket policers: two intervals in a row of 4 to 16 rounds that each lost a fifth of what they delivered, at
//! nearly the same rate, mean that something drops what exceeds that rate. It is then believed for 48 rounds. State: the
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
