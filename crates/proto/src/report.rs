//! What an end has done, in counts that every transport shares.

/// Credits as the end that sends data counts them. Unit: credits, each worth one full data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// Arrived at the sender.
    pub granted: u64,
    /// Turned into a data packet.
    pub used: u64,
    /// Arrived when there was nothing left to send, or too late to be used.
    pub wasted: u64,
}

/// What an end has done so far. The sender fills the counts of sending, the receiver those of receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Data packets sent, repeats included.
    pub sent: u64,
    /// Those of them that were sent before any credit.
    pub unscheduled: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Different payload bytes received.
    pub received: u64,
    /// Data packets that brought nothing new.
    pub duplicates: u64,
    /// Credits or emulation packets sent.
    pub metered: u64,
    /// What became of credits.
    pub credits: Credits,
}

impl Report {
    /// The sums of two reports.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            unscheduled: self.unscheduled + other.unscheduled,
            retransmits: self.retransmits + other.retransmits,
            timeouts: self.timeouts + other.timeouts,
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
