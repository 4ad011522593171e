//! How a receiver echoes congestion marks in ECE. State: one bit. Sources: RFC 3168, 6.1.3; RFC 8257, 3.2.

use shallop_core::Ecn;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Off,
    /// ECE is set after a mark until the sender sets CWR (RFC 3168).
    Rfc3168,
    /// ECE is set if and only if the acknowledged data was marked (DCTCP).
    Dctcp,
}

#[derive(Clone, Copy, Debug)]
pub struct Echo {
    policy: Policy,
    pub ece: bool,
}

impl Echo {
    pub const fn new(policy: Policy) -> Self {
        Self { policy, ece: false }
    }

    /// Processes a data packet. Returns true if ECE must change: then data that is not acknowledged yet must be
    /// acknowledged with the old value, before [`Echo::toggle`] is called.
    pub fn on_data(&mut self, ecn: Ecn, cwr: bool) -> bool {
        let marked = ecn == Ecn::Ce;
        match self.policy {
            Policy::Off => false,
            Policy::Rfc3168 => {
                self.ece = marked || (self.ece && !cwr);
                false
            }
            Policy::Dctcp => marked != self.ece,
        }
    }

    pub const fn toggle(&mut self) {
        self.ece = !self.ece;
    }
}
