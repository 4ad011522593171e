//! RACK: a segment is lost if a segment sent later was delivered, and a round trip plus the reordering window has
//! passed since it was sent. State: the delivered segment that was sent last, and the reordering window. Names like
//! `RACK.rtt` are from RFC 8985, 5.3. Source: RFC 8985, 6.2.

use super::{ack_summary::DetectionInput, scoreboard::Scoreboard, segment::Transmission};
use shallop_core::{Span, Time};

/// The number of recoveries without a DSACK after which the reordering window is reset.
const REO_WND_PERSIST: u32 = 16;
/// The largest multiple for the reordering window (kernel: `tcp_rack_update_reo_wnd`). In practice the smoothed
/// round-trip time limits the window first.
const MAX_REO_WND_MULT: u32 = 255;

#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// `RACK.segment`: of the delivered transmissions, the one that was sent last.
    latest: Transmission,
    /// `RACK.rtt`: the round-trip time of the last delivered segment.
    rtt: Span,
    /// `RACK.reordering_seen`: whether any segment was delivered out of order.
    reordering_seen: bool,
    /// `RACK.reo_wnd_mult`: the reordering window in quarters of the minimum round-trip time.
    reo_wnd_mult: u32,
    /// `RACK.reo_wnd_persist`: recoveries without a DSACK until `reo_wnd_mult` is reset to one.
    reo_wnd_persist: u32,
    /// `RACK.dsack_round`: `reo_wnd_mult` is not increased again before this byte is acknowledged.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            latest: Transmission { at: Time::ZERO, index: 0 },
            rtt: Span::ZERO,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
        }
    }
}

impl Rack {
    pub(super) fn detect(&mut self, input: &DetectionInput<'_>, scoreboard: &mut Scoreboard) -> Option<Time> {
        self.reordering_seen |= input.summary.reordered;
        if let Some(last) = input.summary.last_sent {
            self.rtt = input.now.saturating_since(last.transmission.at);
            self.latest = self.latest.max(last.transmission);
        }
        let timeout = self.rtt + self.reordering_window(input, scoreboard);
        let latest = self.latest;
        let is_lost = |sent: Transmission| sent < latest && sent.at + timeout <= input.now;
        let original = scoreboard.mark_originals_lost(is_lost);
        let retransmission = scoreboard.mark_retransmissions_lost(is_lost);
        let due = |sent: Option<Transmission>| sent.filter(|&sent| sent < latest).map(|sent| sent.at + timeout);
        [due(original), due(retransmission)].into_iter().flatten().min()
    }

    fn reordering_window(&self, input: &DetectionInput<'_>, scoreboard: &Scoreboard) -> Span {
        // Three segments or more (DupThresh) were selectively acknowledged.
        let dup_thresh = scoreboard.sacked() > scoreboard.mss * 2;
        if !self.reordering_seen && (input.in_recovery || dup_thresh) {
            return Span::ZERO;
        }
        let quarters = u64::from(self.reo_wnd_mult);
        (input.rtt.min_rtt() * quarters / 4).min(input.rtt.srtt)
    }

    /// Widens the reordering window, once in a round trip, because a DSACK reported an unnecessary retransmission.
    pub fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_some_and(|round| snd_una < round) {
            return;
        }
        self.dsack_round = Some(snd_nxt);
        self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MAX_REO_WND_MULT);
        self.reo_wnd_persist = REO_WND_PERSIST;
    }

    /// Records that the path reorders, because a fast recovery was spurious (kernel: `tcp_check_sack_reordering` in
    /// `tcp_try_undo_partial`).
    pub fn on_spurious_recovery(&mut self) {
        self.reordering_seen = true;
    }

    /// Leaves the reordering window wide for one more recovery, because DSACKs undid a recovery (kernel:
    /// `tcp_try_undo_dsack`).
    pub fn on_dsack_undo(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }

    /// Counts a recovery that was not spurious, after several of which the reordering window is reset.
    pub fn on_recovery_exit(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            (self.reo_wnd_mult, self.reo_wnd_persist) = (1, REO_WND_PERSIST);
        }
    }
}
