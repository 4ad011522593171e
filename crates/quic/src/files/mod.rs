//! Files and folders between two hosts, and pings: what the commands `send`, `receive` and `ping` do. All of it waits
//! in the calling thread.

pub mod client;
pub mod host;
pub mod ping;
pub(crate) mod reach;
pub(crate) mod senders;
pub mod server;
pub mod session;
pub mod transfer;
pub(crate) mod within;
