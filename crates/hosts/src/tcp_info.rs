//! The state of a kernel's connection as `TCP_INFO` reports it, in the quantities of simulated flows.

use shallop_core::{BitsPerSec, Span};
use shallop_proto::{CaState, FlowState};

/// `TCP_INFINITE_SSTHRESH`: no reduction so far.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Fields of `TCP_INFO`, in the kernel's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_snd_cwnd`, in segments.
    pub cwnd: u32,
    /// `tcpi_snd_ssthresh`, in segments.
    pub ssthresh: u32,
    /// `tcpi_rtt`, in microseconds; zero before the first sample.
    pub rtt_us: u32,
    /// `tcpi_pacing_rate`, in bytes per second; `u64::MAX` or zero if unknown.
    pub pacing: u64,
    /// `tcpi_delivered`, in segments, with the SYN.
    pub delivered: u32,
    /// `tcpi_ca_state`.
    pub ca_state: u8,
}

impl TcpInfo {
    pub fn flow_state(&self) -> FlowState {
        let pacing = Some(self.pacing).filter(|&bytes| bytes < u64::MAX);
        FlowState {
            cwnd: Some(self.cwnd.into()),
            ssthresh: (self.ssthresh < INFINITE_SSTHRESH).then_some(self.ssthresh.into()),
            pacing: pacing.and_then(|bytes| BitsPerSec::new(bytes.saturating_mul(8))),
            srtt: (self.rtt_us > 0).then(|| Span::from_us(self.rtt_us.into())),
            delivered: Some(self.delivered.saturating_sub(1).into()),
            ca_state: CaState::ALL.get(usize::from(self.ca_state)).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_does_not_know_yet_is_left_out() {
        let new = TcpInfo { cwnd: 10, ssthresh: INFINITE_SSTHRESH, pacing: u64::MAX, ..TcpInfo::default() };
        let expected =
            FlowState { cwnd: Some(10.0), delivered: Some(0), ca_state: Some(CaState::Open), ..FlowState::default() };
        assert_eq!(new.flow_state(), expected);
        let later = TcpInfo { ssthresh: 7, rtt_us: 20_300, pacing: 1_250_000, delivered: 401, ca_state: 3, ..new };
        let expected = FlowState {
            ssthresh: Some(7.0),
            pacing: BitsPerSec::new(10_000_000),
            srtt: Some(Span::from_us(20_300)),
            delivered: Some(400),
            ca_state: Some(CaState::Recovery),
            ..expected
        };
        assert_eq!(later.flow_state(), expected);
    }
}
