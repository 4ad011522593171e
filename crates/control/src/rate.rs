//! The interface between a credit-based transport and its feedback control. The controller sets the sending rate of
//! credits (`ExpressPass`) or of emulation packets (`FlashPass`). Unit of rates: fraction of the maximum rate, which is
//! the share of the link's capacity that is reserved for these packets.

use shallop_core::{Span, Time};

/// Credits or emulation packets that were sent in one epoch (about one round trip), and those that returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Time at which the outcome of all counted packets is known.
    pub now: Time,
    /// Rate at which the packets were sent, as a fraction of the maximum.
    pub rate: f64,
    /// Packets sent whose outcome is known.
    pub sent: u64,
    /// Packets that returned: credits echoed by data packets, or emulation packets echoed by credits.
    pub returned: u64,
    /// Time over which the packets returned.
    pub elapsed: Span,
    /// Rate at which packets returned, as a fraction of the maximum; zero if it was not measured.
    pub returned_rate: f64,
    /// Minimum rate, one packet per round trip, as a fraction of the maximum.
    pub min_rate: f64,
}

impl Epoch {
    /// Fraction of packets that were lost; zero if no packet was sent.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { 1.0 - self.returned as f64 / self.sent as f64 }
    }
}

/// Feedback control of a sending rate: of credits or of emulation packets.
pub trait Rate {
    /// Called when a transfer starts, or resumes after its credits had been stopped. `_demand` is the number of data
    /// packets requested, if known.
    fn on_start(&mut self, _demand: Option<u64>) {}
    /// Called when the outcome of all packets of an epoch is known. Updates the rate.
    fn on_epoch(&mut self, epoch: &Epoch);
    /// The rate at which to send, as a fraction of the maximum, in (0, 1]; `ExpressPass` may exceed 1 by its target
    /// loss.
    fn rate(&self) -> f64;
}
