//! Round-trip times and the retransmission timeout (RTO). State: SRTT, RTTVAR, the minimum, and the backoff. Source:
//! RFC 6298; for Linux, `tcp_set_rto`.

use shallop_control::options::LONGEST;
use shallop_core::Span;
use shallop_options::{Options, Problem, Section};

/// The quantity that the minimum RTO bounds from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The minimum bounds the RTO itself (RFC 6298, 2.4).
    Timeout,
    /// The minimum bounds the term 4 * RTTVAR, so that the RTO is at least SRTT plus the minimum (Linux).
    Deviation,
}

shallop_options::string_enum! { RtoFloor { Timeout = "timeout", Deviation = "deviation" } }

/// Options for the computation of the retransmission timeout. The host stack determines their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(preset, check)]
pub struct Config {
    /// The retransmission timeout before the first round-trip sample.
    #[key(Time(Span::from_us(1), LONGEST))]
    pub rto_initial: Span,
    /// The minimum of the retransmission timeout, or of its part above the smoothed round-trip time (`rto_floor`).
    #[key(Time(Span::from_us(1), LONGEST))]
    pub rto_min: Span,
    /// The maximum of the retransmission timeout, with backoff.
    #[key(Time(Span::from_us(1), LONGEST))]
    pub rto_max: Span,
    /// What `rto_min` bounds: the whole timeout (`"timeout"`, RFC 6298), or its part above the smoothed round-trip
    /// time (`"deviation"`, Linux).
    pub rto_floor: RtoFloor,
}

impl Config {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let (keys, Self { rto_min: min, rto_max: max, .. }) = (Self::KEY, self);
        if min <= max {
            return Ok(());
        }
        let key = if section.is_written(keys.rto_min) { keys.rto_min } else { keys.rto_max };
        let message = format!("the least timeout, {min}, is above the largest, {max}");
        Err(section.reject(key, message))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    min: Span,
    max: Span,
    floor: RtoFloor,
    pub srtt: Span,
    rttvar: Span,
    minimum: Span,
    /// The retransmission timeout without backoff.
    pub rto: Span,
    /// How many times backoff has doubled the retransmission timeout.
    backoff: u32,
}

impl Rtt {
    pub fn new(config: &Config) -> Self {
        Self {
            min: config.rto_min,
            max: config.rto_max,
            floor: config.rto_floor,
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            minimum: Span::ZERO,
            rto: config.rto_initial.min(config.rto_max).max(Span::from_ps(1)),
            backoff: 0,
        }
    }

    /// Updates SRTT, RTTVAR and the minimum by a round-trip sample (RFC 6298, 2.2 and 2.3).
    pub fn sample(&mut self, rtt: Span) {
        if self.minimum.is_zero() {
            (self.srtt, self.rttvar, self.minimum) = (rtt, rtt / 2, rtt);
        } else {
            let error = rtt.max(self.srtt) - rtt.min(self.srtt);
            self.rttvar = (self.rttvar * 3 + error) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
            self.minimum = self.minimum.min(rtt);
        }
        let variance = self.rttvar * 4;
        let rto = match self.floor {
            RtoFloor::Timeout => (self.srtt + variance).max(self.min),
            RtoFloor::Deviation => self.srtt + variance.max(self.min),
        };
        // At least one tick, so that time passes between two timeouts.
        self.rto = rto.min(self.max).max(Span::from_ps(1));
    }

    /// Updates only the minimum round-trip time. If an acknowledgement covers several segments, the last one gives this
    /// sample, because the receiver did not delay its acknowledgement; the first one gives the sample for
    /// [`Rtt::sample`].
    pub fn note_min(&mut self, rtt: Span) {
        self.minimum = self.minimum.min(rtt);
    }

    /// The minimum round-trip time; zero before the first sample.
    pub fn min_rtt(&self) -> Span {
        self.minimum
    }

    pub fn rto(&self) -> Span {
        if self.backoff == 0 {
            return self.rto;
        }
        let ps = self.rto.as_ps().saturating_mul(1 << self.backoff);
        Span::from_ps(ps).min(self.max.max(self.rto))
    }

    /// SRTT + 4 * RTTVAR, without the configured minimum and maximum; the initial RTO before the first sample.
    pub fn unbounded_rto(&self) -> Span {
        if self.minimum.is_zero() { self.rto } else { self.srtt + self.rttvar * 4 }
    }

    /// Doubles the RTO, because the retransmission timer has expired (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
    }

    /// Ends the backoff of the RTO, because new data was acknowledged.
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC: Config = Config {
        rto_initial: Span::from_secs(1),
        rto_min: Span::from_secs(1),
        rto_max: Span::from_secs(60),
        rto_floor: RtoFloor::Timeout,
    };

    #[test]
    fn a_first_sample_of_100_ms_computes_300_ms_and_the_floor_makes_it_a_second() {
        let after_one = |config| {
            let mut rtt = Rtt::new(&config);
            assert_eq!(rtt.rto(), config.rto_initial);
            rtt.sample(Span::from_ms(100));
            rtt.rto()
        };
        assert_eq!(after_one(Config { rto_min: Span::ZERO, ..RFC }), Span::from_ms(300));
        assert_eq!(after_one(RFC), Span::from_secs(1));
    }

    #[test]
    fn linux_floors_the_deviation_so_the_timeout_stays_200_ms_above_the_round_trip() {
        let mut rtt = Rtt::new(&Config { rto_min: Span::from_ms(200), rto_floor: RtoFloor::Deviation, ..RFC });
        (0..200).for_each(|_| rtt.sample(Span::from_ms(40)));
        assert_eq!(rtt.rto(), Span::from_ms(240));
    }

    #[test]
    fn samples_are_smoothed_as_the_rfc_says() {
        let mut rtt = Rtt::new(&Config { rto_min: Span::ZERO, ..RFC });
        rtt.sample(Span::from_ms(100));
        rtt.sample(Span::from_ms(180));
        assert_eq!(rtt.srtt, Span::from_ms(110));
        assert_eq!(rtt.rto(), Span::from_us(110_000 + 4 * 57_500));
        assert_eq!(rtt.unbounded_rto(), rtt.rto(), "nothing bounds it here");
        assert_eq!(rtt.min_rtt(), Span::from_ms(100));
    }

    #[test]
    fn each_expiry_doubles_the_timeout_up_to_the_maximum() {
        let mut rtt = Rtt::new(&RFC);
        let backoff: Vec<_> = (0..8)
            .map(|_| {
                rtt.back_off();
                rtt.rto().as_ps() / 1_000_000_000_000
            })
            .collect();
        assert_eq!(backoff, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.reset_backoff();
        assert_eq!(rtt.rto(), Span::from_secs(1));
    }
}
