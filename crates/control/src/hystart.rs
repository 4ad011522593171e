//! Slow start: how much each acknowledgement adds to the window, and when a rising delay says that it is enough.
//! A part of every controller that starts slowly. State: the delays of this round trip and of the last.
//! Sources: RFC 5681, 3.1; RFC 3465 (limit); RFC 9406 (`HyStart++`); kernel: `hystart_update` (classic `HyStart`).

use shallop_core::{Bytes, Span, Time};

use crate::window::Ack;

/// A delay that rose by an eighth of itself, but by no less and no more than this, has risen (RFC 9406, 4.3).
const RISE_MIN: Span = Span::from_ms(4);
const RISE_MAX: Span = Span::from_ms(16);
/// Round-trip samples that make a round's minimum trustworthy.
const SAMPLES: u32 = 8;
/// Conservative slow start: a quarter of the growth, for at most five rounds.
const CONSERVATIVE_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Acknowledgements this close together belong to one train.
const TRAIN_GAP: Span = Span::from_ms(2);
/// Allowance for the burstiness of acknowledgements: this many bursts, and no more than this long.
const TRAIN_BURSTS: u64 = 4;
const TRAIN_ALLOWANCE: Span = Span::from_ms(1);

/// How slow start proceeds and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most segments that one acknowledgement adds: 1 (RFC 5681), 2 (RFC 3465), 8 (RFC 9406), `u64::MAX` (Linux).
    pub limit: u64,
    /// What ends it before a loss does.
    pub exit: Exit,
}

/// What ends slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing.
    Loss,
    /// The length of a train of acknowledgements, or a rise of delay.
    Classic(Classic),
    /// A rise of delay that lasts.
    PlusPlus,
}

/// Classic `HyStart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic {
    /// Segments in the window below which it does not look.
    pub low_window: u64,
    /// The largest rise of delay that is let pass. Linux: 16 ms; ns-3: 1 s.
    pub delay_max: Span,
    /// The largest burst a host hands to its link at once, from which the spacing of acknowledgements suffers.
    pub burst: Bytes,
}

impl Classic {
    /// As in Linux, where a burst is the largest segment given to the card.
    pub const LINUX: Self = Self { low_window: 16, delay_max: RISE_MAX, burst: Bytes::new(65_536) };
}

impl Config {
    /// One segment an acknowledgement, until loss (RFC 5681).
    pub const STANDARD: Self = Self { limit: 1, exit: Exit::Loss };
    /// As many as were acknowledged, with classic `HyStart`.
    pub const LINUX: Self = Self { limit: u64::MAX, exit: Exit::Classic(Classic::LINUX) };
    /// `HyStart++` without pacing (RFC 9406).
    pub const PLUS_PLUS: Self = Self { limit: 8, exit: Exit::PlusPlus };
}

/// What an acknowledgement means in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The window grows by this.
    Grow(Bytes),
    /// The window is large enough: slow start ends here.
    Leave,
}

/// Slow start in progress.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    limit: Bytes,
    search: Search,
}

#[derive(Clone, Copy, Debug)]
enum Search {
    Off,
    Classic(Train),
    PlusPlus(Rise),
}

impl SlowStart {
    /// The start of a flow.
    #[must_use]
    pub fn new(config: &Config, segment: Bytes) -> Self {
        let search = match config.exit {
            Exit::Loss => Search::Off,
            Exit::Classic(classic) => Search::Classic(Train::new(&classic, segment)),
            Exit::PlusPlus => Search::PlusPlus(Rise::default()),
        };
        let limit = Bytes::new(segment.get().saturating_mul(config.limit));
        Self { limit, search }
    }

    /// The same for a sender that paces: its trains of acknowledgements are half a round trip long by themselves, and
    /// only longer ones say something (kernel: `hystart_update`, `sk_pacing_status`).
    #[must_use]
    pub fn paced(mut self, paced: bool) -> Self {
        if let Search::Classic(train) = &mut self.search {
            train.paced = paced;
        }
        self
    }

    /// What this acknowledgement means to a window that is still in slow start.
    pub fn on_ack(&mut self, ack: &Ack, window: Bytes) -> Step {
        let growth = ack.acked.min(self.limit);
        match &mut self.search {
            Search::Off => Step::Grow(growth),
            Search::Classic(train) => {
                if train.on_ack(ack, window) {
                    Step::Leave
                } else {
                    Step::Grow(growth)
                }
            }
            Search::PlusPlus(rise) => rise.on_ack(ack, growth),
        }
    }

    /// Congestion was found. `HyStart++` is for the first slow start alone; the classic form looks again in each.
    pub fn on_congestion(&mut self) {
        match &mut self.search {
            Search::Off => {}
            Search::Classic(train) => train.begin(0, Time::ZERO),
            Search::PlusPlus(_) => self.search = Search::Off,
        }
    }
}

