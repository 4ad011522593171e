//! `FlashPass` between real hosts: QUIC whose data packets leave on credits.

pub mod identity;
pub mod known_hosts;
pub mod transfer;
