//! `FlashPass` between real hosts: QUIC whose data packets leave on credits.

pub mod counters;
pub mod outstanding;
pub mod packet;
pub mod replay;
pub mod settings;
