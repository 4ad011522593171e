//! Counts of dropped UDP datagrams.

use std::ops::AddAssign;

use serde::Serialize;

/// UDP datagrams that an endpoint dropped, by reason. Drops end neither the endpoint nor a connection; QUIC
/// retransmits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DatagramDrops {
    /// Datagrams that the kernel refused to send, for example because a route to their destination is `prohibit`.
    pub unsent: u64,
    /// Datagrams from port 0 or from an unspecified address, which cannot be answered.
    pub unanswerable: u64,
    /// Datagrams whose control messages (DSCP, ECN, segment length) were truncated or malformed.
    pub malformed_control: u64,
}

impl AddAssign for DatagramDrops {
    fn add_assign(&mut self, other: Self) {
        self.unsent += other.unsent;
        self.unanswerable += other.unanswerable;
        self.malformed_control += other.malformed_control;
    }
}
