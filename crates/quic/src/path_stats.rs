//! QUIC's measurements of a connection's path.

use crate::credit::stats::fraction;
use quinn_proto::ConnectionStats;
use std::time::Duration;

/// Round trip times and losses of QUIC packets (RFC 9002), without emulation packets and credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct PathStats {
    /// The least round trip time, seconds, with the peer's acknowledgement delay.
    pub min_rtt_s: f64,
    /// The smoothed round trip time, seconds.
    pub smoothed_rtt_s: f64,
    /// The longest smoothed round trip time so far, seconds.
    pub max_smoothed_rtt_s: f64,
    /// QUIC packets sent on this connection.
    pub packets_sent: u64,
    /// QUIC packets of this connection that this side declared lost (RFC 9002, 6).
    pub packets_lost: u64,
    /// `PATH_CHALLENGE` frames sent to validate a new address of the peer (RFC 9000, 8.2).
    pub path_challenges: u64,
    /// The UDP payload of a full packet, as far as the path is known to carry it (RFC 8899), bytes.
    pub datagram: u16,
    /// Probes for a larger `datagram` that were lost, usually because the path does not carry them.
    pub mtu_probes_lost: u64,
    /// Whether ECN-capable packets of this side arrive as not ECN-capable (RFC 9000, 13.4.2): the path clears ECN, or
    /// the peer does not report it. Not known, and false, once data has left unscheduled.
    pub ecn_cleared: bool,
}

impl PathStats {
    pub(crate) fn new(quic: &ConnectionStats, longest: Duration, ecn_cleared: bool) -> Self {
        let path = &quic.path;
        Self {
            min_rtt_s: path.min_rtt.as_secs_f64(),
            smoothed_rtt_s: path.rtt.as_secs_f64(),
            max_smoothed_rtt_s: longest.max(path.rtt).as_secs_f64(),
            packets_sent: path.sent_packets,
            packets_lost: path.lost_packets,
            path_challenges: quic.frame_tx.path_challenge,
            datagram: path.current_mtu,
            mtu_probes_lost: path.lost_plpmtud_probes,
            ecn_cleared,
        }
    }

    /// The queueing delay, seconds: the smoothed less the least round trip time. It includes delays in the hosts.
    pub fn queueing_s(&self) -> f64 {
        (self.smoothed_rtt_s - self.min_rtt_s).max(0.0)
    }

    /// The longest queueing delay so far, seconds.
    pub fn max_queueing_s(&self) -> f64 {
        (self.max_smoothed_rtt_s - self.min_rtt_s).max(0.0)
    }

    /// The fraction of QUIC packets declared lost, 0 to 1; 0 if none was sent.
    pub fn loss(&self) -> f64 {
        fraction(self.packets_lost, self.packets_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queueing_delay_is_the_round_trip_time_above_the_least_one() {
        let mut quic = ConnectionStats::default();
        quic.path.min_rtt = Duration::from_millis(10);
        quic.path.rtt = Duration::from_millis(12);
        (quic.path.sent_packets, quic.path.lost_packets) = (200, 3);
        quic.frame_tx.path_challenge = 4;
        let path = PathStats::new(&quic, Duration::from_millis(15), false);
        assert!((path.queueing_s() - 0.002).abs() < 1e-9, "{path:?}");
        assert!((path.max_queueing_s() - 0.005).abs() < 1e-9, "{path:?}");
        assert!((path.loss() - 0.015).abs() < 1e-9, "{path:?}");
        assert_eq!(path.path_challenges, 4);
        let shorter = PathStats::new(&quic, Duration::from_millis(3), false);
        assert!((shorter.max_queueing_s() - 0.002).abs() < 1e-9, "{shorter:?}");
        assert!(PathStats::default().loss().abs() < 1e-9);
    }
}
