//! `FlashPass` between real hosts: QUIC whose data packets leave on credits.

pub mod authority;
mod config;
mod connection;
mod core;
pub mod counters;
mod credits;
mod driver;
mod endpoint;
mod error;
mod gate;
pub mod identity;
pub mod known_hosts;
mod outgoing;
pub mod outstanding;
pub mod packet;
mod path_stats;
pub mod ping;
pub mod replay;
mod reset;
mod senders;
pub mod session;
pub mod settings;
mod socket;
mod stats;
mod tls;
pub mod transfer;
mod within;

pub use config::{Classes, Config};
pub use connection::Path;
pub use endpoint::{AnyStream, Connection, Endpoint, RecvStream, SendStream};
pub use error::QuicError;
pub use path_stats::PathStats;
pub use stats::CreditStats;
pub use tls::Tls;
