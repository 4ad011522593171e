//! The credit machinery of a connection: emulation packets and credits, the settings that both sides exchange, the
//! detection of paths that are unfit for credits, and the packets that need no credit.

pub(crate) mod bypass;
pub mod counters;
pub(crate) mod credit_exchange;
pub(crate) mod emulation_bucket;
pub(crate) mod fallback_detector;
pub(crate) mod gate;
pub(crate) mod lateness;
pub mod notice;
pub mod outstanding;
pub mod packet;
pub mod path_probe;
pub mod replay;
pub(crate) mod send_mode;
pub mod settings;
pub(crate) mod settings_stream;
pub(crate) mod stats;
pub(crate) mod unscheduled;
