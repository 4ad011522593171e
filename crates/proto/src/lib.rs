//! Transports as machines. An endpoint takes packets and time and gives packets and one deadline; it owns no clock,
//! no socket and no event list, and moves ranges of a byte stream, never the bytes. What is simulated runs as it stands
//! in a driver of real hosts.

pub mod aeolus;
pub mod any;
pub mod arrived;
pub mod clean;
pub mod endpoint;
pub mod expresspass;
pub mod flashpass;
pub mod middlebox;
pub mod peer;
pub mod ranges;
pub mod report;
pub mod rtt;
pub mod tcp;
pub mod turn;
pub mod udp;
pub mod wire;

pub use any::{AnyEnd, AnyHead};
pub use arrived::Arrived;
pub use endpoint::{Endpoint, Nic, Out, settle};
pub use middlebox::{Middlebox, PassThrough};
pub use peer::Peer;
pub use ranges::Ranges;
pub use report::{Credits, Report};
pub use rtt::Rtt;
pub use turn::{Row, Turn};

/// The example of that page, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/add-a-controller.md")]
struct AddAController;
