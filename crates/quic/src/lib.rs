//! `FlashPass` between real hosts: QUIC whose data packets leave on credits.

pub mod authority;
mod bypass;
mod config;
mod connection;
mod core;
pub mod counters;
mod credits;
mod driver;
mod endpoint;
pub mod endpoints;
mod error;
mod exchange;
mod gate;
pub mod identity;
pub mod known_hosts;
mod new_address;
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
mod silence;
mod socket;
mod stats;
mod streams;
mod tls;
pub mod transfer;
#[cfg(test)]
mod virtual_time;
mod waiting;
mod within;

pub use config::{Classes, Config};
pub use connection::Path;
pub use endpoint::{AnyStream, Connection, Endpoint, RecvStream, SendStream};
pub use endpoints::Endpoints;
pub use error::QuicError;
pub use path_stats::PathStats;
pub use stats::CreditStats;
pub use tls::Tls;
