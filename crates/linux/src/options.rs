//! Options of sockets that the libraries in use have no name for.

use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

sockopt_impl!(
    /// The most bytes a second that the kernel sends of a connection (`SO_MAX_PACING_RATE`). Any value but the greatest
    /// lets TCP pace by itself, as the queue discipline `fq` does, at its own rate or this one if it is less.
    MaxPacingRate,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64,
    nix::sys::socket::sockopt::SetStruct<u64>
);

sockopt_impl!(
    /// The state of a connection (`TCP_INFO`).
    TcpInfo,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    libc::tcp_info
);
