//! Tail loss probes: when acknowledgements stop coming, one segment is sent to provoke one, before the timeout. State:
//! the probe that is out. Source: RFC 8985, 7.

use shallop_core::{Span, Time};

use super::head::{Flags, Head};
use crate::rtt::Rtt;

/// Before the first round-trip sample.
const UNKNOWN: Span = Span::from_secs(1);

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The first byte it carried.
    start: u64,
    /// The first byte not sent by then.
    end: u64,
    /// It was sent before.
    again: bool,
}

/// The probes of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tail {
    /// One is due.
    pub pending: bool,
    out: Option<Probe>,
}

impl Tail {
    /// True if none is out or due.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        !self.pending && self.out.is_none()
    }

    /// When a probe is due: `since` is the last time something was sent or acknowledged. The receiver may hold the
    /// acknowledgement of a segment that is `alone` back for `delay`.
    #[must_use]
    pub fn due(since: Time, rtt: &Rtt, alone: bool, delay: Span) -> Time {
        if rtt.smoothed().is_zero() {
            return since.saturating_add(UNKNOWN);
        }
        let delay = if alone { delay } else { Span::ZERO };
        since.saturating_add(rtt.smoothed() * 2 + delay)
    }

    /// A probe was sent that begins at `start`; everything before `end` had been sent by then.
    pub fn on_probe(&mut self, start: u64, end: u64, again: bool) {
        (self.pending, self.out) = (false, Some(Probe { start, end, again }));
    }

    /// An acknowledgement came; `plain` if it brought nothing. True if the probe repaired a loss that nothing else
    /// told of.
    pub fn on_ack(&mut self, head: &Head, plain: bool) -> bool {
        self.pending = false;
        let Some(probe) = self.out.filter(|probe| head.ack >= probe.end) else { return false };
        let needless = head.flags.has(Flags::DUPLICATE) && head.seq == probe.start;
        let repaired = probe.again && !needless && head.ack > probe.end;
        if !probe.again || needless || repaired || plain {
            self.out = None;
        }
        repaired
    }

    /// Losses are being repaired by other means.
    pub fn cancel(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(again: bool, acks: &[(u64, bool)]) -> (bool, bool) {
        let mut tail = Tail::default();
        tail.on_probe(9_000, 10_000, again);
        let mut repaired = false;
        for &(ack, duplicate) in acks {
            let flags = Flags::ACK | Flags::DUPLICATE.when(duplicate);
            repaired |= tail.on_ack(&Head { seq: 9_000, ack, flags, ..Head::default() }, false);
        }
        (repaired, tail.is_idle())
    }

    #[test]
    fn a_probe_repaired_a_loss_if_what_follows_is_acknowledged_without_a_sign_of_a_duplicate() {
        assert_eq!(outcome(true, &[(10_000, false), (11_000, false)]), (true, true));
        assert_eq!(outcome(true, &[(10_000, false), (10_000, true)]), (false, true));
        assert_eq!(outcome(true, &[(10_000, false)]), (false, false), "not known yet");
        assert_eq!(outcome(false, &[(10_000, false)]), (false, true), "new data repairs nothing");
        assert_eq!(outcome(true, &[(9_000, false)]), (false, false));
    }
}
