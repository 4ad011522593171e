//! Counters of an endpoint: packets, credits and losses.

/// Credits that the sender of a flow received. A credit allows one full data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    pub granted: u64,
    /// Credits that released a data packet.
    pub used: u64,
    /// Credits that released nothing: they arrived too late, or when no data was left to send.
    pub wasted: u64,
}

/// Counters of one endpoint, for any transport. In a receiver the counters of sending are zero, in a sender the
/// counters of receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets sent without a credit, before the first credit (Aeolus).
    pub unscheduled: u64,
    pub retransmits: u64,
    /// Retransmissions of data that had arrived, as the receiver reported by DSACK; zero without such reports.
    pub spurious_retransmits: u64,
    pub timeouts: u64,
    /// Reductions of the congestion window that were undone because the recovery or timeout was spurious.
    pub undos: u64,
    /// Payload bytes received; bytes that arrived several times count once.
    pub received: u64,
    /// Data packets received that carried no new payload.
    pub duplicates: u64,
    /// Packets of the metered class sent: credits (`ExpressPass`) or emulation packets (`FlashPass`).
    pub metered: u64,
    pub credits: Credits,
}

impl EndpointCounters {
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            unscheduled: self.unscheduled + other.unscheduled,
            retransmits: self.retransmits + other.retransmits,
            spurious_retransmits: self.spurious_retransmits + other.spurious_retransmits,
            timeouts: self.timeouts + other.timeouts,
            undos: self.undos + other.undos,
            received: self.received + other.received,
            duplicates: self.duplicates + other.duplicates,
            metered: self.metered + other.metered,
            credits: Credits {
                granted: self.credits.granted + other.credits.granted,
                used: self.credits.used + other.credits.used,
                wasted: self.credits.wasted + other.credits.wasted,
            },
        }
    }
}
