//! The pacer, which spaces segments at the controller's pacing rate. State: when the next segment may leave. Units:
//! bytes of payload. Source: kernel, `tcp_update_skb_after_send`.

use shallop_core::{BitsPerSec, Bytes, Pace, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// The pacing rate and its remainder; `None` for controllers that do not pace.
    pace: Option<Pace>,
    pub(super) due: Time,
}

impl Pacer {
    pub(super) fn new(rate: Option<BitsPerSec>) -> Self {
        Self { pace: rate.map(Pace::new), due: Time::ZERO }
    }

    /// Sets the pacing rate. The time at which the next segment may leave does not change.
    pub(super) fn set_rate(&mut self, rate: Option<BitsPerSec>) {
        if rate != self.pace.map(|pace| pace.rate()) {
            self.pace = rate.map(Pace::new);
        }
    }

    pub(super) fn rate(&self) -> Option<BitsPerSec> {
        self.pace.map(|pace| pace.rate())
    }

    pub(super) const fn is_active(&self) -> bool {
        self.pace.is_some()
    }

    /// Records that a segment of `len` bytes is sent at `now`. The next segment may leave after the time that `len`
    /// bytes take at the pacing rate, counted from when this segment was due, so that short delays by the host's link
    /// do not lower the rate. With half credit ([`Config::kernel_habits`](super::config::Config::kernel_habits)),
    /// lateness shortens that time by at most half.
    pub(super) fn charge(&mut self, now: Time, len: u64, half_credit: bool) {
        if let Some(pace) = &mut self.pace {
            let gap = pace.charge(Bytes::new(len));
            if half_credit {
                let credit = now.saturating_since(self.due).min(gap / 2);
                self.due = self.due.max(now).saturating_add(gap.saturating_sub(credit));
                return;
            }
            let planned = self.due.saturating_add(gap);
            self.due = if planned > now { planned } else { now.saturating_add(gap) };
        }
    }
}
