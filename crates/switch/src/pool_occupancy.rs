//! Bytes in use in a shared pool over time. Ports are served lazily, one after the other, so the departures between two
//! admissions are reported out of order. They are stored until the next admission, when all earlier departures are
//! known, and then applied in order of time. Units: bytes.

use crate::occupancy::Occupancy;
use shallop_core::{Bytes, Time};

#[derive(Clone, Debug, Default)]
pub struct PoolOccupancy {
    occupancy: Occupancy,
    /// Time and bytes of each departure since the last admission.
    departures: Vec<(Time, Bytes)>,
}

impl PoolOccupancy {
    /// Records that `bytes` were admitted at `now`. All departures up to `now` must have been reported.
    pub fn admit(&mut self, now: Time, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            self.apply_departures();
            self.occupancy.set(now, self.occupancy.held() + bytes);
        }
    }

    pub fn depart(&mut self, at: Time, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            self.departures.push((at, bytes));
        }
    }

    /// Extends the record to `now`. All departures up to `now` must have been reported.
    pub fn advance_to(&mut self, now: Time) {
        self.apply_departures();
        self.occupancy.advance_to(now);
    }

    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn apply_departures(&mut self) {
        if self.departures.len() > 1 {
            self.departures.sort_unstable_by_key(|&(at, _)| at);
        }
        for (at, bytes) in self.departures.drain(..) {
            self.occupancy.set(at, self.occupancy.held() - bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Span;

    #[test]
    fn departures_are_applied_in_order_of_time_before_the_next_admission() {
        let at = |us| Time::after_start(Span::from_us(us));
        let bytes = Bytes::new;
        let mut pool = PoolOccupancy::default();
        pool.admit(at(10), bytes(300_000));
        // One port is served up to 40 us, then another up to 20 us.
        pool.depart(at(40), bytes(100_000));
        pool.depart(at(20), bytes(100_000));
        pool.admit(at(50), bytes(200_000));
        pool.advance_to(at(60));
        // 300 KB for 10 us, 200 KB for 20, 100 KB for 10, 300 KB for 10 of 60 us.
        let occupancy = pool.occupancy();
        assert_eq!((occupancy.max(), occupancy.held()), (bytes(300_000), bytes(300_000)));
        assert!((occupancy.mean() - 11e6 / 60.0).abs() < 1e-6, "{}", occupancy.mean());
        let above = [50_000, 150_000, 250_000, 350_000].map(|at| occupancy.fraction_above(bytes(at)) * 60.0);
        for (above, expected) in above.into_iter().zip([50.0, 40.0, 20.0, 0.0]) {
            assert!((above - expected).abs() < 1e-9, "{above} us, not {expected}");
        }
    }
}
