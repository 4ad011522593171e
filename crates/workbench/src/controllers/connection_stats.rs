//! Statistics of the connections of a loaded controller.

use super::bpf_error;
use crate::diagnostic::Result;
use shallop_bpf::{Connection, controller::Watch};
use shallop_control::gemini::law;
use std::net::SocketAddr;

/// A handle to the connections of a loaded controller, which can be read repeatedly.
#[derive(Debug)]
pub struct ConnectionWatch(Watch);

impl ConnectionWatch {
    pub(super) fn new(watch: Watch) -> Self {
        Self(watch)
    }

    /// The connections at this moment, sorted by addresses.
    pub fn connections(&self) -> Result<Vec<ConnectionStats>> {
        let mut all = self.0.connections().map_err(|why| bpf_error(&why))?;
        all.sort_unstable_by_key(|of| (of.local, of.remote));
        Ok(all.iter().map(ConnectionStats::from_connection).collect())
    }
}

/// A TCP connection that uses a loaded controller, with its state at the time of reading.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ConnectionStats {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub cwnd_segments: u32,
    pub srtt_s: f64,
    /// The lowest round-trip time seen, an estimate of the path's delay without queues; 0 if unknown.
    pub rtt_base_s: f64,
    /// DCTCP and Gemini: the moving average of the fraction of marked segments, 0 to 1.
    pub alpha: f64,
    /// Gemini: the factor F by which it scales window reductions; 0 for other controllers.
    pub scale_factor: f64,
    /// Gemini: the window increase h per round trip; 0 for other controllers.
    pub increase_segments: f64,
    pub delivered_segments: u32,
    /// Delivered segments whose ACK echoed a congestion mark.
    pub marked_segments: u32,
    pub resent_segments: u32,
    /// Window reductions because of ECN marks.
    pub cuts_for_marks: u16,
    /// Window reductions because of queueing delay.
    pub cuts_for_delay: u16,
    /// Window reductions because of losses.
    pub cuts_for_losses: u16,
}

impl ConnectionStats {
    fn from_connection(of: &Connection) -> Self {
        let part = |value: u32, bits: u32| f64::from(value) / f64::from(1_u32 << bits);
        let [cuts_for_marks, cuts_for_delay, cuts_for_losses] = of.cuts;
        Self {
            local: of.local,
            remote: of.remote,
            cwnd_segments: of.cwnd,
            srtt_s: f64::from(of.srtt_us) * 1e-6,
            rtt_base_s: f64::from(of.rtt_base_us) * 1e-6,
            alpha: part(of.alpha, 10),
            scale_factor: part(of.factor, law::REDUCTION_BITS),
            increase_segments: part(of.step, law::STEP_BITS),
            delivered_segments: of.delivered,
            marked_segments: of.marked,
            resent_segments: of.retransmitted,
            cuts_for_marks,
            cuts_for_delay,
            cuts_for_losses,
        }
    }
}
