//! Slow start, and the algorithms that end it before the first loss: Linux's classic `HyStart` and `HyStart++`.
//! State: the minimum RTT of the current and of the last round. Units: bytes, time.
//! Sources: RFC 5681, 3.1; RFC 3465 (limit L of appropriate byte counting); RFC 9406 (`HyStart++`, whose names the
//! constants and variables have); kernel, `tcp_cubic.c`: `hystart_update` (classic `HyStart`).

use crate::{options::LONGEST, window::Ack};
use shallop_core::{Bytes, Span, Time};
use shallop_options::{Key, KeyDoc, Options, Problem, Section, string_enum};

/// Lower bound of the RTT increase that ends slow start, which is an eighth of the RTT (RFC 9406, 4.3; kernel:
/// `HYSTART_DELAY_MIN`).
const MIN_RTT_THRESH: Span = Span::from_ms(4);
const MAX_RTT_THRESH: Span = Span::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
/// Number of RTT samples in a round before their minimum is used (RFC 9406; kernel: `HYSTART_MIN_SAMPLES`).
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of the growth of cwnd in Conservative Slow Start (CSS) of `HyStart++` (RFC 9406, 4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Number of rounds of CSS after which congestion avoidance begins (RFC 9406, 4.3).
const CSS_ROUNDS: u32 = 5;
/// Classic `HyStart`: largest gap between two ACKs of one ACK train (kernel: `hystart_ack_delta_us`).
const ACK_DELTA: Span = Span::from_ms(2);
/// Classic `HyStart`: the delay that segmentation offload adds to an ACK train is the time to send this many bursts at
/// the pacing rate, at most `ACK_DELAY_MAX` (kernel: `hystart_ack_delay`).
const ACK_DELAY_BURSTS: u64 = 4;
const ACK_DELAY_MAX: Span = Span::from_ms(1);

/// Parameters of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Limit L of the growth per ACK, in segments: 1 (RFC 5681), 2 (RFC 3465), 8 (RFC 9406), `u64::MAX` (Linux).
    pub limit: u64,
    /// The algorithm that may end slow start before the first loss.
    pub exit: Exit,
    /// ssthresh of the first slow start; `None` if slow start ends at congestion.
    pub initial_threshold: Option<Bytes>,
}

/// The algorithm that may end slow start before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// No algorithm: slow start ends with a loss or mark.
    Loss,
    /// Classic `HyStart`: a long ACK train or an RTT increase ends slow start.
    Classic(Classic),
    /// `HyStart++`: an RTT increase that persists for several rounds ends slow start.
    PlusPlus,
}

/// Parameters of classic `HyStart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic {
    /// cwnd, in segments, below which `HyStart` is inactive (kernel: `hystart_low_window`).
    pub low_window: u64,
    /// Upper bound of the RTT increase that ends slow start. Linux: 16 ms; ns-3: 1 s.
    pub delay_max: Span,
    /// Largest burst that the host passes to its link (kernel: `sk_gso_max_size`); bursts delay ACKs.
    pub burst: Bytes,
}

impl Classic {
    /// Values of Linux, with bursts of the largest GSO packet.
    pub const LINUX: Self = Self { low_window: 16, delay_max: MAX_RTT_THRESH, burst: Bytes::new(65_536) };
}

impl Config {
    /// Grows by one segment for each ACK, until a loss (RFC 5681).
    pub const STANDARD: Self = Self { limit: 1, exit: Exit::Loss, initial_threshold: None };
    /// Grows by the acknowledged bytes, until a loss (Linux without `HyStart`).
    pub const UNLIMITED: Self = Self { limit: u64::MAX, ..Self::STANDARD };
    /// Grows by the acknowledged bytes, with classic `HyStart` (Linux).
    pub const LINUX: Self = Self { exit: Exit::Classic(Classic::LINUX), ..Self::UNLIMITED };
    /// [`Config::LINUX`] in ns-3, which tolerates an RTT increase of one second.
    pub const NS3: Self =
        Self { exit: Exit::Classic(Classic { delay_max: Span::from_secs(1), ..Classic::LINUX }), ..Self::UNLIMITED };
    /// `HyStart++` without pacing (RFC 9406).
    pub const PLUS_PLUS: Self = Self { limit: 8, exit: Exit::PlusPlus, ..Self::STANDARD };

