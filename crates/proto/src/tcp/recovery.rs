//! Proportional rate reduction: during recovery, as many packets leave as bring the flight to the controller's target
//! by the time everything in flight at the loss is acknowledged. State: bytes delivered and sent since recovery began.
//! Units: bytes, released in whole segments. Sources: RFC 9937; kernel: `tcp_cwnd_reduction`.

/// What an acknowledgement says to a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes newly delivered.
    pub delivered: u64,
    /// In flight now, everything taken for lost excluded.
    pub in_flight: u64,
    /// It advanced the cumulative acknowledgement and revealed no loss.
    pub safe: bool,
}

/// A reduction in progress.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    segment: u64,
    /// Bytes that could still be delivered when it began.
    at_start: u64,
    delivered: u64,
    sent: u64,
    window: u64,
}

impl Reduction {
    /// Begins with so many bytes not yet known to be delivered, those the present acknowledgement delivers included.
    #[must_use]
    pub fn new(at_start: u64, segment: u64) -> Self {
        Self { segment, at_start: at_start.max(1), delivered: 0, sent: 0, window: 0 }
    }

    /// How much may be in flight, after the last acknowledgement.
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.window
    }

    /// An acknowledgement came; `target` is what the controller wants in flight in the end.
    pub fn on_ack(&mut self, ack: &Delivery, target: u64) {
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let mut budget = if ack.in_flight > target {
            self.share(target).saturating_sub(self.sent)
        } else {
            let mut limit = self.delivered.saturating_sub(self.sent);
            if ack.safe {
                limit = limit.max(ack.delivered) + self.segment;
            }
            limit.min(target - ack.in_flight)
        };
        if self.sent == 0 {
            // The first retransmission does not wait.
            budget = budget.max(self.segment);
        }
        self.window = ack.in_flight + budget;
    }

    /// So many bytes were sent.
    pub fn on_send(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// The bytes that should have been sent by now, rounded up to whole segments. Windows of 4 GB do not overflow.
    fn share(&self, target: u64) -> u64 {
        let share = self.delivered.saturating_mul(target).div_ceil(self.at_start);
        share.div_ceil(self.segment).saturating_mul(self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1000;

    /// One of 20 segments is lost, the 19 others are acknowledged one by one. Gives what left on each, and the flight.
    fn one_of_twenty(target: u64) -> (Vec<u64>, u64) {
        let mut reduction = Reduction::new(20 * SEGMENT, SEGMENT);
        let mut in_flight = 19 * SEGMENT;
        let mut left = vec![];
        for _ in 0..19 {
            in_flight -= SEGMENT;
            let ack = Delivery { delivered: SEGMENT, in_flight, safe: false };
            reduction.on_ack(&ack, target * SEGMENT);
            let mut now = 0;
            while in_flight + SEGMENT <= reduction.window() {
                reduction.on_send(SEGMENT);
                in_flight += SEGMENT;
                now += 1;
            }
            left.push(now);
        }
        (left, in_flight / SEGMENT)
    }

    #[test]
    fn half_of_twenty_segments_leave_one_on_every_second_acknowledgement() {
        let (left, in_flight) = one_of_twenty(10);
        assert_eq!(left[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!((left.iter().sum::<u64>(), in_flight), (10, 10));
    }

    #[test]
    fn fourteen_of_twenty_leave_when_the_target_is_fourteen() {
        let (left, in_flight) = one_of_twenty(14);
        assert_eq!((left.iter().sum::<u64>(), in_flight), (14, 14));
        assert!(left.iter().all(|&now| now <= 1));
    }

    #[test]
    fn after_heavy_loss_the_flight_is_held_until_acknowledgements_are_safe_then_grows_to_the_target()
     {
        // 15 of 20 are lost at once: 4 in flight after the first acknowledgement, target 10.
        let mut reduction = Reduction::new(20 * SEGMENT, SEGMENT);
        let grown = |reduction: &mut Reduction, in_flight: u64, safe| {
            reduction.on_ack(&Delivery { delivered: SEGMENT, in_flight, safe }, 10 * SEGMENT);
            let budget = reduction.window() - in_flight;
            reduction.on_send(budget);
            budget / SEGMENT
        };
        assert_eq!(grown(&mut reduction, 4 * SEGMENT, false), 1, "one for one");
        assert_eq!(grown(&mut reduction, 4 * SEGMENT, false), 1);
        assert_eq!(grown(&mut reduction, 4 * SEGMENT, true), 2, "two for one");
        assert_eq!(grown(&mut reduction, 9 * SEGMENT, true), 1, "no further than the target");
    }
}
