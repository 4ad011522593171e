//! The state of a sender in the quantities of Linux's `TCP_INFO` (kernel 6.12: `tcp_get_info`), for traces of flows.

use super::{connection::State, recovery::Phase, sender::Sender};
use crate::flow_state::{CaState, FlowState};
use shallop_control::Window;
use shallop_core::Bytes;

impl<W: Window> Sender<W> {
    /// The state; `None` before the connection is opened, and after all data is acknowledged.
    pub(super) fn trace(&self) -> Option<FlowState> {
        let scoreboard = &self.scoreboard;
        let is_open = self.connection.state != State::Closed && scoreboard.snd_una < scoreboard.end;
        let mss = scoreboard.mss;
        let segments = |bytes: Bytes| bytes.get() as f64 / mss as f64;
        let ssthresh = self.controller.slow_start_threshold();
        // Linux computes a rate for controllers that do not pace, too, to size bursts.
        let pacing = if self.offload.is_on() { self.rate() } else { self.paced_rate() };
        let delivered = scoreboard.snd_una + scoreboard.sacked() + scoreboard.dupack_delivered;
        is_open.then(|| FlowState {
            cwnd: Some(segments(self.cwnd())),
            ssthresh: (ssthresh < Bytes::MAX).then(|| segments(ssthresh)),
            pacing,
            srtt: Some(self.rtt.srtt).filter(|srtt| !srtt.is_zero()),
            delivered: Some(delivered.div_ceil(mss)),
            ca_state: Some(self.ca_state()),
        })
    }

    fn ca_state(&self) -> CaState {
        let scoreboard = &self.scoreboard;
        let is_missing = scoreboard.sacked() + scoreboard.dupack_delivered + scoreboard.lost > 0;
        match self.recovery.phase {
            Phase::Loss => CaState::Loss,
            Phase::Recovery => CaState::Recovery,
            Phase::Open if scoreboard.snd_una < self.ecn.reduced_until => CaState::Cwr,
            Phase::Open if is_missing || scoreboard.retransmitted() > 0 => CaState::Disorder,
            Phase::Open => CaState::Open,
        }
    }
}
