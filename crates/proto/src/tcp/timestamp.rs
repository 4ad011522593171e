//! The timestamp option: a clock of one millisecond, as in Linux, by which a sender tells whether an original segment
//! or its retransmission caused an acknowledgement. Sources: RFC 7323, 3 and 4; kernel: `tcp_tsopt_ecr_before`.
//!
//! Headers have 16 of the option's 32 bits, to stay small. The clock wraps after 65.5 s, so timestamps are compared
//! only if they are known to be less than [`HORIZON`] apart. Segments with old timestamps are not dropped (PAWS, RFC
//! 7323, 5): it protects against sequence numbers that wrap; sequence numbers of the simulator do not wrap.

use shallop_core::{Span, Time};

/// A value of the timestamp clock, in milliseconds modulo 2^16: `TSval` in a data segment, `TSecr` in an
/// acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp(pub u16);

/// The longest time between two timestamps that are compared: a quarter of the clock's period of 65.5 s.
pub const HORIZON: Span = Span::from_ms(1 << 14);

impl Timestamp {
    pub const fn at(now: Time) -> Self {
        Self((now.since_start().as_ps() / Span::from_ms(1).as_ps()) as u16)
    }

    /// Whether the timestamp is from an earlier millisecond than `other`, by at most half a period of the clock.
    pub const fn is_before(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() < 0
    }
}

/// TS.Recent of a receiver: the timestamp that it echoes, and when it was received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TsRecent {
    tsval: Timestamp,
    received_at: Option<Time>,
}

impl TsRecent {
    pub(super) const fn tsecr(&self) -> Timestamp {
        self.tsval
    }

    /// Processes the timestamp of a segment. It is echoed from now on if SEG.SEQ <= Last.ACK.sent and the timestamp is
    /// not older than TS.Recent (RFC 7323, 4.3), or if TS.Recent is too old to be compared (RFC 7323, 5.5).
    pub(super) fn on_segment(&mut self, now: Time, tsval: Timestamp, seq: u64, last_ack_sent: u64) {
        let outdated = |at: Time| now.saturating_since(at) > HORIZON;
        let newer = !tsval.is_before(self.tsval) || self.received_at.is_none_or(outdated);
        if seq <= last_ack_sent && newer {
            (self.tsval, self.received_at) = (tsval, Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::after_start(Span::from_ms(ms))
    }

    #[test]
    fn the_clock_ticks_each_millisecond_and_wraps() {
        let at = |ms_at: u64| Timestamp::at(ms(ms_at));
        assert_eq!((at(7), Timestamp::at(ms(8) - Span::from_ps(1))), (Timestamp(7), Timestamp(7)));
        assert!(at(7).is_before(at(8)) && !at(8).is_before(at(7)) && !at(7).is_before(at(7)));
        assert!(at(65_535).is_before(at(65_536)) && !at(65_536).is_before(at(65_535)));
    }

    /// The cases of RFC 7323, 4.3. A delayed acknowledgement echoes the first segment that it acknowledges. A segment
    /// above a gap is not echoed; the segment that fills the gap is.
    #[test]
    fn receivers_echo_the_timestamp_of_the_last_segment_that_advanced_the_window() {
        let mut ts_recent = TsRecent::default();
        let echoes = [(1, 0, 0), (2, 1, 0), (3, 3, 2), (4, 2, 2), (1, 0, 4)].map(|(tsval, seq, last_ack)| {
            ts_recent.on_segment(ms(10), Timestamp(tsval), seq, last_ack);
            ts_recent.tsecr().0
        });
        assert_eq!(echoes, [1, 1, 1, 4, 4]);
    }

    #[test]
    fn after_a_long_idle_time_any_timestamp_counts_as_newer() {
        let mut ts_recent = TsRecent::default();
        ts_recent.on_segment(ms(0), Timestamp(0), 0, 0);
        ts_recent.on_segment(ms(40_000), Timestamp(40_000), 1, 1);
        assert_eq!(ts_recent.tsecr(), Timestamp(40_000));
    }
}