    /// Returns `default` unchanged: the derive macro requires a function of this name, and controllers supply the
    /// value.
    pub const fn defaults(default: Self) -> Self {
        default
    }

    /// Parameters of classic `HyStart`. If `exit` is another algorithm, they have the values of Linux and no effect.
    const fn classic(&self) -> Classic {
        match self.exit {
            Exit::Classic(classic) => classic,
            _ => Classic::LINUX,
        }
    }
}

/// The words for [`Exit`] in scenarios, without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExitBy {
    Loss,
    Classic,
    PlusPlus,
}

string_enum! { ExitBy { Loss = "off", Classic = "classic", PlusPlus = "plus-plus" } }

/// The keys in scenarios that make a [`Config`].
#[derive(Clone, Copy, Options)]
#[options(preset, check)]
struct Keys {
    /// The rule that ends slow start before a loss: none, classic HyStart (a long train of acknowledgements or a
    /// rise of the round-trip time; Linux), or HyStart++ (RFC 9406).
    pub hystart: ExitBy,
    /// Classic HyStart: the congestion window below which it does not act, in segments (Linux: `hystart_low_window`).
    #[key(Integer(0, 1_000_000))]
    pub hystart_low_window: u64,
    /// Classic HyStart: the largest rise of the round-trip time that it tolerates.
    #[key(Time(Span::ZERO, LONGEST))]
    pub hystart_delay_max: Span,
    /// Growth per acknowledgement in slow start, in segments, at most (RFC 5681: 1; RFC 3465: 2).
    #[key(Integer(1, 1_000_000), or = "none: all that is acknowledged")]
    pub slow_start_limit: Option<u64>,
    /// The slow-start threshold of a new connection.
    #[key(Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)), or = "none: slow start ends at congestion")]
    pub initial_threshold: Option<Bytes>,
}

impl Keys {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let classic = [Self::KEY.hystart_low_window, Self::KEY.hystart_delay_max];
        match classic.into_iter().find(|key| section.is_written(*key)) {
            Some(key) if self.hystart != ExitBy::Classic => {
                let help = "write hystart = \"classic\" beside it";
                Err(section.reject(key, "only classic HyStart has it").with_help(help))
            }
            _ => Ok(()),
        }
    }

    const fn from_config(config: &Config) -> Self {
        let Classic { low_window, delay_max, .. } = config.classic();
        Self {
            hystart: match config.exit {
                Exit::Loss => ExitBy::Loss,
                Exit::Classic(_) => ExitBy::Classic,
                Exit::PlusPlus => ExitBy::PlusPlus,
            },
            hystart_low_window: low_window,
            hystart_delay_max: delay_max,
            slow_start_limit: if config.limit == u64::MAX { None } else { Some(config.limit) },
            initial_threshold: config.initial_threshold,
        }
    }
}

impl Options for Config {
    type Context = Self;

    fn keys() -> Vec<&'static Key> {
        Keys::keys()
    }

    fn read(section: &Section<'_>, default: Self) -> Result<Self, Problem> {
        let keys = Keys::read(section, Keys::from_config(&default))?;
        let (low_window, delay_max) = (keys.hystart_low_window, keys.hystart_delay_max);
        Ok(Self {
            limit: keys.slow_start_limit.unwrap_or(u64::MAX),
            exit: match keys.hystart {
                ExitBy::Loss => Exit::Loss,
                ExitBy::Classic => Exit::Classic(Classic { low_window, delay_max, ..default.classic() }),
                ExitBy::PlusPlus => Exit::PlusPlus,
            },
            initial_threshold: keys.initial_threshold,
        })
    }

    fn describe(default: Self) -> Vec<KeyDoc> {
        Keys::describe(Keys::from_config(&default))
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        Keys::from_config(self).values()
    }
}

/// What slow start does at an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartStep {
    /// Grow cwnd by this number of bytes.
    Grow(Bytes),
    /// End slow start: ssthresh becomes cwnd.
    Exit,
}

/// Slow start of one connection.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    limit: Bytes,
    algorithm: Algorithm,
}

