//! cwnd of BBR: a gain times the bandwidth-delay product (BDP), with allowances for aggregation, and its behaviour in
//! recovery. Units: bytes, segments. Source: kernel, `bbr_bdp`, `bbr_quantization_budget`, `bbr_set_cwnd`.

use super::{BBR_UNIT, Bbr, CaState, MIN_CWND, Mode, PS_PER_SEC};
use crate::window::{Ack, Window};
use shallop_core::{BitsPerSec, Bytes};

/// Pacing rate in bit/s below which a TSO burst is one segment; at or above it, at least two (kernel:
/// `bbr_min_tso_rate`).
pub(super) const MIN_TSO_RATE: u64 = 1_200_000;

impl Bbr {
    /// Bandwidth-delay product times a gain, in segments; the initial window before the first RTT sample.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some((rtt, _)) = self.min_rtt else {
            return self.initial_window.get() / self.mss.get();
        };
        let bits = (u128::from(bw) * u128::from(rtt.as_ps())).saturating_mul(gain.into());
        let segment = u128::from(self.mss.get() * 8 * BBR_UNIT) * PS_PER_SEC;
        u32::try_from(bits.div_ceil(segment)).unwrap_or(u32::MAX).into()
    }

    /// Adds to `segments` three TSO bursts for segmentation offload at both ends, rounds up to an even number for
    /// delayed ACKs, and adds two segments while BBR probes for bandwidth.
    fn quantization_budget(&self, segments: u64) -> Bytes {
        let min_burst = self.min_tso_segs().into();
        let max_burst = (self.config.send_quantum.get() / self.mss.get()).clamp(1, 127);
        let burst = self.pacing_rate.get() / 8 / 1024 / self.mss.get();
        let even = (segments + 3 * burst.max(min_burst).min(max_burst)).next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBw(0);
        self.mss * (even + if probing { 2 } else { 0 })
    }

    /// Target of bytes in flight: a gain times the bandwidth-delay product, plus allowances for bursts.
    pub(super) fn inflight(&self, gain: u64) -> Bytes {
        self.quantization_budget(self.bdp(self.bw.get(), gain))
    }

    /// Saves cwnd before recovery or `PROBE_RTT`; if one of these has already reduced it, keeps the saved value unless
    /// cwnd is larger.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.prev_ca_state != CaState::Open || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_reduced { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// cwnd in recovery (kernel: `bbr_set_cwnd_to_recover_or_restore`). The first round of fast recovery conserves
    /// packets; the end of recovery restores cwnd.
    fn recover_or_restore_cwnd(&mut self, ack: &Ack) {
        if ack.losses > Bytes::ZERO {
            self.cwnd = self.cwnd.saturating_sub(ack.losses).max(self.mss);
        }
        let conserving_cwnd = ack.in_flight + ack.acked_sacked;
        if self.ca_state == CaState::Recovery && self.prev_ca_state != CaState::Recovery {
            self.packet_conservation = true;
            (self.next_rtt_delivered, self.cwnd) = (ack.delivered, conserving_cwnd);
        } else if self.ca_state == CaState::Open && self.prev_ca_state != CaState::Open {
            self.packet_conservation = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.prev_ca_state = self.ca_state;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserving_cwnd);
        }
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        self.recover_or_restore_cwnd(ack);
        if !self.packet_conservation {
            let full = self.full_bw_reached();
            let extra = full.then(|| self.ack_aggregation.cwnd_increase(self.bw()));
            let extra = extra.unwrap_or_default().get() / self.mss.get();
            let bw = self.bw().map_or(0, BitsPerSec::get);
            let target = self.quantization_budget(self.bdp(bw, self.cwnd_gain()) + extra);
            let grown = self.cwnd + ack.acked_sacked;
            if full {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || ack.delivered < self.initial_window {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(self.mss * MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.mss * MIN_CWND);
        }
    }
}
