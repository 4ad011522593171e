//! Counters of an endpoint, the same for every transport.

/// Credits as the sender of the data counts them. Unit: credits, each worth one full data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// Credits that arrived at the sender.
    pub granted: u64,
    /// Credits that released a data packet.
    pub used: u64,
    /// Credits that arrived too late, or when there was nothing left to send.
    pub wasted: u64,
}

/// Counters of an endpoint. Those of sending are zero at the receiver, those of receiving at the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Unscheduled data packets sent, before any credit.
    pub unscheduled: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmissions that were spurious, as the receiver reported by DSACK; zero where it does not report duplicates.
    pub spurious_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions of the congestion window that were undone, since a recovery or a timeout was spurious.
    pub undos: u64,
    /// Payload bytes received, each counted once.
    pub received: u64,
    /// Data packets received that carried no new payload.
    pub duplicates: u64,
    /// Credits or emulation packets sent.
    pub metered: u64,
    /// Counts of credits.
    pub credits: Credits,
}

impl EndpointCounters {
    /// The sum of both.
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
