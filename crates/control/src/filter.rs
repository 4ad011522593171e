//! The best of a window that slides: largest delivery rates, shortest delays. State: the best sample, the best one
//! after it and the best one after that, so that a window of any length costs as much. What is kept is never older than
//! the window, and never less than the newest sample; when the best grows too old, a better sample than the one that
//! takes its place may have been forgotten. Units: the caller's, for the moment (a count of rounds, or time) as for the
//! value. Source: Kathleen Nichols' algorithm, as in the kernel's `win_minmax.c`.

use shallop_core::{Span, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    at: u64,
    value: u64,
}

/// The largest value of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Largest([Sample; 3]);

impl Largest {
    /// The largest value of the last window; zero before any.
    pub fn best(&self) -> u64 {
        self.0[0].value
    }

    /// Takes in a value of the present moment; the window reaches back so far.
    pub fn add(&mut self, at: u64, value: u64, window: u64) {
        let new = Sample { at, value };
        let [first, second, third] = &mut self.0;
        if value >= first.value || at.saturating_sub(third.at) > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.age(new, window);
    }

    /// Drops what is too old, and sees to it that the second and third sample are from later parts of the window.
    fn age(&mut self, new: Sample, window: u64) {
        let [first, second, third] = &mut self.0;
        let passed = new.at.saturating_sub(first.at);
        if passed > window {
            (*first, *second, *third) = (*second, *third, new);
            if new.at.saturating_sub(first.at) > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.at == first.at && passed > window / 4 {
            (*second, *third) = (new, new);
        } else if third.at == second.at && passed > window / 2 {
            *third = new;
        }
    }
}

/// The longest delay of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Longest(Largest);

impl Longest {
    /// The longest delay of the last window; zero before any.
    pub fn best(&self) -> Span {
        Span::from_ps(self.0.best())
    }

    /// Takes in a delay measured now.
    pub fn add(&mut self, now: Time, delay: Span, window: Span) {
        self.0.add(now.since_start().as_ps(), delay.as_ps(), window.as_ps());
    }
}

/// The shortest delay of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shortest(Largest);

impl Shortest {
    /// The shortest delay of the last window; [`Span::MAX`] before any.
    pub fn best(&self) -> Span {
        Span::from_ps(u64::MAX - self.0.best())
    }

    /// Takes in a delay measured now.
    pub fn add(&mut self, now: Time, delay: Span, window: Span) {
        self.0.add(now.since_start().as_ps(), u64::MAX - delay.as_ps(), window.as_ps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_is_of_the_window_and_no_less_than_the_newest(
            steps in prop::collection::vec((1u64..20, 0u64..1_000), 1..200),
            window in 8u64..200,
        ) {
            let (mut filter, mut now, mut past) = (Largest::default(), 0, vec![]);
            for (pause, value) in steps {
                now += pause;
                past.push((now, value));
                filter.add(now, value, window);
                let recent = past.iter().filter(|(at, _)| at + window >= now);
                let best = recent.map(|&(_, value)| value).max().unwrap_or(0);
                prop_assert!((value..=best).contains(&filter.best()), "at {now}: {filter:?}");
            }
        }
    }

    #[test]
    fn a_delay_that_rises_for_good_is_believed_when_the_window_is_over() {
        let (mut shortest, mut longest) = (Shortest::default(), Longest::default());
        let [short, long, window] = [10, 30, 100].map(Span::from_ms);
        assert_eq!((shortest.best(), longest.best()), (Span::MAX, Span::ZERO));
        let mut believed = vec![];
        for at in 0..150 {
            let now = Time::after_start(Span::from_ms(at));
            let delay = if at < 20 { short } else { long };
            shortest.add(now, delay, window);
            longest.add(now, delay, window);
            if believed.last() != Some(&shortest.best()) {
                believed.push(shortest.best());
                assert!(at == 0 || (100..=120).contains(&at), "at {at} ms");
            }
        }
        assert_eq!((believed, longest.best()), (vec![short, long], long));
    }
}
