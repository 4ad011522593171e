//! What a connection counts.

use shallop_core::Span;

use crate::credit::counters::Counters;
use crate::credit::lateness::Lateness;

/// Counts of emulation packets, credits and what they allowed.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CreditStats {
    /// Emulation packets sent.
    pub emulated: u64,
    /// Credits that came back, one for each emulation packet that arrived at the peer.
    pub granted: u64,
    /// Credits that a data packet left on.
    pub used: u64,
    /// Credits for which there was nothing to send, or that came after their time.
    pub wasted: u64,
    /// Credits that were skipped because this side was later than its slack.
    pub skipped: u64,
    /// Credits sent, for emulation packets of the peer.
    pub credits_sent: u64,
    /// Packets and stamps that were dropped, by reason.
    pub dropped: Counters,
    /// QUIC packets with data of streams that left on credits.
    pub data_packets: u64,
    /// QUIC packets with data of streams that left without one, unscheduled ones not counted.
    pub without_credit: u64,
    /// QUIC packets with data of streams that left unscheduled, before the first credit (Aeolus).
    pub unscheduled: u64,
    /// Data packets that left later than 10, 100 and 1,000 us after their planned time, and the latest, seconds.
    pub late: [u64; 3],
    /// How late departures were noticed: half and 99 % of them.
    pub lateness: Lateness,
    /// The latest that a departure was noticed after its planned time, seconds.
    pub latest_s: f64,
}

impl CreditStats {
    /// A departure was noticed so long after its planned time.
    pub(crate) fn late(&mut self, late: Span) {
        for (count, bound) in self.late.iter_mut().zip([10, 100, 1_000]) {
            *count += u64::from(late > Span::from_us(bound));
        }
        self.lateness.add(late);
        self.latest_s = self.latest_s.max(late.as_secs_f64());
    }

    /// The part of emulation packets without a credit; zero if none was sent.
    #[must_use]
    pub fn emulation_loss(&self) -> f64 {
        part(self.emulated.saturating_sub(self.granted), self.emulated)
    }
}

/// A part of a whole; zero of nothing.
pub(crate) fn part(of: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { of as f64 / whole as f64 }
}
