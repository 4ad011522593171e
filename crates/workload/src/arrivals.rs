//! Arrival processes: iterators over ascending start times of flows, which end only when [`Time`] overflows.
//!
//! Random gaps are exponential. The part of a gap below a picosecond is carried to the next gap, so that the mean rate
//! is exact even for high rates. State: the current time and the carried part. Units: starts per second.

use shallop_core::{Span, Stream, Time};

const PS_PER_SEC: f64 = 1e12;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArrivalsError {
    #[error("a rate of {found} starts per second: it must be above 0 and at most 10^12")]
    Rate { found: f64 },
    #[error("a period of zero: give the span from one start to the next")]
    Period,
    #[error("on periods of {on} with {rate} starts per second: at least one in a thousand must hold a start")]
    /// An on/off process would almost never start a flow. `on` is the mean on period, `rate` the rate in on periods.
    Quiet { on: Span, rate: f64 },
    #[error("a burst of no flows: give at least one sender")]
    NoSenders,
}

/// A point in time that advances by exponential gaps.
#[derive(Clone, Debug)]
struct Clock {
    at: Option<Time>,
    /// Part of the previous gap below a picosecond, in picoseconds.
    carried: f64,
    stream: Stream,
}

impl Clock {
    fn new(stream: Stream) -> Self {
        Self { at: Some(Time::ZERO), carried: 0.0, stream }
    }

    /// Advances by an exponential gap of mean `mean_ps`, in picoseconds. Returns `None` beyond [`Time::LAST`].
    fn advance(&mut self, mean_ps: f64) -> Option<Time> {
        // A unit draw is in [0, 1), so the logarithm is finite.
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
    if rate > 0.0 && rate <= PS_PER_SEC { Ok(PS_PER_SEC / rate) } else { Err(ArrivalsError::Rate { found: rate }) }
}

/// A Poisson process: gaps between starts are exponential and independent.
#[derive(Clone, Debug)]
pub struct Poisson {
    gap: f64,
    clock: Clock,
}

impl Poisson {
    /// A Poisson process with this mean rate. The first start is one gap after time zero.
    ///
    /// # Errors
    /// [`ArrivalsError::Rate`].
    pub fn new(rate_per_second: f64, stream: Stream) -> Result<Self, ArrivalsError> {
        Ok(Self { gap: gap_of(rate_per_second)?, clock: Clock::new(stream) })
    }

    /// Makes the process begin at `begin` instead of time zero.
    #[must_use]
    pub fn from(self, begin: Time) -> Self {
        Self { clock: Clock { at: Some(begin), ..self.clock }, ..self }
    }

    /// Mean rate, in starts per second.
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

/// Starts at equal intervals.
#[derive(Clone, Debug)]
pub struct Periodic {
    next: Option<Time>,
    period: Span,
}

impl Periodic {
    /// Starts at `first` and then after each `period`.
    ///
    /// # Errors
    /// [`ArrivalsError::Period`].
    pub fn new(first: Time, period: Span) -> Result<Self, ArrivalsError> {
        if period.is_zero() {
            return Err(ArrivalsError::Period);
        }
        Ok(Self { next: Some(first), period })
    }

    /// Rate, in starts per second.
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

/// An on/off process: Poisson starts in on periods, none in off periods. Both periods have exponential lengths; the
/// first is an on period.
#[derive(Clone, Debug)]
pub struct OnOff {
    gap: f64,
    /// Mean lengths of on periods and of off periods, in picoseconds.
    means: (f64, f64),
    clock: Clock,
}

impl OnOff {
    /// An on/off process. `rate_per_second` is the rate in on periods; `on` and `off` are the mean lengths of the
    /// periods.
    ///
    /// # Errors
    /// [`ArrivalsError::Rate`]; [`ArrivalsError::Quiet`] if fewer than one start falls in a thousand on periods.
    pub fn new(rate_per_second: f64, on: Span, off: Span, stream: Stream) -> Result<Self, ArrivalsError> {
        let gap = gap_of(rate_per_second)?;
        let means = (on.as_ps() as f64, off.as_ps() as f64);
        if means.0 * 1_000.0 < gap {
            return Err(ArrivalsError::Quiet { on, rate: rate_per_second });
        }
        Ok(Self { gap, means, clock: Clock::new(stream) })
    }

    /// Makes the process begin at `begin` instead of time zero.
    #[must_use]
    pub fn from(self, begin: Time) -> Self {
        Self { clock: Clock { at: Some(begin), ..self.clock }, ..self }
    }

