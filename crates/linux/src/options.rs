//! Socket options that `nix` does not define.

use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

/// Options with their levels, names and types, which are set or read.
macro_rules! options {
    ($($(#[$about:meta])* $way:ident $option:ident = $level:ident $name:ident: $type:ty;)*) => {
        $(sockopt_impl!($(#[$about])* $option, $way, libc::$level, libc::$name, $type);)*
    };
}

options! {
    /// The maximum pacing rate of a connection, in bytes per second. Any value below the largest makes TCP pace, at the
    /// smaller of its own rate and this one, even without the queue discipline `fq`.
    SetOnly MaxPacingRate = SOL_SOCKET SO_MAX_PACING_RATE: u64;
    /// The state of a connection.
    GetOnly TcpInfo = IPPROTO_TCP TCP_INFO: ConnectionState;
    /// The state of a connection in words (Linux 4.10).
    GetOnly TcpInfoWords = IPPROTO_TCP TCP_INFO: [u64; 24];
    /// Frames that pass a packet socket have a virtio-net header, which describes offload.
    SetOnly VirtioHeader = SOL_PACKET PACKET_VNET_HDR: i32;
    /// A packet socket does not receive the packets that this machine sends.
    SetOnly IgnoreOutgoing = SOL_PACKET PACKET_IGNORE_OUTGOING: i32;
    /// The interface accepts frames to other addresses while the packet socket is open.
    SetOnly Membership = SOL_PACKET PACKET_ADD_MEMBERSHIP: libc::packet_mreq;
    /// The counters of a packet socket since the last query.
    GetOnly PacketStatistics = SOL_PACKET PACKET_STATISTICS: libc::tpacket_stats;
}

/// Words of 64 bits in `struct tcp_info`, which older headers do not have in full: the time with unacknowledged or
/// unsent data (`tcpi_busy_time`), and of that the time in which the receiver's window was full
/// (`tcpi_rwnd_limited`), in microseconds.
pub(crate) const BUSY_TIME: usize = 168 / 8;
pub(crate) const RECEIVER_LIMITED: usize = 176 / 8;

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
    use super::*;
    use nix::libc::tcp_info;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_fields_of_a_connections_state_lie_where_the_kernel_puts_them() {
        for (ours, kernels) in [
            (offset_of!(ConnectionState, ca_state), offset_of!(tcp_info, tcpi_ca_state)),
            (offset_of!(ConnectionState, rtt), offset_of!(tcp_info, tcpi_rtt)),
            (offset_of!(ConnectionState, snd_ssthresh), offset_of!(tcp_info, tcpi_snd_ssthresh)),
            (offset_of!(ConnectionState, snd_cwnd), offset_of!(tcp_info, tcpi_snd_cwnd)),
            (offset_of!(ConnectionState, pacing_rate), offset_of!(tcp_info, tcpi_pacing_rate)),
            (offset_of!(ConnectionState, delivered), offset_of!(tcp_info, tcpi_delivered)),
            (size_of::<ConnectionState>(), offset_of!(tcp_info, tcpi_bytes_sent)),
        ] {
            assert_eq!(ours, kernels);
        }
    }
}
