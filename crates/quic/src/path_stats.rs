//! What QUIC knows of the path of a connection.

use std::time::Duration;

use quinn_proto::ConnectionStats;

use crate::credit::stats::part;

/// Round trips and losses as QUIC has them (RFC 9002), of all packets but emulation packets and credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct PathStats {
    /// The least round trip, seconds. It contains the peer's delay of acknowledgements.
    pub min_rtt_s: f64,
    /// The smoothed round trip now, seconds.
    pub smoothed_rtt_s: f64,
    /// The longest that the smoothed round trip has been, seconds.
    pub max_smoothed_rtt_s: f64,
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// QUIC packets that were declared lost.
    pub packets_lost: u64,
    /// How often the peer was asked whether it is at another address (`PATH_CHALLENGE`, RFC 9000, 8.2).
    pub path_challenges: u64,
}

impl PathStats {
    pub(crate) fn new(quic: &ConnectionStats, longest: Duration) -> Self {
        let path = &quic.path;
        Self {
            min_rtt_s: path.min_rtt.as_secs_f64(),
            smoothed_rtt_s: path.rtt.as_secs_f64(),
            max_smoothed_rtt_s: longest.max(path.rtt).as_secs_f64(),
            packets_sent: path.sent_packets,
            packets_lost: path.lost_packets,
            path_challenges: quic.frame_tx.path_challenge,
        }
    }

    /// The time that packets wait in queues of the path now, seconds: what the smoothed round trip is longer than the
    /// least one. Delays of the hosts are part of it.
    #[must_use]
    pub fn queueing_s(&self) -> f64 {
        (self.smoothed_rtt_s - self.min_rtt_s).max(0.0)
    }

    /// The longest that this time has been, seconds.
    #[must_use]
    pub fn max_queueing_s(&self) -> f64 {
        (self.max_smoothed_rtt_s - self.min_rtt_s).max(0.0)
    }

    /// The part of QUIC packets that were declared lost; zero if none was sent.
    #[must_use]
    pub fn loss(&self) -> f64 {
        part(self.packets_lost, self.packets_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queueing_is_what_round_trips_are_longer_than_the_least_one() {
        let mut quic = ConnectionStats::default();
        quic.path.min_rtt = Duration::from_millis(10);
        quic.path.rtt = Duration::from_millis(12);
        (quic.path.sent_packets, quic.path.lost_packets) = (200, 3);
        quic.frame_tx.path_challenge = 4;
        let path = PathStats::new(&quic, Duration::from_millis(15));
        assert!((path.queueing_s() - 0.002).abs() < 1e-9, "{path:?}");
        assert!((path.max_queueing_s() - 0.005).abs() < 1e-9, "{path:?}");
        assert!((path.loss() - 0.015).abs() < 1e-9, "{path:?}");
        assert_eq!(path.path_challenges, 4);
        let shorter = PathStats::new(&quic, Duration::from_millis(3));
        assert!((shorter.max_queueing_s() - 0.002).abs() < 1e-9, "{shorter:?}");
        assert!(PathStats::default().loss().abs() < 1e-9);
    }
}
