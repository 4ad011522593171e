//! Proportional rate reduction. In recovery the sender sends as many bytes as bring the data in flight to the
//! controller's target, by the time when everything is acknowledged that was in flight when the loss was detected.
//! State: bytes delivered and sent since recovery began. Units: bytes, released in whole segments. Sources: RFC 9937;
//! kernel 6.12, `tcp_cwnd_reduction`, which has kept two rules of RFC 6937: the reduction is spread over the window
//! before it instead of over the flight, and below the target at least as much is sent as was delivered.

use std::num::NonZeroU64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub mss: u64,
    /// Whether the rules are Linux's.
    pub linux: bool,
    pub delivered: u64,
    /// `pipe` of RFC 6675: bytes in flight, without those marked lost.
    pub pipe: u64,
    /// `SafeACK` of RFC 9937: whether the acknowledgement advanced SND.UNA and showed no new loss.
    pub safe: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// `RecoverFS` of RFC 9937: bytes in flight when recovery began, which could still be delivered. Linux: the
    /// congestion window before the reduction (`prior_cwnd`).
    recover_fs: NonZeroU64,
    /// `prr_delivered` of RFC 9937: bytes delivered since recovery began.
    delivered: u64,
    /// `prr_out` of RFC 9937: bytes sent since recovery began.
    out: u64,
    cwnd: u64,
}

impl Prr {
    /// Begins a reduction. `recover_fs` is the number of bytes not known to be delivered before the present
    /// acknowledgement.
    pub fn new(recover_fs: u64) -> Self {
        let recover_fs = NonZeroU64::new(recover_fs).unwrap_or(NonZeroU64::MIN);
        Self { recover_fs, delivered: 0, out: 0, cwnd: 0 }
    }

    /// Begins a reduction as Linux does, with the congestion window before it.
    pub fn linux(prior_cwnd: u64) -> Self {
        Self { cwnd: prior_cwnd, ..Self::new(prior_cwnd) }
    }

    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Updates the window by an acknowledgement. `ssthresh` is the target for the data in flight, in bytes.
    pub fn on_ack(&mut self, ack: &Delivered, ssthresh: u64) {
        let mss = ack.mss;
        if ack.linux && ack.delivered == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let mut budget = if ack.pipe > ssthresh {
            self.proportional(ssthresh, mss).saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out);
            if ack.safe || ack.linux {
                limit = limit.max(ack.delivered) + if ack.safe { mss } else { 0 };
            }
            limit.min(ssthresh - ack.pipe)
        };
        if self.out == 0 {
            // The fast retransmit is never held back.
            budget = budget.max(mss);
        }
        self.cwnd = ack.pipe + budget;
    }

    pub fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Bytes that should have been sent since recovery began, rounded up to whole segments. Windows of 4 GB do not
    /// overflow.
    fn proportional(&self, ssthresh: u64, mss: u64) -> u64 {
        let bytes = self.delivered.saturating_mul(ssthresh).div_ceil(self.recover_fs.get());
        bytes.div_ceil(mss).saturating_mul(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn after_heavy_loss_the_flight_grows_to_the_target_once_acknowledgements_are_safe() {
        // 15 of 20 are lost at once: 4 in flight after the first acknowledgement, target 10.
        let mut prr = Prr::new(20 * MSS);
        let grown = |prr: &mut Prr, in_flight: u64, safe| {
            let ack = Delivered { mss: MSS, linux: false, delivered: MSS, pipe: in_flight, safe };
            prr.on_ack(&ack, 10 * MSS);
            let budget = prr.cwnd() - in_flight;
            prr.on_send(budget);
            budget / MSS
        };
        assert_eq!(grown(&mut prr, 4 * MSS, false), 1, "one for one");
        assert_eq!(grown(&mut prr, 4 * MSS, false), 1);
        assert_eq!(grown(&mut prr, 4 * MSS, true), 2, "two for one");
        assert_eq!(grown(&mut prr, 9 * MSS, true), 1, "no further than the target");
    }

    /// The arithmetic of `tcp_cwnd_reduction` by hand: a window of 30 segments, a target of 10, segments delivered one
    /// by one. Above the target a third of what was delivered is sent. Below it, what was sent in addition for a safe
    /// acknowledgement is not held back from the next one, as RFC 9937 does.
    #[test]
    fn linux_counts_from_the_window_before_and_sends_at_least_what_is_delivered() {
        let sent = |linux: bool, acks: &[(u64, u64, bool)]| -> Vec<u64> {
            let mut prr = if linux { Prr::linux(30 * MSS) } else { Prr::new(20 * MSS) };
            let step = |&(delivered, pipe, safe): &(u64, u64, bool)| {
                let ack = Delivered { mss: MSS, linux, delivered: delivered * MSS, pipe: pipe * MSS, safe };
                prr.on_ack(&ack, 10 * MSS);
                let budget = prr.cwnd().saturating_sub(pipe * MSS);
                prr.on_send(budget);
                budget / MSS
            };
            acks.iter().map(step).collect()
        };
        let above = [(1, 19, false), (1, 19, false), (1, 18, false), (1, 18, false)];
        assert_eq!((sent(true, &above), sent(false, &above)), (vec![1, 0, 0, 1], vec![1, 0, 1, 0]));
        let below = [(1, 4, false), (1, 4, true), (1, 5, false), (1, 5, false)];
        assert_eq!((sent(true, &below), sent(false, &below)), (vec![1, 2, 1, 1], vec![1, 2, 0, 1]));
        let nothing = [(1, 4, false), (0, 2, false)];
        assert_eq!((sent(true, &nothing), sent(false, &nothing)), (vec![1, 3], vec![1, 0]));
    }
}
