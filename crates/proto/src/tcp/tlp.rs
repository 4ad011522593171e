//! Tail loss probes: if no acknowledgement arrives for two round trips, the sender sends one segment to provoke one,
//! before the retransmission timer expires. State: the probe in flight. Source: RFC 8985, 7.

use super::head::Head;
use crate::rtt::Rtt;
use shallop_core::{Span, Time};

/// The timeout of tail loss probes (PTO) before the first round-trip sample.
const INITIAL_PTO: Span = Span::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// `TLP.end_seq` of RFC 8985: SND.NXT after the probe was sent.
    end_seq: u64,
    /// `TLP.is_retrans` of RFC 8985: whether the probe was a retransmission.
    is_retransmission: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TailLossProbe {
    /// Whether the timer of the probe has expired and the probe has not been sent yet.
    pub pending: bool,
    in_flight: Option<Probe>,
}

impl TailLossProbe {
    /// Whether no probe is pending or in flight; only then may another one be sent.
    pub const fn is_idle(&self) -> bool {
        !self.pending && self.in_flight.is_none()
    }

    /// When the timer of the probe expires, if it was started at `start`, the time when something was last sent or
    /// acknowledged. If a single segment is in flight, the receiver may delay its acknowledgement by `max_ack_delay`.
    pub fn timeout(start: Time, rtt: &Rtt, single: bool, max_ack_delay: Span) -> Time {
        if rtt.srtt.is_zero() {
            return start.saturating_add(INITIAL_PTO);
        }
        let ack_delay = if single { max_ack_delay } else { Span::ZERO };
        start.saturating_add(rtt.srtt * 2 + ack_delay)
    }

    /// Whether the probe in flight is a retransmission.
    pub fn is_retransmission_in_flight(&self) -> bool {
        self.in_flight.is_some_and(|probe| probe.is_retransmission)
    }

    /// Records that a probe was sent, after which SND.NXT is `end_seq`.
    pub fn on_probe(&mut self, end_seq: u64, is_retransmission: bool) {
        (self.pending, self.in_flight) = (false, Some(Probe { end_seq, is_retransmission }));
    }

    /// Processes an acknowledgement. `delivered_nothing` identifies a duplicate. Returns true if the probe repaired a
    /// loss that nothing else shows, for which the window must be reduced (RFC 8985, 7.4.2).
    pub fn on_ack(&mut self, head: &Head, delivered_nothing: bool) -> bool {
        self.pending = false;
        let Some(probe) = self.in_flight.filter(|probe| head.ack >= probe.end_seq) else {
            return false;
        };
        let duplicate = head.dsack().is_some_and(|dsack| dsack.end == probe.end_seq);
        let repaired = probe.is_retransmission && !duplicate && head.ack > probe.end_seq;
        if !probe.is_retransmission || duplicate || repaired || delivered_nothing {
            self.in_flight = None;
        }
        repaired
    }

    /// Cancels the probe, because it would disturb the recovery that begins.
    pub fn cancel(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::head::{Flags, SackBlock};

    /// Sends a probe of the bytes 9000 to 9999 and processes acknowledgements, each a number and whether it has a DSACK
    /// for the probe. Returns whether the probe repaired a loss, and whether no probe is in flight any more.
    fn outcome(is_retransmission: bool, acks: &[(u64, bool)]) -> (bool, bool) {
        let mut tlp = TailLossProbe::default();
        tlp.on_probe(10_000, is_retransmission);
        let mut repaired = false;
        for &(ack, duplicate) in acks {
            let mut head = Head { ack, flags: Flags::ACK, ..Head::default() };
            if duplicate {
                head.blocks[0] = SackBlock::for_range(&(9_000..10_000), ack);
            }
            repaired |= tlp.on_ack(&head, false);
        }
        (repaired, tlp.is_idle())
    }

    #[test]
    fn a_probe_repaired_a_loss_if_later_data_is_acknowledged_without_a_dsack() {
        assert_eq!(outcome(true, &[(10_000, false), (11_000, false)]), (true, true));
        assert_eq!(outcome(true, &[(10_000, false), (10_000, true)]), (false, true));
        assert_eq!(outcome(true, &[(10_000, false)]), (false, false), "not known yet");
        assert_eq!(outcome(false, &[(10_000, false)]), (false, true), "new data repairs nothing");
        assert_eq!(outcome(true, &[(9_000, false)]), (false, false));
    }
}
