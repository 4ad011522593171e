//! When flows start: iterators of ascending times, without end but for that of time itself.
//!
//! Random gaps are exponential. The part of a gap below a picosecond is carried to the next one, so the mean rate is
//! the one asked for, however high it is. State: the time reached and that carried part. Units: starts per second.

use shallop_core::{Span, Stream, Time};

const PS_PER_SEC: f64 = 1e12;

/// Why starts cannot be made as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArrivalsError {
    /// A rate is zero, negative, infinite, or beyond one start a picosecond.
    #[error("a rate of {found} starts per second: it must be above 0 and at most 10^12")]
    Rate {
        /// The rate.
        found: f64,
    },
    /// Starts would all be at once.
    #[error("a period of zero: give the span from one start to the next")]
    Period,
    /// Hardly any on period would hold a start.
    #[error(
        "on periods of {on} with {rate} starts per second: at least one in a thousand must hold a start"
    )]
    Quiet {
        /// The mean on period.
        on: Span,
        /// The rate within it.
        rate: f64,
    },
    /// Nobody would send.
    #[error("a burst of no flows: give at least one sender")]
    Nobody,
}

/// A clock that moves on by exponential gaps.
#[derive(Clone, Debug)]
struct Clock {
    at: Option<Time>,
    /// Less than a picosecond.
    carried: f64,
    stream: Stream,
}

impl Clock {
    fn new(stream: Stream) -> Self {
        Self { at: Some(Time::ZERO), carried: 0.0, stream }
    }

    /// Moves on by an exponential gap of this mean. `None` beyond the end of time.
    fn advance(&mut self, mean_ps: f64) -> Option<Time> {
        // A unit draw may be 0 and is never 1: what is left of 1 has a logarithm.
        let gap = -libm::log(1.0 - self.stream.unit()) * mean_ps + self.carried;
        let whole = gap.floor();
        self.carried = gap - whole;
        self.at = self.at.and_then(|at| later(at, Span::from_ps(whole as u64)));
        self.at
    }
}

fn later(at: Time, span: Span) -> Option<Time> {
    Some(at.saturating_add(span)).filter(|&at| at < Time::LAST)
}

fn gap_of(rate: f64) -> Result<f64, ArrivalsError> {
    if rate > 0.0 && rate <= PS_PER_SEC {
        Ok(PS_PER_SEC / rate)
    } else {
        Err(ArrivalsError::Rate { found: rate })
    }
}

/// Starts at random: gaps are exponential and know nothing of each other.
#[derive(Clone, Debug)]
pub struct Poisson {
    gap: f64,
    clock: Clock,
}

impl Poisson {
    /// So many starts per second on average, the first one gap after time zero.
    ///
    /// # Errors
    /// [`ArrivalsError::Rate`].
    pub fn new(rate_per_second: f64, stream: Stream) -> Result<Self, ArrivalsError> {
        Ok(Self { gap: gap_of(rate_per_second)?, clock: Clock::new(stream) })
    }

    /// The same from this time on: the first start is one gap after it.
    #[must_use]
    pub fn from(self, begin: Time) -> Self {
        Self { clock: Clock { at: Some(begin), ..self.clock }, ..self }
    }

    /// Starts per second.
    pub fn rate(&self) -> f64 {
        PS_PER_SEC / self.gap
    }
}

impl Iterator for Poisson {
    type Item = Time;
    fn next(&mut self) -> Option<Time> {
        self.clock.advance(self.gap)
    }
}

/// Starts at even distances.
#[derive(Clone, Debug)]
pub struct Periodic {
    next: Option<Time>,
    period: Span,
}

impl Periodic {
    /// The first at `first`, each other one a period after the one before.
    ///
    /// # Errors
    /// [`ArrivalsError::Period`].
    pub fn new(first: Time, period: Span) -> Result<Self, ArrivalsError> {
        if period.is_zero() {
            return Err(ArrivalsError::Period);
        }
        Ok(Self { next: Some(first), period })
    }

    /// Starts per second.
    pub fn rate(&self) -> f64 {
        1.0 / self.period.as_secs_f64()
    }
}

impl Iterator for Periodic {
    type Item = Time;
    fn next(&mut self) -> Option<Time> {
        let now = self.next?;
        self.next = later(now, self.period);
        Some(now)
    }
}

/// An on/off process: random starts in on periods, none in off periods; both have exponential lengths. It begins with
/// an on period.
#[derive(Clone, Debug)]
pub struct OnOff {
    gap: f64,
    /// Mean lengths of on and off periods, in picoseconds.
    means: (f64, f64),
    clock: Clock,
}

