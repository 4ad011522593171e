//! When data leaves: emulation packets and credits, what both sides tell each other of them, when credits are left for
//! plain QUIC, and what QUIC may send without one.

pub(crate) mod bypass;
pub mod counters;
pub(crate) mod credits;
pub(crate) mod evidence;
pub(crate) mod exchange;
pub(crate) mod gate;
pub(crate) mod lateness;
pub mod notice;
pub mod outstanding;
pub mod packet;
pub(crate) mod path;
pub mod replay;
pub mod settings;
pub(crate) mod stats;
pub(crate) mod unscheduled;