#[derive(Clone, Copy, Debug)]
enum Algorithm {
    Off,
    Classic(ClassicHyStart),
    PlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// Slow start of a new connection.
    pub fn new(config: &Config, mss: Bytes) -> Self {
        let algorithm = match config.exit {
            Exit::Loss => Algorithm::Off,
            Exit::Classic(classic) => Algorithm::Classic(ClassicHyStart::new(&classic, mss)),
            Exit::PlusPlus => Algorithm::PlusPlus(HyStartPlusPlus::default()),
        };
        let limit = Bytes::new(mss.get().saturating_mul(config.limit));
        Self { limit, algorithm }
    }

    /// Sets whether the sender paces. Pacing alone spreads the ACK train of a window over half a round trip, so only a
    /// train of a whole round trip ends slow start then (kernel: `hystart_update`, `sk_pacing_status`).
    #[must_use]
    pub fn paced(mut self, paced: bool) -> Self {
        if let Algorithm::Classic(classic) = &mut self.algorithm {
            classic.paced = paced;
        }
        self
    }

    /// Processes an ACK that arrives while `cwnd` is below ssthresh.
    pub fn on_ack(&mut self, ack: &Ack, cwnd: Bytes) -> SlowStartStep {
        let growth = ack.acked_sacked.min(self.limit);
        match &mut self.algorithm {
            Algorithm::Off => SlowStartStep::Grow(growth),
            Algorithm::Classic(classic) => {
                if classic.on_ack(ack, cwnd) {
                    SlowStartStep::Exit
                } else {
                    SlowStartStep::Grow(growth)
                }
            }
            Algorithm::PlusPlus(plus_plus) => {
                let step = plus_plus.on_ack(ack, growth);
                if step == SlowStartStep::Exit {
                    // Applies to the first slow start only (RFC 9406, 4.3); slow start after an idle restart is
                    // standard.
                    self.algorithm = Algorithm::Off;
                }
                step
            }
        }
    }

    /// Ends slow start at a congestion event. `HyStart++` runs in the first slow start only, classic `HyStart` in each.
    pub fn on_congestion(&mut self) {
        match &mut self.algorithm {
            Algorithm::Off => {}
            Algorithm::Classic(classic) => classic.reset(0, Time::ZERO),
            Algorithm::PlusPlus(_) => self.algorithm = Algorithm::Off,
        }
    }
}

/// Minimum RTT and number of RTT samples of one round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// SND.NXT when the round began (`windowEnd`). The round ends when this byte is acknowledged.
    window_end: u64,
    /// Minimum RTT of the round so far (`currentRoundMinRTT`).
    min_rtt: Span,
    /// Number of RTT samples in the round (`rttSampleCount`).
    rtt_sample_count: u32,
}

impl Round {
    fn new(window_end: u64) -> Self {
        Self { window_end, min_rtt: Span::MAX, rtt_sample_count: 0 }
    }

    fn sample(&mut self, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.min_rtt = self.min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
    }
}

/// Increase of the RTT above `min_rtt` that indicates a queue (`RttThresh`), at most `max` (RFC 9406, 4.3; kernel:
/// `HYSTART_DELAY_THRESH`).
fn rtt_thresh(min_rtt: Span, max: Span) -> Span {
    (min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, max.max(MIN_RTT_THRESH))
}

/// Classic `HyStart`: slow start ends when the ACK train of a round is longer than half the minimum RTT, or when the
/// RTT increases.
#[derive(Clone, Copy, Debug)]
struct ClassicHyStart {
    /// cwnd in bytes below which `HyStart` is inactive (`hystart_low_window`).
    low_window: Bytes,
    delay_max: Span,
    burst: Bytes,
    paced: bool,
    round: Round,
    /// Times at which the round began and at which the last ACK of its ACK train arrived.
    round_start: Time,
    last_ack: Time,
}

impl ClassicHyStart {
    fn new(classic: &Classic, mss: Bytes) -> Self {
        let Classic { low_window, delay_max, burst } = *classic;
        let low_window = Bytes::new(mss.get().saturating_mul(low_window));
        let (round, round_start, last_ack) = (Round::new(0), Time::ZERO, Time::ZERO);
        Self { low_window, delay_max, burst, paced: false, round, round_start, last_ack }
    }

    /// Starts a round that ends when more than `window_end` is acknowledged (kernel: `bictcp_hystart_reset`).
    fn reset(&mut self, window_end: u64, now: Time) {
        (self.round, self.round_start, self.last_ack) = (Round::new(window_end), now, now);
    }