impl OnOff {
    /// `rate_per_second` in on periods of mean length `on`; the mean length of off periods is `off`.
    ///
    /// # Errors
    /// [`ArrivalsError::Rate`]; [`ArrivalsError::Quiet`] if fewer than one start falls in a thousand on periods.
    pub fn new(
        rate_per_second: f64,
        on: Span,
        off: Span,
        stream: Stream,
    ) -> Result<Self, ArrivalsError> {
        let gap = gap_of(rate_per_second)?;
        let means = (on.as_ps() as f64, off.as_ps() as f64);
        if means.0 * 1_000.0 < gap {
            return Err(ArrivalsError::Quiet { on, rate: rate_per_second });
        }
        Ok(Self { gap, means, clock: Clock::new(stream) })
    }

    /// The same from this time on, which begins an on period.
    #[must_use]
    pub fn from(self, begin: Time) -> Self {
        Self { clock: Clock { at: Some(begin), ..self.clock }, ..self }
    }

    /// Starts per second over on and off periods together.
    pub fn rate(&self) -> f64 {
        let (on, off) = self.means;
        PS_PER_SEC / self.gap * on / (on + off)
    }
}

impl Iterator for OnOff {
    type Item = Time;

    /// While on, what comes first of the next start and the period's end comes after an exponential time; chance says
    /// which of the two it was.
    fn next(&mut self) -> Option<Time> {
        let (on, off) = self.means;
        let either = self.gap * on / (self.gap + on);
        loop {
            let at = self.clock.advance(either)?;
            if self.clock.stream.chance(on / (self.gap + on)) {
                return Some(at);
            }
            self.clock.advance(off)?;
        }
    }
}

/// Many starts at once, at even distances: an incast, if [`super::Pairs::incast`] says who sends to whom.
#[derive(Clone, Debug)]
pub struct Bursts {
    each: Periodic,
    senders: u32,
    now: Time,
    /// Starts that the present burst still has.
    left: u32,
}

impl Bursts {
    /// `senders` starts at `first` and each period after it.
    ///
    /// # Errors
    /// [`ArrivalsError::Period`], [`ArrivalsError::Nobody`].
    pub fn new(first: Time, period: Span, senders: u32) -> Result<Self, ArrivalsError> {
        if senders == 0 {
            return Err(ArrivalsError::Nobody);
        }
        Ok(Self { each: Periodic::new(first, period)?, senders, now: first, left: 0 })
    }

    /// Starts per second.
    pub fn rate(&self) -> f64 {
        self.each.rate() * f64::from(self.senders)
    }
}

impl Iterator for Bursts {
    type Item = Time;
    fn next(&mut self) -> Option<Time> {
        if self.left == 0 {
            self.now = self.each.next()?;
            self.left = self.senders;
        }
        self.left -= 1;
        Some(self.now)
    }
}

/// Starts of any of these kinds.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// At random.
    Poisson(Poisson),
    /// At even distances.
    Periodic(Periodic),
    /// An on/off process.
    OnOff(OnOff),
    /// Many at once.
    Bursts(Bursts),
}

impl Arrivals {
    /// Starts per second in the long run.
    pub fn rate(&self) -> f64 {
        match self {
            Self::Poisson(all) => all.rate(),
            Self::Periodic(all) => all.rate(),
            Self::OnOff(all) => all.rate(),
            Self::Bursts(all) => all.rate(),
        }
    }
}

