//! Transports as state machines. An endpoint takes packets and the time, and returns packets and one deadline. It owns
//! no clock, socket or event list, and moves ranges of a byte stream, never the bytes, so that the same endpoints can
//! run in a simulator and on real hosts.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod aeolus;
pub mod any;
pub mod arrived;
pub mod clean;
pub mod counters;
pub mod endpoint;
pub mod expresspass;
pub mod flashpass;
pub mod flow_state;
pub mod metered_run;
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
pub use flow_state::{CaState, FlowState};
pub use metered_run::MeteredRun;
pub use middlebox::{Middlebox, PassThrough};
pub use peer::Peer;
pub use ranges::Ranges;
pub use round_robin::{Priority, RoundRobin};
pub use rtt::Rtt;
