//! Loss recovery of a sender: its phase, and how losses are detected. Names are from RFC 6675; phases are Linux's
//! `TCP_CA_Open`, `TCP_CA_Recovery` and `TCP_CA_Loss`. Units: bytes of the stream.

use super::{config::Config, detection::Detector, prr::Prr, tlp::TailLossProbe};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No recovery is in progress.
    Open,
    /// Fast recovery, because acknowledgements showed losses.
    Recovery,
    /// Recovery because the retransmission timer expired.
    Loss,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub(super) detector: Detector,
    pub(super) tlp: TailLossProbe,
    /// State of proportional rate reduction; `None` if it is not in progress.
    pub(super) prr: Option<Prr>,
    pub(super) phase: Phase,
    /// `RecoveryPoint` of RFC 6675: SND.NXT when recovery began. Recovery ends when everything before it is
    /// acknowledged.
    pub(super) point: u64,
    /// `RescueRxt` of RFC 6675: whether the current recovery has used its one rescue retransmission (`NextSeg`, rule
    /// 4).
    pub(super) rescue_used: bool,
    /// [`Config::kernel_habits`]: also of the pacer, which has no room for it.
    pub(super) kernel_habits: bool,
    /// Whether a fast recovery must begin: the last one ended with retransmissions in flight, or a retransmission was
    /// lost in the recovery after a timeout.
    pub(super) again: bool,
    /// Bytes marked lost that were reported to the controller.
    reported_lost: u64,
    /// SND.UNA at the last retransmission timeout; `u64::MAX` if there was none.
    pub(super) timeout_una: u64,
}

impl Recovery {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            detector: Detector::new(config.detection),
            tlp: TailLossProbe::default(),
            prr: None,
            phase: Phase::Open,
            point: 0,
            rescue_used: false,
            kernel_habits: config.kernel_habits,
            again: false,
            reported_lost: 0,
            timeout_una: u64::MAX,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether the window is being reduced for a mark as in Linux (kernel: `TCP_CA_CWR`).
    pub(super) fn is_kernels_cwr(&self) -> bool {
        self.kernel_habits && self.prr.is_some() && self.is_open()
    }

    pub(super) fn enter_recovery(&mut self, snd_nxt: u64) {
        (self.phase, self.point, self.rescue_used) = (Phase::Recovery, snd_nxt, false);
        self.tlp.cancel();
    }

    pub(super) fn enter_loss(&mut self, snd_una: u64, snd_nxt: u64) {
        (self.phase, self.point, self.timeout_una) = (Phase::Loss, snd_nxt, snd_una);
        self.prr = None;
        self.tlp.cancel();
    }

    pub(super) fn exit(&mut self) {
        (self.phase, self.prr) = (Phase::Open, None);
    }

    /// Ends a spurious recovery, whose reduction of the window was unnecessary.
    pub(super) fn exit_spurious(&mut self, snd_una: u64) {
        self.exit();
        (self.point, self.timeout_una) = (snd_una, u64::MAX);
    }

    /// Returns the bytes marked lost that were not reported to the controller yet. `total` are all bytes marked lost so
    /// far.
    pub(super) const fn take_unreported_lost(&mut self, total: u64) -> u64 {
        let new = total - self.reported_lost;
        self.reported_lost = total;
        new
    }
}