impl Iterator for Arrivals {
    type Item = Time;
    fn next(&mut self) -> Option<Time> {
        match self {
            Self::Poisson(all) => all.next(),
            Self::Periodic(all) => all.next(),
            Self::OnOff(all) => all.next(),
            Self::Bursts(all) => all.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    fn stream(id: u64) -> Stream {
        Seed::new(3).stream("arrivals", id)
    }

    fn at(span: Span) -> Time {
        Time::after_start(span)
    }

    /// Mean and variance of the number of starts in each of `count` windows of this length.
    fn counts(starts: impl Iterator<Item = Time>, window: Span, count: usize) -> (f64, f64) {
        let mut all = vec![0.0; count];
        for start in starts {
            let index = (start.since_start().as_ps() / window.as_ps()) as usize;
            if index >= count {
                break;
            }
            all[index] += 1.0;
        }
        let mean = all.iter().sum::<f64>() / count as f64;
        let variance = all.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / count as f64;
        (mean, variance)
    }

    #[test]
    fn poisson_counts_vary_as_much_as_their_mean() {
        let starts = Poisson::new(1_000.0, stream(0)).unwrap();
        assert!((starts.rate() - 1_000.0).abs() < 1e-9);
        // 20 a window, 20,000 windows: standard errors are 0.03 of the mean and 0.2 of the variance.
        let (mean, variance) = counts(starts, Span::from_ms(20), 20_000);
        assert!((mean - 20.0).abs() < 0.13, "{mean}");
        assert!((variance - 20.0).abs() < 0.85, "{variance}");
    }

    #[test]
    fn gaps_below_a_picosecond_keep_their_mean() {
        let starts = Poisson::new(4e11, stream(1)).unwrap();
        let last = starts.take(400_000).last().unwrap();
        // A million picoseconds, give or take 1/sqrt(400,000) of it.
        assert!((last.since_start().as_ps() as f64 - 1e6).abs() < 6_500.0, "{last:?}");
    }

    #[test]
    fn starts_repeat_with_their_stream_and_do_not_depend_on_others() {
        let starts = |id| Poisson::new(1e6, stream(id)).unwrap().take(1_000).collect::<Vec<_>>();
        let first = starts(0);
        assert_eq!(first, starts(0));
        assert_ne!(first, starts(1));
        assert!(first.is_sorted());
        let (mut one, mut other) =
            (Poisson::new(1e6, stream(0)).unwrap(), Poisson::new(5.0, stream(1)).unwrap());
        let mixed: Vec<Time> = (0..1_000)
            .filter_map(|_| {
                other.next();
                one.next()
            })
            .collect();
        assert_eq!(mixed, first);
    }

    #[test]
    fn gaps_of_two_streams_are_not_correlated() {
        let gaps = |id| {
            let starts: Vec<Time> = Poisson::new(1e6, stream(id)).unwrap().take(50_001).collect();
            starts.windows(2).map(|pair| (pair[1] - pair[0]).ratio(Span::from_us(1))).collect()
        };
        let (one, other): (Vec<f64>, Vec<f64>) = (gaps(0), gaps(1));
        let shared: f64 = one.iter().zip(&other).map(|(a, b)| (a - 1.0) * (b - 1.0)).sum();
        assert!((shared / 50_000.0).abs() < 0.022, "{shared}");
    }

    #[test]
    fn starts_begin_where_they_are_told_to_and_end_with_time() {
        let begin = at(Span::from_secs(5));
        let first = Poisson::new(1e9, stream(0)).unwrap().from(begin).next().unwrap();
        assert!(first > begin && first < at(Span::from_secs(6)));
        let late = at(Span::MAX - Span::from_ps(10));
        assert_eq!(Poisson::new(1.0, stream(0)).unwrap().from(late).next(), None);
        assert_eq!(Periodic::new(late, Span::from_ps(4)).unwrap().count(), 3);
    }

    #[test]
    fn periodic_starts_and_bursts_are_where_they_belong() {
        let (first, period) = (at(Span::from_ms(1)), Span::from_ms(2));
        let ms = |starts: Vec<Time>| -> Vec<u64> {
            starts.iter().map(|start| start.since_start().as_ps() / 1_000_000_000).collect()
        };
        let periodic = Periodic::new(first, period).unwrap();
        assert_eq!((periodic.rate(), ms(periodic.take(3).collect())), (500.0, vec![1, 3, 5]));
        let bursts = Bursts::new(first, period, 2).unwrap();
        assert_eq!((bursts.rate(), ms(bursts.take(5).collect())), (1_000.0, vec![1, 1, 3, 3, 5]));
    }

    #[test]
    fn on_and_off_periods_keep_the_rate_and_make_counts_burstier() {
        let (on, off) = (Span::from_ms(10), Span::from_ms(30));
        let starts = OnOff::new(4_000.0, on, off, stream(0)).unwrap();
        assert!((starts.rate() - 1_000.0).abs() < 1e-9);
        // In a window much longer than a cycle the variance is the mean plus what the periods add: per second
        // 2 rate^2 x on^2 off^2 / (on + off)^3 = 45,000.
        let (mean, variance) = counts(starts, Span::from_secs(1), 2_000);
        assert!((mean - 1_000.0).abs() < 25.0, "{mean}");
        assert!((variance - 46_000.0).abs() < 7_000.0, "{variance}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e12] {
            assert!(Poisson::new(rate, stream(0)).is_err(), "{rate}");
        }
        assert_eq!(Periodic::new(Time::ZERO, Span::ZERO).unwrap_err(), ArrivalsError::Period);
        let nobody = Bursts::new(Time::ZERO, Span::from_ms(1), 0).unwrap_err();
        assert_eq!(nobody, ArrivalsError::Nobody);
        let quiet = OnOff::new(1.0, Span::from_us(1), Span::from_us(1), stream(0)).unwrap_err();
        assert!(
            quiet.to_string().contains("on periods of 1us with 1 starts per second"),
            "{quiet}"
        );
    }
}
