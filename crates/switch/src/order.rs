//! Which of a few comes first: a tournament. State: for each the time of its next turn, and the winner of each pair up
//! to the first of all. A change costs as many comparisons as there are rounds, the logarithm of how many take part.

use shallop_core::Time;

/// Those who take part, by their places from 0 on.
#[derive(Clone, Debug)]
pub struct Order {
    /// The rounds, the final first: the winner of `n` is the earlier of `2 n` and `2 n + 1`. Places begin half-way.
    times: Vec<Time>,
}

impl Order {
    /// So many, none of whom has a turn.
    #[must_use]
    pub fn of(count: usize) -> Self {
        Self { times: vec![Time::LAST; count.next_power_of_two().max(1) * 2] }
    }

    /// The next turn of this one is at `time`; [`Time::LAST`] if there is none.
    pub fn set(&mut self, place: usize, time: Time) {
        let mut at = self.times.len() / 2 + place;
        if self.times[at] == time {
            return;
        }
        self.times[at] = time;
        while at > 1 {
            at /= 2;
            let winner = self.times[2 * at].min(self.times[2 * at + 1]);
            if self.times[at] == winner {
                return;
            }
            self.times[at] = winner;
        }
    }

    /// When the first turn is; [`Time::LAST`] if nobody has one.
    #[must_use]
    pub fn first(&self) -> Time {
        self.times[1]
    }

    /// The one whose turn comes first, if that is by `now`; of several the one with the lowest place.
    #[must_use]
    pub fn first_by(&self, now: Time) -> Option<usize> {
        let first = self.times[1];
        if first > now || first == Time::LAST {
            return None;
        }
        let places = self.times.len() / 2;
        let mut at = 1;
        while at < places {
            at *= 2;
            at += usize::from(self.times[at] != first);
        }
        Some(at - places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::Span;

    fn at(ps: u64) -> Time {
        Time::after_start(Span::from_ps(ps))
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            count in 1usize..20,
            steps in prop::collection::vec((0usize..20, prop::option::of(0u64..50)), 1..80),
        ) {
            let mut order = Order::of(count);
            let mut times = vec![Time::LAST; count];
            for (place, time) in steps {
                let (place, time) = (place % count, time.map_or(Time::LAST, at));
                times[place] = time;
                order.set(place, time);
                let first = (0..count).min_by_key(|&place| times[place]).unwrap_or(0);
                let due = Some(first).filter(|&first| times[first] <= at(25));
                prop_assert_eq!(order.first_by(at(25)), due);
            }
        }
    }
}
