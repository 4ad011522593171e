//! Transports as state machines. An endpoint takes packets and time and returns packets and one deadline; it owns no
//! clock, no socket and no event list, and moves ranges of a byte stream, never the bytes. The same endpoints can run
//! in a driver for real hosts.

pub mod aeolus;
pub mod any;
pub mod arrived;
pub mod clean;
pub mod counters;
pub mod endpoint;
pub mod expresspass;
pub mod flashpass;
pub mod middlebox;
pub mod peer;
pub mod ranges;
pub mod round_robin;
pub mod rtt;
pub mod tcp;
pub mod udp;
pub mod wire;

pub use any::{AnyEnd, AnyHead, ExpressPassEnd, FlashPassEnd, TcpEnd, UdpEnd};
pub use arrived::Arrived;
pub use counters::{Credits, EndpointCounters};
pub use endpoint::{Endpoint, Nic, Out, settle};
pub use middlebox::{Middlebox, PassThrough};
pub use peer::Peer;
pub use ranges::Ranges;
pub use round_robin::{Priority, RoundRobin};
pub use rtt::Rtt;
