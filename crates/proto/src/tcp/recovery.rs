//! Loss recovery of a sender: its phase, and what finds losses. Names are from RFC 6675; phases are Linux's
//! `TCP_CA_Open`, `TCP_CA_Recovery` and `TCP_CA_Loss`. Units: bytes of the stream.

use super::config::Config;
use super::detection::Detector;
use super::prr::Prr;
use super::tlp::TailLossProbe;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No recovery is under way.
    Open,
    /// Fast recovery: acknowledgements showed losses.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub(super) detector: Detector,
    pub(super) tlp: TailLossProbe,
    /// Proportional rate reduction, while one is in progress.
    pub(super) prr: Option<Prr>,
    pub(super) phase: Phase,
    /// `RecoveryPoint`: SND.NXT when recovery began. Recovery ends when it is acknowledged.
    pub(super) point: u64,
    /// `RescueRxt`: whether this recovery has used its one rescue retransmission (RFC 6675, `NextSeg`, rule 4).
    pub(super) rescue_used: bool,
    /// Whether retransmissions in flight at the end of a recovery begin another recovery
    /// ([`Config::kernel_habits`](super::config::Config::kernel_habits)).
    pub(super) repeats: bool,
    /// Whether a recovery ended with retransmissions in flight, and the next one has not begun.
    pub(super) again: bool,
    /// Bytes marked lost that the controller was told of.
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
            repeats: config.kernel_habits,
            again: false,
            reported_lost: 0,
            timeout_una: u64::MAX,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
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

    /// Ends a spurious recovery, for which the window need not have been reduced.
    pub(super) fn exit_spurious(&mut self, snd_una: u64) {
        self.exit();
        (self.point, self.timeout_una) = (snd_una, u64::MAX);
    }

    /// Returns the bytes marked lost, of `total` so far, that the controller was not told of yet.
    pub(super) const fn take_unreported_lost(&mut self, total: u64) -> u64 {
        let new = total - self.reported_lost;
        self.reported_lost = total;
        new
    }
}
