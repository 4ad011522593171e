//! Round-trip times and the retransmission timeout that follows from them. State: the smoothed time, its mean
//! deviation, the shortest sample, and how often the timeout was doubled. Source: RFC 6298; the kernel's floor:
//! `tcp_set_rto`.

use shallop_core::Span;

/// What the minimum timeout bounds from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// The timeout (RFC 6298, 2.4).
    Timeout,
    /// The allowance for deviation, so that the timeout is the minimum above the smoothed time (Linux).
    Deviation,
}

/// How the timeout is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Before the first sample.
    pub initial: Span,
    /// The minimum.
    pub min: Span,
    /// The maximum, doublings included.
    pub max: Span,
    /// What the minimum bounds.
    pub floor: Floor,
}

/// The estimator of one path.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    min: Span,
    max: Span,
    floor: Floor,
    smoothed: Span,
    deviation: Span,
    shortest: Span,
    timeout: Span,
    doubled: u32,
}

impl Rtt {
    /// Nothing is known.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            min: config.min,
            max: config.max,
            floor: config.floor,
            smoothed: Span::ZERO,
            deviation: Span::ZERO,
            shortest: Span::ZERO,
            timeout: config.initial.min(config.max).max(Span::from_ps(1)),
            doubled: 0,
        }
    }

    /// A round trip took so long.
    pub fn sample(&mut self, rtt: Span) {
        if self.shortest.is_zero() {
            (self.smoothed, self.deviation, self.shortest) = (rtt, rtt / 2, rtt);
        } else {
            let error = rtt.max(self.smoothed) - rtt.min(self.smoothed);
            self.deviation = (self.deviation * 3 + error) / 4;
            self.smoothed = (self.smoothed * 7 + rtt) / 8;
            self.shortest = self.shortest.min(rtt);
        }
        let allowance = self.deviation * 4;
        let timeout = match self.floor {
            Floor::Timeout => (self.smoothed + allowance).max(self.min),
            Floor::Deviation => self.smoothed + allowance.max(self.min),
        };
        // At least a tick, so that time passes between two timeouts.
        self.timeout = timeout.min(self.max).max(Span::from_ps(1));
    }

    /// Of several round trips that one acknowledgement measured, only the longest is a [`Rtt::sample`], as it holds
    /// what the receiver waited; the shortest counts all the same.
    pub fn notice(&mut self, rtt: Span) {
        self.shortest = self.shortest.min(rtt);
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// The shortest sample; zero before the first.
    #[must_use]
    pub fn shortest(&self) -> Span {
        self.shortest
    }

    /// The timeout, doubled as often as it expired.
    #[must_use]
    pub fn timeout(&self) -> Span {
        if self.doubled == 0 {
            return self.timeout;
        }
        let ps = self.timeout.as_ps().saturating_mul(1 << self.doubled);
        Span::from_ps(ps).min(self.max.max(self.timeout))
    }

    /// The timeout, not doubled.
    #[must_use]
    pub fn single(&self) -> Span {
        self.timeout
    }

    /// The smoothed time and four deviations, whatever the bounds of timeouts are; before any sample the timeout.
    #[must_use]
    pub fn estimate(&self) -> Span {
        if self.shortest.is_zero() { self.timeout } else { self.smoothed + self.deviation * 4 }
    }

    /// The timeout expired: the next one is twice as long.
    pub fn back_off(&mut self) {
        self.doubled = (self.doubled + 1).min(30);
    }

    /// The path is alive: the timeout is what it was.
    pub fn recover(&mut self) {
        self.doubled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC: Config = Config {
        initial: Span::from_secs(1),
        min: Span::from_secs(1),
        max: Span::from_secs(60),
        floor: Floor::Timeout,
    };

    #[test]
    fn a_first_sample_of_100_ms_computes_300_ms_and_the_floor_makes_it_a_second() {
        let after_one = |config| {
            let mut rtt = Rtt::new(&config);
            assert_eq!(rtt.timeout(), config.initial);
            rtt.sample(Span::from_ms(100));
            rtt.timeout()
        };
        assert_eq!(after_one(Config { min: Span::ZERO, ..RFC }), Span::from_ms(300));
        assert_eq!(after_one(RFC), Span::from_secs(1));
    }

    #[test]
    fn linux_floors_the_deviation_so_the_timeout_stays_200_ms_above_the_round_trip() {
        let mut rtt = Rtt::new(&Config { min: Span::from_ms(200), floor: Floor::Deviation, ..RFC });
        (0..200).for_each(|_| rtt.sample(Span::from_ms(40)));
        assert_eq!(rtt.timeout(), Span::from_ms(240));
    }

    #[test]
    fn samples_are_smoothed_as_the_rfc_says() {
        let mut rtt = Rtt::new(&Config { min: Span::ZERO, ..RFC });
        rtt.sample(Span::from_ms(100));
        rtt.sample(Span::from_ms(180));
        assert_eq!(rtt.smoothed(), Span::from_ms(110));
        assert_eq!(rtt.timeout(), Span::from_us(110_000 + 4 * 57_500));
        assert_eq!(rtt.estimate(), rtt.timeout(), "nothing bounds it here");
        assert_eq!(rtt.shortest(), Span::from_ms(100));
    }

    #[test]
    fn each_expiry_doubles_the_timeout_up_to_the_maximum() {
        let mut rtt = Rtt::new(&RFC);
        let doubled: Vec<_> = (0..8)
            .map(|_| {
                rtt.back_off();
                rtt.timeout().as_ps() / 1_000_000_000_000
            })
            .collect();
        assert_eq!(doubled, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.recover();
        assert_eq!(rtt.timeout(), Span::from_secs(1));
    }
}
