//! What a rate controller of a credit-based transport is told and what it answers. It steers the rate at which credits
//! or emulation packets are sent, as a fraction of the most that the link's share for them allows.

use shallop_core::{Span, Time};

/// The fate of the credits or emulation packets of one epoch, about a round trip long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// When the fate was known.
    pub now: Time,
    /// The rate they were sent at, as a fraction of the maximum.
    pub rate: f64,
    /// How many were sent, as far as their fate is known.
    pub sent: u64,
    /// How many came back.
    pub returned: u64,
    /// The time over which they came back.
    pub elapsed: Span,
    /// The rate at which they came back, as a fraction of the maximum; zero if it could not be measured.
    pub returned_rate: f64,
    /// The lowest useful rate, one packet in a round trip, as a fraction of the maximum.
    pub floor: f64,
}

impl Epoch {
    /// The fraction that did not come back; zero if none was sent.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { 1.0 - self.returned as f64 / self.sent as f64 }
    }
}

/// A controller of a sending rate.
pub trait Rate {
    /// A transfer begins, or begins again after its packets had been stopped. `_demand` is how many data packets are
    /// asked for, if that is known.
    fn on_start(&mut self, _demand: Option<u64>) {}
    /// The fate of an epoch is known.
    fn on_epoch(&mut self, epoch: &Epoch);
    /// The rate from now on, as a fraction of the maximum.
    fn rate(&self) -> f64;
}
