//! UDP sockets, and the thread of an endpoint.

mod batch;
pub(crate) mod datagram;
pub(crate) mod driver;
pub(crate) mod dual_stack;
pub(crate) mod socket;
