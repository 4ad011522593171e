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

sockopt_impl!(
    /// A packet socket's frames have a virtio-net header, which says what is left to a card (`PACKET_VNET_HDR`).
    VirtioHeader,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VNET_HDR,
    i32,
    nix::sys::socket::sockopt::SetStruct<i32>
);

sockopt_impl!(
    /// A packet socket does not read what this machine sends (`PACKET_IGNORE_OUTGOING`).
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
    i32,
    nix::sys::socket::sockopt::SetStruct<i32>
);

sockopt_impl!(
    /// The interface takes more frames than its own while the socket is open (`PACKET_ADD_MEMBERSHIP`).
    Membership,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq,
    nix::sys::socket::sockopt::SetStruct<libc::packet_mreq>
);

sockopt_impl!(
    /// What a packet socket has counted since this was asked last (`PACKET_STATISTICS`).
    PacketStatistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);