/// The shortest delay of a round, by as many samples as matter.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round ends when this byte is acknowledged.
    end: u64,
    shortest: Span,
    samples: u32,
}

impl Round {
    fn new(end: u64) -> Self {
        Self { end, shortest: Span::MAX, samples: 0 }
    }

    fn sample(&mut self, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.shortest = self.shortest.min(rtt);
            self.samples += 1;
        }
    }
}

/// How far the delay may rise above `base` before it counts.
fn rise(base: Span, most: Span) -> Span {
    (base / 8).clamp(RISE_MIN, most.max(RISE_MIN))
}

/// Classic `HyStart`: the train of closely spaced acknowledgements of one round.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// It looks when the window is this large.
    from: Bytes,
    delay_max: Span,
    burst: Bytes,
    paced: bool,
    round: Round,
    began: Time,
    last: Time,
}

impl Train {
    fn new(classic: &Classic, segment: Bytes) -> Self {
        let Classic { low_window, delay_max, burst } = *classic;
        let from = Bytes::new(segment.get().saturating_mul(low_window));
        let (round, began, last) = (Round::new(0), Time::ZERO, Time::ZERO);
        Self { from, delay_max, burst, paced: false, round, began, last }
    }

    /// Begins a round that lasts until more than `end` is acknowledged.
    fn begin(&mut self, end: u64, now: Time) {
        (self.round, self.began, self.last) = (Round::new(end), now, now);
    }

    /// True if it is time to leave slow start.
    fn on_ack(&mut self, ack: &Ack, window: Bytes) -> bool {
        if ack.una > self.round.end || self.round.end == 0 {
            self.begin(ack.next, ack.now);
        }
        if window < self.from {
            return false;
        }
        if ack.now.saturating_since(self.last) <= TRAIN_GAP {
            self.last = ack.now;
            // What slow start would be paced at: two windows a round trip.
            let spacing = (self.burst * TRAIN_BURSTS).ratio(window * 2);
            let allowance = ack.smoothed_rtt.scale(spacing).min(TRAIN_ALLOWANCE);
            let longest = (ack.min_rtt + allowance) / if self.paced { 1 } else { 2 };
            if ack.now.saturating_since(self.began) > longest {
                return true;
            }
        }
        let enough = self.round.samples >= SAMPLES;
        self.round.sample(ack.rtt);
        let limit = ack.min_rtt + rise(ack.min_rtt, self.delay_max);
        enough && self.round.shortest > limit
    }
}

/// `HyStart++`: the shortest delays of this round and the last, and what was found.
#[derive(Clone, Copy, Debug)]
struct Rise {
    round: Round,
    /// The shortest delay of the round before.
    last: Span,
    /// In conservative slow start: the delay it began at, and the rounds it may still last.
    conservative: Option<(Span, u32)>,
}

impl Default for Rise {
    fn default() -> Self {
        Self { round: Round::new(0), last: Span::MAX, conservative: None }
    }
}

impl Rise {
    fn on_ack(&mut self, ack: &Ack, growth: Bytes) -> Step {
        // The acknowledgement that ends a round is of a packet sent in it.
        self.round.sample(ack.rtt);
        if self.round.samples >= SAMPLES {
            self.judge();
        }
        if ack.una >= self.round.end && self.next_round(ack.next) {
            return Step::Leave;
        }
        let divisor = if self.conservative.is_some() { CONSERVATIVE_DIVISOR } else { 1 };
        Step::Grow(growth / divisor)
    }

    /// Begins a round that lasts until `end` is acknowledged. True if that is one too many.
    fn next_round(&mut self, end: u64) -> bool {
        let ended = std::mem::replace(&mut self.round, Round::new(end));
        if ended.end == 0 {
            return false;
        }
        self.last = ended.shortest;
        let Some((_, rounds)) = &mut self.conservative else { return false };
        *rounds -= 1;
        *rounds == 0
    }

    /// Enters conservative slow start if the delay rose, and leaves it again if it fell below where it began.
    fn judge(&mut self) {
        let now = self.round.shortest;
        match self.conservative {
            Some((began, _)) if now < began => self.conservative = None,
            None if self.last < Span::MAX && now >= self.last + rise(self.last, RISE_MAX) => {
                self.conservative = Some((now, CONSERVATIVE_ROUNDS));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rise_that_counts_is_an_eighth_within_four_and_sixteen_milliseconds() {
        let table = [
            (Span::from_ms(100), 12_500),
            (Span::from_us(20), 4_000),
            (Span::from_secs(1), 16_000),
        ];
        for (base, us) in table {
            assert_eq!(rise(base, RISE_MAX), Span::from_us(us));
        }
        assert_eq!(rise(Span::from_secs(1), Span::from_secs(1)), Span::from_ms(125));
    }
}
