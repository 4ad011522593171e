//! The sockets of endpoints, and the thread that waits for them.

pub(crate) mod datagram;
pub(crate) mod driver;
pub(crate) mod drops;
pub(crate) mod dual;
pub(crate) mod socket;
