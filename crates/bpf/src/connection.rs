//! The state of a TCP connection, as a controller's iterator program reports it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The size of `struct connection` of `c/tcp.h`.
pub const BYTES: usize = 84;

/// Byte offsets of the fields of `struct connection`.
mod at {
    pub const LOCAL: usize = 0;
    pub const REMOTE: usize = 16;
    pub const LOCAL_PORT: usize = 32;
    pub const REMOTE_PORT: usize = 34;
    pub const CWND: usize = 36;
    pub const SSTHRESH: usize = 40;
    pub const SRTT_US: usize = 44;
    pub const RETRANSMITTED: usize = 48;
    pub const DELIVERED: usize = 52;
    pub const MARKED: usize = 56;
    pub const ALPHA: usize = 60;
    pub const FACTOR: usize = 64;
    pub const STEP: usize = 68;
    pub const RTT_BASE_US: usize = 72;
    pub const CLASS: usize = 76;
    pub const CUTS: [usize; 3] = [78, 80, 82];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// The slow-start threshold, in segments.
    pub ssthresh: u32,
    /// The smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    pub retransmitted: u32,
    pub delivered: u32,
    /// Delivered segments whose acknowledgement echoed a CE mark.
    pub marked: u32,
    /// The moving average of the fraction of marked segments, in 2^-10.
    pub alpha: u32,
    /// Gemini's factor F: F times `alpha` is the reduction for marks. Unit: 2^-20.
    pub factor: u32,
    /// Gemini's increase h of the congestion window in a round trip, in units of 2^-16 segments.
    pub step: u32,
    /// The round-trip time without queueing, in microseconds; zero if it is not known.
    pub rtt_base_us: u32,
    /// The class of settings that applies to the connection's destination.
    pub class: u16,
    /// Window reductions for marks, for delay and for losses, modulo 2^16.
    pub cuts: [u16; 3],
}

impl Connection {
    /// Decodes the output of the iterator program, an array of `struct connection`.
    pub fn all(bytes: &[u8]) -> Vec<Self> {
        bytes.chunks_exact(BYTES).filter_map(Self::from_bytes).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..)?.first_chunk().map(|of| u32::from_ne_bytes(*of));
        let short = |at: usize| bytes.get(at..)?.first_chunk().map(|of| u16::from_ne_bytes(*of));
        let address = |at: usize| -> Option<IpAddr> {
            let address = Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?);
            Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
        };
        let [marks, delay, losses] = at::CUTS;
        Some(Self {
            local: SocketAddr::new(address(at::LOCAL)?, short(at::LOCAL_PORT)?),
            remote: SocketAddr::new(address(at::REMOTE)?, short(at::REMOTE_PORT)?),
            cwnd: word(at::CWND)?,
            ssthresh: word(at::SSTHRESH)?,
            srtt_us: word(at::SRTT_US)?,
            retransmitted: word(at::RETRANSMITTED)?,
            delivered: word(at::DELIVERED)?,
            marked: word(at::MARKED)?,
            alpha: word(at::ALPHA)?,
            factor: word(at::FACTOR)?,
            step: word(at::STEP)?,
            rtt_base_us: word(at::RTT_BASE_US)?,
            class: short(at::CLASS)?,
            cuts: [short(marks)?, short(delay)?, short(losses)?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_its_fields_in_the_order_of_c() {
        let mut bytes = vec![0; BYTES];
        bytes[10..16].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 1]);
        bytes[16..18].copy_from_slice(&[0xfd, 0]);
        for (at, value) in (36..76).step_by(4).zip(1_u32..) {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [32, 34, 76, 78, 80, 82].into_iter().zip(101_u16..) {
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        let all = Connection::all(&[bytes.clone(), bytes, vec![1; 5]].concat());
        let told = all[0];
        assert_eq!((all.len(), told.local.to_string()), (2, "10.0.0.1:101".to_owned()));
        assert_eq!(told.remote.to_string(), "[fd00::]:102");
        assert_eq!((told.cwnd, told.rtt_base_us, told.class), (1, 10, 103));
        assert_eq!(told.cuts, [104, 105, 106]);
    }
}
