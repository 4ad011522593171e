//! Spaces segments out at the controller's pacing rate. State: when the next segment may leave. Units: bytes of
//! payload. Source: kernel, `tcp_update_skb_after_send`.

use shallop_core::{BitsPerSec, Bytes, Pace, Time};

/// The pacer of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// None for controllers that do not pace.
    pace: Option<Pace>,
    /// When the next segment may leave.
    pub(super) due: Time,
    /// A late segment is made up for by half of its time at most
    /// ([`Config::kernel_habits`](super::config::Config::kernel_habits)).
    half_credit: bool,
}

impl Pacer {
    /// A pacer that allows the first segment at once.
    pub(super) fn new(rate: Option<BitsPerSec>, half_credit: bool) -> Self {
        Self { pace: rate.map(Pace::new), due: Time::ZERO, half_credit }
    }

    /// Sets the pacing rate. The time of the next segment stays as the old rate has set it.
    pub(super) fn set_rate(&mut self, rate: Option<BitsPerSec>) {
        if rate != self.pace.map(|pace| pace.rate()) {
            self.pace = rate.map(Pace::new);
        }
    }

    /// The pacing rate, if the controller paces.
    pub(super) fn rate(&self) -> Option<BitsPerSec> {
        self.pace.map(|pace| pace.rate())
    }

    /// True if the controller paces.
    pub(super) const fn is_active(&self) -> bool {
        self.pace.is_some()
    }

    /// A segment of `len` bytes is sent at `now`. The next one is due after the time that `len` bytes take at the
    /// pacing rate, counted from when this segment was due: a host link that delays it by less does not lower the rate.
    /// With half credit, what is sent later than it was due shortens that time by as much, and at most by half.
    pub(super) fn charge(&mut self, now: Time, len: u64) {
        if let Some(pace) = &mut self.pace {
            let gap = pace.charge(Bytes::new(len));
            if self.half_credit {
                let credit = now.saturating_since(self.due).min(gap / 2);
                self.due = self.due.max(now).saturating_add(gap.saturating_sub(credit));
                return;
            }
            let planned = self.due.saturating_add(gap);
            self.due = if planned > now { planned } else { now.saturating_add(gap) };
        }
    }
}
