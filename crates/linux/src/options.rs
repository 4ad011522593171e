//! Socket options that `nix` does not define.

use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

sockopt_impl!(
    /// The maximum pacing rate of a connection, in bytes per second (`SO_MAX_PACING_RATE`). Any value below the largest
    /// makes TCP pace, at the smaller of its own rate and this one, even without the queue discipline `fq`.
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
    ConnectionState
);

/// Words of 64 bits in `struct tcp_info`, which older headers do not have in full: the time with unacknowledged or
/// unsent data (`tcpi_busy_time`), and of that the time in which the receiver's window was full
/// (`tcpi_rwnd_limited`), in microseconds.
pub(crate) const BUSY_TIME: usize = 168 / 8;
pub(crate) const RECEIVER_LIMITED: usize = 176 / 8;

sockopt_impl!(
    /// The state of a connection in words (`TCP_INFO`, Linux 4.10).
    TcpInfoWords,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u64; 24]
);

sockopt_impl!(
    /// Frames that pass a packet socket have a virtio-net header, which describes offload (`PACKET_VNET_HDR`).
    VirtioHeader,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VNET_HDR,
    i32,
    nix::sys::socket::sockopt::SetStruct<i32>
);

sockopt_impl!(
    /// A packet socket does not receive the packets that this machine sends (`PACKET_IGNORE_OUTGOING`).
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
    i32,
    nix::sys::socket::sockopt::SetStruct<i32>
);

sockopt_impl!(
    /// The interface accepts frames to other addresses while the packet socket is open (`PACKET_ADD_MEMBERSHIP`).
    Membership,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq,
    nix::sys::socket::sockopt::SetStruct<libc::packet_mreq>
);

sockopt_impl!(
    /// The counters of a packet socket since the last query (`PACKET_STATISTICS`).
    PacketStatistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);

/// The first part of the kernel's `struct tcp_info`, which every kernel since 4.18 has. Later kernels return more, and
/// an option of a fixed size must not ask for more than the kernel returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConnectionState {
    _state: u8,
    pub ca_state: u8,
    _flags: [u8; 6],
    _segments: [u32; 15],
    pub rtt: u32,
    _rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    _limits: [u32; 5],
    pub pacing_rate: u64,
    _bytes: [u64; 3],
    _counts: [u32; 6],
    _times: [u64; 4],
    pub delivered: u32,
    _delivered_ce: u32,
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;
    use nix::libc::tcp_info;

    #[test]
    fn the_fields_of_a_connections_state_lie_where_the_kernel_puts_them() {
        let ours = [
            offset_of!(ConnectionState, ca_state),
            offset_of!(ConnectionState, rtt),
            offset_of!(ConnectionState, snd_ssthresh),
            offset_of!(ConnectionState, snd_cwnd),
            offset_of!(ConnectionState, pacing_rate),
            offset_of!(ConnectionState, delivered),
            size_of::<ConnectionState>(),
        ];
        let kernels = [
            offset_of!(tcp_info, tcpi_ca_state),
            offset_of!(tcp_info, tcpi_rtt),
            offset_of!(tcp_info, tcpi_snd_ssthresh),
            offset_of!(tcp_info, tcpi_snd_cwnd),
            offset_of!(tcp_info, tcpi_pacing_rate),
            offset_of!(tcp_info, tcpi_delivered),
            offset_of!(tcp_info, tcpi_bytes_sent),
        ];
        assert_eq!(ours, kernels);
    }
}
