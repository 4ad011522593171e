//! How full a pool was over time. Ports are served lazily, one after the other, so between two packets that are stored
//! what leaves is told in any order: it is kept until the next one is stored, when all that left before is known, and
//! told to the history in the order of time. Units: bytes.

use shallop_core::{Bytes, Time};

use crate::occupancy::Occupancy;

/// The history of a pool.
#[derive(Clone, Debug, Default)]
pub struct Level {
    occupancy: Occupancy,
    /// What left since the last packet that was stored.
    left: Vec<(Time, Bytes)>,
}

impl Level {
    /// So much more is taken from `now` on. All that left by then was given before.
    pub fn take(&mut self, now: Time, more: Bytes) {
        if more > Bytes::ZERO {
            self.settle();
            self.occupancy.set(now, self.occupancy.held() + more);
        }
    }

    /// So much was given back at `at`.
    pub fn give(&mut self, at: Time, less: Bytes) {
        if less > Bytes::ZERO {
            self.left.push((at, less));
        }
    }

    /// Brings the history up to `now`.
    pub fn pass(&mut self, now: Time) {
        self.settle();
        self.occupancy.pass(now);
    }

    /// The history.
    #[must_use]
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn settle(&mut self) {
        if self.left.len() > 1 {
            self.left.sort_unstable_by_key(|&(at, _)| at);
        }
        for (at, less) in self.left.drain(..) {
            self.occupancy.set(at, self.occupancy.held() - less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Span;

    #[test]
    fn what_left_is_put_in_order_before_more_is_taken() {
        let at = |us| Time::after_start(Span::from_us(us));
        let bytes = Bytes::new;
        let mut level = Level::default();
        level.take(at(10), bytes(300_000));
        // One port is served up to 40 us, then another.
        level.give(at(40), bytes(100_000));
        level.give(at(20), bytes(100_000));
        level.take(at(50), bytes(200_000));
        level.pass(at(60));
        // 300 KB for 10 us, 200 KB for 20, 100 KB for 10, 300 KB for 10 of 60 us.
        let occupancy = level.occupancy();
        assert_eq!((occupancy.max(), occupancy.held()), (bytes(300_000), bytes(300_000)));
        assert!((occupancy.mean() - 11e6 / 60.0).abs() < 1e-6, "{}", occupancy.mean());
        let above = [50_000, 150_000, 250_000, 350_000].map(|at| occupancy.above(bytes(at)) * 60.0);
        for (above, expected) in above.into_iter().zip([50.0, 40.0, 20.0, 0.0]) {
            assert!((above - expected).abs() < 1e-9, "{above} us, not {expected}");
        }
    }
}
