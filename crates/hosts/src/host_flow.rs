//! A flow that a real host sends to another, by whatever protocol.

use crate::addresses;
use crate::frame::Ends;

/// A flow between real hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFlow {
    /// Its number.
    pub number: u32,
    /// When it starts, in nanoseconds of the hosts' clock.
    pub start: u64,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// The sending host, by its number among all real hosts.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The port at the sender.
    pub local: u16,
}

impl HostFlow {
    /// The ends of the flow, if it is received at this port.
    #[must_use]
    pub fn ends(&self, port: u16) -> Ends {
        Ends {
            from: (addresses::address(self.from), self.local),
            to: (addresses::address(self.to), port),
        }
    }
}
