//! `FlashPass` between real hosts: QUIC whose data packets leave on credits.