    /// Mean rate over on and off periods, in starts per second.
    pub fn rate(&self) -> f64 {
        let (on, off) = self.means;
        PS_PER_SEC / self.gap * on / (on + off)
    }
}

impl Iterator for OnOff {
    type Item = Time;

    /// The next start. In an on period, the time to the next event, a start or the end of the period, is exponential; a
    /// random draw decides which of the two the event is.
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

/// Bursts of simultaneous starts at equal intervals. With [`super::Pairs::incast`] as the pattern, each burst is an
/// incast.
#[derive(Clone, Debug)]
pub struct Bursts {
    each: Periodic,
    senders: u32,
    now: Time,
    /// Number of starts that remain in the current burst.
    left: u32,
}

impl Bursts {
    /// Bursts of `senders` starts at `first` and then after each `period`.
    ///
    /// # Errors
    /// [`ArrivalsError::Period`], [`ArrivalsError::NoSenders`].
    pub fn new(first: Time, period: Span, senders: u32) -> Result<Self, ArrivalsError> {
        if senders == 0 {
            return Err(ArrivalsError::NoSenders);
        }
        Ok(Self { each: Periodic::new(first, period)?, senders, now: first, left: 0 })
    }

    /// Mean rate, in starts per second.
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

/// An arrival process of any kind, as the `arrivals` of a group choose it.
#[derive(Clone, Debug)]
pub enum Arrivals {
    Poisson(Poisson),
    Periodic(Periodic),
    OnOff(OnOff),
    Bursts(Bursts),
}

impl Arrivals {
    /// Mean rate, in starts per second.
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

    /// Mean and variance of the number of starts in each of `count` windows of length `window`.
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
    fn poisson_counts_have_a_variance_equal_to_their_mean() {
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
        // 10^6 ps with a standard error of 1/sqrt(400,000) of it.
        assert!((last.since_start().as_ps() as f64 - 1e6).abs() < 6_500.0, "{last:?}");
    }

    #[test]
    fn one_stream_gives_one_sequence_of_starts_independent_of_other_streams() {
        let starts = |id| Poisson::new(1e6, stream(id)).unwrap().take(1_000).collect::<Vec<_>>();
        let first = starts(0);
        assert_eq!(first, starts(0));
        assert_ne!(first, starts(1));
        assert!(first.is_sorted());
        let (mut one, mut other) = (Poisson::new(1e6, stream(0)).unwrap(), Poisson::new(5.0, stream(1)).unwrap());
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
    fn starts_follow_the_beginning_of_the_process_and_end_at_the_last_time() {
        let begin = at(Span::from_secs(5));
        let first = Poisson::new(1e9, stream(0)).unwrap().from(begin).next().unwrap();
        assert!(first > begin && first < at(Span::from_secs(6)));
        let late = at(Span::MAX - Span::from_ps(10));
        assert_eq!(Poisson::new(1.0, stream(0)).unwrap().from(late).next(), None);
        assert_eq!(Periodic::new(late, Span::from_ps(4)).unwrap().count(), 3);
    }

    #[test]
    fn periodic_starts_and_bursts_are_a_period_apart() {
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
    fn on_off_counts_have_the_mean_rate_and_the_variance_of_theory() {
        let (on, off) = (Span::from_ms(10), Span::from_ms(30));
        let starts = OnOff::new(4_000.0, on, off, stream(0)).unwrap();
        assert!((starts.rate() - 1_000.0).abs() < 1e-9);
        // In a window much longer than a cycle, the variance per second is the mean plus that of the periods,
        // 2 rate^2 x on^2 off^2 / (on + off)^3 = 45,000.
        let (mean, variance) = counts(starts, Span::from_secs(1), 2_000);
        assert!((mean - 1_000.0).abs() < 25.0, "{mean}");
        assert!((variance - 46_000.0).abs() < 7_000.0, "{variance}");
    }

    #[test]
    fn invalid_rates_periods_and_numbers_of_senders_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e12] {
            assert!(Poisson::new(rate, stream(0)).is_err(), "{rate}");
        }
        assert_eq!(Periodic::new(Time::ZERO, Span::ZERO).unwrap_err(), ArrivalsError::Period);
        let nobody = Bursts::new(Time::ZERO, Span::from_ms(1), 0).unwrap_err();
        assert_eq!(nobody, ArrivalsError::NoSenders);
        let quiet = OnOff::new(1.0, Span::from_us(1), Span::from_us(1), stream(0)).unwrap_err();
        assert!(quiet.to_string().contains("on periods of 1us with 1 starts per second"), "{quiet}");
    }
}