    /// Returns true if slow start ends.
    fn on_ack(&mut self, ack: &Ack, cwnd: Bytes) -> bool {
        if ack.snd_una > self.round.window_end || self.round.window_end == 0 {
            self.reset(ack.snd_nxt, ack.now);
        }
        if cwnd < self.low_window {
            return false;
        }
        if ack.now.saturating_since(self.last_ack) <= ACK_DELTA {
            self.last_ack = ack.now;
            // The pacing rate of slow start is two windows per SRTT.
            let burst_time = (self.burst * ACK_DELAY_BURSTS).ratio(cwnd * 2);
            let ack_delay = ack.srtt.scale(burst_time).min(ACK_DELAY_MAX);
            let threshold = (ack.min_rtt + ack_delay) / if self.paced { 1 } else { 2 };
            if ack.now.saturating_since(self.round_start) > threshold {
                return true;
            }
        }
        let enough_samples = self.round.rtt_sample_count >= N_RTT_SAMPLE;
        self.round.sample(ack.rtt);
        let limit = ack.min_rtt + rtt_thresh(ack.min_rtt, self.delay_max);
        enough_samples && self.round.min_rtt > limit
    }
}

/// `HyStart++`: when the minimum RTT of a round exceeds that of the last round, Conservative Slow Start (CSS) begins.
#[derive(Clone, Copy, Debug)]
struct HyStartPlusPlus {
    round: Round,
    /// Minimum RTT of the previous round (`lastRoundMinRTT`).
    last_round_min_rtt: Span,
    /// State of Conservative Slow Start (CSS); `None` in normal slow start.
    css: Option<ConservativeSlowStart>,
}

#[derive(Clone, Copy, Debug)]
struct ConservativeSlowStart {
    /// Minimum RTT of the round in which CSS began (`cssBaselineMinRtt`).
    baseline_min_rtt: Span,
    /// Number of rounds until congestion avoidance begins.
    rounds_left: u32,
}

impl Default for HyStartPlusPlus {
    fn default() -> Self {
        Self { round: Round::new(0), last_round_min_rtt: Span::MAX, css: None }
    }
}

impl HyStartPlusPlus {
    fn on_ack(&mut self, ack: &Ack, growth: Bytes) -> SlowStartStep {
        // The ACK that ends a round acknowledges a packet of that round, so its RTT is a sample of that round.
        self.round.sample(ack.rtt);
        if self.round.rtt_sample_count >= N_RTT_SAMPLE {
            self.update_css();
        }
        if ack.snd_una >= self.round.window_end && self.next_round(ack.snd_nxt) {
            return SlowStartStep::Exit;
        }
        let divisor = if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        SlowStartStep::Grow(growth / divisor)
    }

    /// Starts a round that ends when `window_end` is acknowledged. Returns true if CSS has lasted `CSS_ROUNDS` rounds.
    fn next_round(&mut self, window_end: u64) -> bool {
        let ended = std::mem::replace(&mut self.round, Round::new(window_end));
        if ended.window_end == 0 {
            return false;
        }
        self.last_round_min_rtt = ended.min_rtt;
        let Some(css) = &mut self.css else { return false };
        css.rounds_left -= 1;
        css.rounds_left == 0
    }

    /// Enters CSS if the RTT increased; returns to slow start if the RTT fell below the baseline, which shows that the
    /// increase was spurious.
    fn update_css(&mut self) {
        let (min_rtt, last) = (self.round.min_rtt, self.last_round_min_rtt);
        match self.css {
            Some(css) if min_rtt < css.baseline_min_rtt => self.css = None,
            None if last < Span::MAX && min_rtt >= last + rtt_thresh(last, MAX_RTT_THRESH) => {
                let (baseline_min_rtt, rounds_left) = (min_rtt, CSS_ROUNDS);
                self.css = Some(ConservativeSlowStart { baseline_min_rtt, rounds_left });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_thresh_is_an_eighth_of_the_rtt_from_4_to_16_ms() {
        let table = [(Span::from_ms(100), 12_500), (Span::from_us(20), 4_000), (Span::from_secs(1), 16_000)];
        for (min_rtt, us) in table {
            assert_eq!(rtt_thresh(min_rtt, MAX_RTT_THRESH), Span::from_us(us));
        }
        assert_eq!(rtt_thresh(Span::from_secs(1), Span::from_secs(1)), Span::from_ms(125));
    }
}
