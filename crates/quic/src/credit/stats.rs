//! Counts of a connection.

use crate::{credit::counters::DropCounters, credit::lateness::Lateness};
use shallop_core::Span;

/// The emulation packets, credits and data packets of one connection, counted since its start.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CreditStats {
    /// Emulation packets sent.
    pub emulated: u64,
    /// Emulation packets of tests of the path, beside `emulated`. No data leaves on their credits.
    pub path_tests: u64,
    /// Credits received: one for each emulation packet that arrived at the peer, if the credit was not lost.
    pub granted: u64,
    /// Credits on which a data packet was sent.
    pub used: u64,
    /// Credits that were not used, because there was nothing to send or they arrived too late.
    pub wasted: u64,
    /// Credits that were skipped because this side was later than [`Config::slack`](crate::Config::slack).
    pub skipped: u64,
    /// Credits sent, for emulation packets of the peer.
    pub credits_sent: u64,
    /// Dropped packets and stamps, by reason.
    pub dropped: DropCounters,
    /// QUIC packets with stream data that were sent on credits.
    pub data_packets: u64,
    /// QUIC packets with stream data that were sent without a credit, except unscheduled ones.
    pub without_credit: u64,
    /// QUIC packets with stream data that were sent before the first credit (Aeolus).
    pub unscheduled: u64,
    /// Datagrams that arrived at this endpoint during this connection, for any of its connections, while its receive
    /// buffer was full, because this host read too late.
    pub unread: u64,
    /// Departures more than 10, 100 and 1,000 us after their planned time.
    pub late: [u64; 3],
    /// The delays of departures after their planned time.
    pub lateness: Lateness,
    /// The longest delay of a departure after its planned time, seconds.
    pub latest_s: f64,
}

impl CreditStats {
    /// Counts a departure with this delay after its planned time.
    pub(crate) fn count_departure(&mut self, late: Span) {
        for (count, bound) in self.late.iter_mut().zip([10, 100, 1_000]) {
            *count += u64::from(late > Span::from_us(bound));
        }
        self.lateness.add(late);
        self.latest_s = self.latest_s.max(late.as_secs_f64());
    }

    /// The fraction of emulation packets without a credit, 0 to 1; 0 if none was sent.
    pub fn emulation_loss(&self) -> f64 {
        fraction(self.emulated.saturating_sub(self.granted), self.emulated)
    }
}

/// `part / whole`, or 0 if `whole` is 0.
pub(crate) fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
