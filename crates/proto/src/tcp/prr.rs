//! Proportional rate reduction. In recovery the sender sends as many bytes as bring the data in flight to the
//! controller's target, by the time when everything is acknowledged that was in flight when the loss was detected.
//! State: bytes delivered and sent since recovery began. Units: bytes, released in whole segments. Sources: RFC 9937;
//! kernel: `tcp_cwnd_reduction`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub delivered: u64,
    /// `pipe` of RFC 6675: bytes in flight, without those marked lost.
    pub pipe: u64,
    /// `SafeACK` of RFC 9937: whether the acknowledgement advanced SND.UNA and showed no new loss.
    pub safe: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Prr {
    mss: u64,
    /// `RecoverFS` of RFC 9937: bytes in flight when recovery began, which could still be delivered.
    recover_fs: u64,
    /// `prr_delivered` of RFC 9937: bytes delivered since recovery began.
    delivered: u64,
    /// `prr_out` of RFC 9937: bytes sent since recovery began.
    out: u64,
    cwnd: u64,
}

impl Prr {
    /// Begins a reduction. `recover_fs` is the number of bytes not known to be delivered before the present
    /// acknowledgement.
    pub fn new(recover_fs: u64, mss: u64) -> Self {
        Self { mss, recover_fs: recover_fs.max(1), delivered: 0, out: 0, cwnd: 0 }
    }

    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Updates the window by an acknowledgement. `ssthresh` is the target for the data in flight, in bytes.
    pub fn on_ack(&mut self, ack: &Delivered, ssthresh: u64) {
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let mut budget = if ack.pipe > ssthresh {
            self.proportional(ssthresh).saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out);
            if ack.safe {
                limit = limit.max(ack.delivered) + self.mss;
            }
            limit.min(ssthresh - ack.pipe)
        };
        if self.out == 0 {
            // The fast retransmit is never held back.
            budget = budget.max(self.mss);
        }
        self.cwnd = ack.pipe + budget;
    }

    pub fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Bytes that should have been sent since recovery began, rounded up to whole segments. Windows of 4 GB do not
    /// overflow.
    fn proportional(&self, ssthresh: u64) -> u64 {
        let bytes = self.delivered.saturating_mul(ssthresh).div_ceil(self.recover_fs);
        bytes.div_ceil(self.mss).saturating_mul(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Loses one of 20 segments and acknowledges the 19 others one by one. Returns how many segments were sent
    /// for each acknowledgement, and how many are in flight in the end.
    fn one_of_twenty(target: u64) -> (Vec<u64>, u64) {
        let mut prr = Prr::new(20 * MSS, MSS);
        let mut in_flight = 19 * MSS;
        let mut left = vec![];
        for _ in 0..19 {
            in_flight -= MSS;
            let ack = Delivered { delivered: MSS, pipe: in_flight, safe: false };
            prr.on_ack(&ack, target * MSS);
            let mut now = 0;
            while in_flight + MSS <= prr.cwnd() {
                prr.on_send(MSS);
                in_flight += MSS;
                now += 1;
            }
            left.push(now);
        }
        (left, in_flight / MSS)
    }

    #[test]
    fn halving_twenty_segments_sends_one_for_every_second_acknowledgement() {
        let (left, in_flight) = one_of_twenty(10);
        assert_eq!(left[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!((left.iter().sum::<u64>(), in_flight), (10, 10));
    }

    #[test]
    fn fourteen_of_twenty_segments_are_sent_when_the_target_is_fourteen() {
        let (left, in_flight) = one_of_twenty(14);
        assert_eq!((left.iter().sum::<u64>(), in_flight), (14, 14));
        assert!(left.iter().all(|&now| now <= 1));
    }

    #[test]
    fn after_heavy_loss_the_flight_grows_to_the_target_once_acknowledgements_are_safe() {
        // 15 of 20 are lost at once: 4 in flight after the first acknowledgement, target 10.
        let mut prr = Prr::new(20 * MSS, MSS);
        let grown = |prr: &mut Prr, in_flight: u64, safe| {
            prr.on_ack(&Delivered { delivered: MSS, pipe: in_flight, safe }, 10 * MSS);
            let budget = prr.cwnd() - in_flight;
            prr.on_send(budget);
            budget / MSS
        };
        assert_eq!(grown(&mut prr, 4 * MSS, false), 1, "one for one");
        assert_eq!(grown(&mut prr, 4 * MSS, false), 1);
        assert_eq!(grown(&mut prr, 4 * MSS, true), 2, "two for one");
        assert_eq!(grown(&mut prr, 9 * MSS, true), 1, "no further than the target");
    }
}
