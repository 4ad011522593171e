//! A tournament tree: the earliest of a fixed number of times that change often. A change costs one comparison for each
//! level of the tree, log2 of the number of leaves.

use shallop_core::Time;

/// One time for each leaf, and the earliest of them. Leaves are numbered from 0.
#[derive(Clone, Debug)]
pub struct TournamentTree {
    /// Nodes of the tree. The root is at index 1; node `n` holds the earlier time of its children `2 n` and `2 n + 1`;
    /// the second half of the array holds the leaves.
    times: Vec<Time>,
}

impl TournamentTree {
    /// A tree of `count` leaves without times.
    pub fn new(count: usize) -> Self {
        Self { times: vec![Time::LAST; count.next_power_of_two().max(1) * 2] }
    }

    /// Sets the time of a leaf; [`Time::LAST`] stands for no time.
    pub fn set(&mut self, leaf: usize, time: Time) {
        let mut at = self.times.len() / 2 + leaf;
        if self.times[at] == time {
            return;
        }
        self.times[at] = time;
        while at > 1 {
            at /= 2;
            let earlier = self.times[2 * at].min(self.times[2 * at + 1]);
            if self.times[at] == earlier {
                return;
            }
            self.times[at] = earlier;
        }
    }

    /// Earliest time of all leaves; [`Time::LAST`] if no leaf has a time.
    pub fn earliest(&self) -> Time {
        self.times[1]
    }

    /// Leaf with the earliest time, if that time is at or before `now`; of several such leaves, the lowest number.
    pub fn earliest_due(&self, now: Time) -> Option<usize> {
        let earliest = self.times[1];
        if earliest > now || earliest == Time::LAST {
            return None;
        }
        let leaves = self.times.len() / 2;
        let mut at = 1;
        while at < leaves {
            at *= 2;
            at += usize::from(self.times[at] != earliest);
        }
        Some(at - leaves)
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
        fn the_earliest_is_the_least_of_all(
            count in 1usize..20,
            steps in prop::collection::vec((0usize..20, prop::option::of(0u64..50)), 1..80),
        ) {
            let mut tree = TournamentTree::new(count);
            let mut times = vec![Time::LAST; count];
            for (leaf, time) in steps {
                let (leaf, time) = (leaf % count, time.map_or(Time::LAST, at));
                times[leaf] = time;
                tree.set(leaf, time);
                let first = (0..count).min_by_key(|&leaf| times[leaf]).unwrap_or(0);
                prop_assert_eq!(tree.earliest(), times[first]);
                let due = Some(first).filter(|&first| times[first] <= at(25));
                prop_assert_eq!(tree.earliest_due(at(25)), due);
            }
        }
    }
}
