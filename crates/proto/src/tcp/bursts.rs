//! Bursts of segmentation offload: when the next one may leave, and how long it is. State: `Offload`. Source: kernel
//! 6.12, `tcp_tso_segs`, `tcp_cwnd_test`, `tcp_tso_should_defer`, `tcp_update_skb_after_send`.

use super::connection::{Pending, State};
use super::offload::{Offload, autosize};
use super::{recovery::Phase, sender::Sender};
use shallop_control::{Window, pacing::pacing_rate};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// A burst is not deferred if a third of the window may be sent (kernel: `tcp_tso_win_divisor`).
const TSO_WIN_DIVISOR: u64 = 3;
/// A burst is deferred only if the last one left less than this ago, and an acknowledgement is expected within this
/// time.
const DEFER: Span = Span::from_ms(1);
/// Bytes of the first burst of a stream: half of the window that a receiver offers first (kernel:
/// `tcp_bound_to_half_wnd`).
const FIRST_PIECE: u64 = 32_580;
/// The number of segments at the start of a connection that are not paced.
const UNPACED: u64 = 10;

impl<W: Window> Sender<W> {
    /// Sets the length of bursts according to the pacing rate.
    pub(super) fn update_offload(&mut self) {
        if !self.offload.is_on() {
            return;
        }
        let rate = self.rate();
        let least = self.controller.min_tso_segs();
        let segs = autosize(rate, self.rtt.min_rtt(), self.scoreboard.mss, least).min(self.controller.max_tso_segs());
        self.offload.tso_segs = segs.min(self.offload.gso_max_segs.into()) as u16;
        self.offload.retransmissions_left = 0;
    }

    /// The pacing rate, also computed for controllers that do not pace; `None` before the first round-trip sample, if
    /// the flow has no [`Config::max_pacing_rate`](super::config::Config::max_pacing_rate).
    pub(super) fn rate(&self) -> Option<BitsPerSec> {
        let own = self.controller.pacing().or_else(|| {
            let flight = self.scoreboard.snd_nxt - self.scoreboard.snd_una;
            let (cwnd, ssthresh) = (self.cwnd(), self.controller.slow_start_threshold());
            pacing_rate(cwnd, Bytes::new(flight), ssthresh, self.rtt.srtt)
        });
        own.into_iter().chain(self.max_pacing_rate()).min()
    }

    /// Limits the application to `rate`: it writes `write` bytes at the start, and then each time that `rate` has
    /// served as many.
    #[must_use]
    pub fn offering(mut self, rate: BitsPerSec, write: Bytes) -> Self {
        self.imposed.get_or_insert_default().offer(rate, write);
        self.scoreboard.written = 0;
        self
    }

    /// Ends the message when the flow has lasted this long: the application writes no more, and TCP delivers what it
    /// has taken over.
    #[must_use]
    pub fn lasting(mut self, lasts: Span) -> Self {
        self.imposed.get_or_insert_default().lasts = Some(lasts);
        self
    }

    pub(super) fn take_writes(&mut self, now: Time) {
        let rest_of_burst = u64::from(self.offload.burst_left) * self.scoreboard.mss;
        let taken = self.scoreboard.snd_nxt + rest_of_burst + self.planned_bytes();
        if let Some(imposed) = &mut self.imposed {
            imposed.take_writes(now, taken, &mut self.scoreboard);
        }
    }

    fn max_pacing_rate(&self) -> Option<BitsPerSec> {
        self.imposed.as_ref()?.max_pacing_rate
    }

    /// The rate at which segments are paced: a limit paces them even if the controller does not (kernel:
    /// `SK_PACING_NEEDED`).
    pub(super) fn paced_rate(&self) -> Option<BitsPerSec> {
        if self.max_pacing_rate().is_some() { self.rate() } else { self.controller.pacing() }
    }

    /// Records how many bytes that TCP sent are still in the host's queue.
    pub(super) fn note_held(&mut self, now: Time, bytes: u64) {
        self.offload.held = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.plan_bursts(now);
    }

    /// Whether so many bytes are in the host's queue that no new burst may begin. In recovery the limit is twice as
    /// high.
    pub(super) fn is_small_queue_full(&self) -> bool {
        let held = u64::from(self.offload.held);
        let all = held + self.planned_bytes();
        all > 0
            && (self.is_corked(held) || {
                let burst = self.burst().1;
                // Two bursts are always allowed, whatever the rate.
                all >= 2 * burst && {
                    let allowed = Offload::small_queue(self.rate(), burst);
                    let recovers = self.scoreboard.first_lost().is_some();
                    all >= if recovers { 2 * allowed } else { allowed }
                }
            })
    }

    /// Bytes of bursts that wait in the host to be paced. They follow SND.NXT.
    pub(super) fn planned_bytes(&self) -> u64 {
        u64::from(self.offload.planned_segments()) * self.scoreboard.mss
    }

    /// Whether everything that TCP sent is still in the host's queue. Then the rest of the application's first write
    /// waits as well, if it is longer than the first burst (kernel: `tcp_push_one`, `tcp_should_autocork`).
    fn is_corked(&self, held: u64) -> bool {
        let all = held == self.scoreboard.snd_nxt && self.offload.is_on();
        all && self.scoreboard.written > FIRST_PIECE
    }

    fn window_room(&self) -> u64 {
        let (pipe, mss) = (self.scoreboard.pipe(), self.scoreboard.mss);
        self.limits.cwnd.saturating_sub(pipe + self.planned_bytes()) / mss
    }

    /// Length of a burst of new data that begins now, in segments and bytes. The rate, the windows and half of the
    /// congestion window bound it, so that two bursts are in flight.
    fn burst(&self) -> (u16, u64) {
        let (mss, next) = (self.scoreboard.mss, self.scoreboard.snd_nxt + self.planned_bytes());
        let half = self.limits.cwnd / mss / 2;
        let allowed = self.limits.right_edge.saturating_sub(next) / mss;
        let room = self.window_room().min(half).min(allowed).min(self.offload.tso_segs.into());
        let end = next.saturating_add(room.max(1) * mss).min(self.scoreboard.written);
        ((end - next).div_ceil(mss) as u16, end - next)
    }

    /// Plans bursts as soon as the windows allow them, if the pacer delays them: their lengths are fixed from then on
    /// (kernel: `tcp_write_xmit` passes them to `fq` with their departure times).
    #[inline]
    pub(super) fn plan_bursts(&mut self, now: Time) {
        if self.offload.plans() {
            self.plan_if_due_later(now);
        }
    }

    fn plan_if_due_later(&mut self, now: Time) {
        while self.pacer.is_active() && self.pacer.due > now && self.may_plan(now) {
            let (segments, bytes) = self.burst();
            self.offload.plan(segments, self.pacer.due);
            self.pacer.charge(now, bytes, self.recovery.kernel_habits);
        }
    }

    /// Whether a burst of new data may be planned after those that are planned.
    fn may_plan(&self, now: Time) -> bool {
        let (mss, end) = (self.scoreboard.mss, self.scoreboard.written);
        let next = self.scoreboard.snd_nxt + self.planned_bytes();
        let lost = self.scoreboard.first_lost().is_some() && !self.undo.hold_retransmissions;
        let waits = self.connection.pending != Pending::Nothing || self.recovery.tlp.pending || lost;
        let in_flight = self.scoreboard.pipe() + self.planned_bytes();
        let edge = next.saturating_add(mss).min(end);
        self.connection.state == State::Established
            && !waits
            && next < edge
            && edge <= self.limits.right_edge
            && self.limits.has_room(in_flight, edge - next)
            && !self.is_small_queue_full()
            && !self.defers(now)
    }

    /// Whether the host's queue discipline would drop a segment that the windows allow.
    pub(super) fn overflows_host(&self) -> bool {
        let limited = self.offload.has_flow_limit();
        let Some(rate) = self.pacer.rate().filter(|_| limited) else { return false };
        let (mss, next) = (self.scoreboard.mss, self.scoreboard.snd_nxt);
        let end = self.limits.right_edge.min(self.scoreboard.written);
        let segments = self.window_room().min(end.saturating_sub(next) / mss);
        self.offload.overflows(segments, mss, rate)
    }

    /// Bytes for which the congestion window must have room, a segment or a burst; otherwise it counts as the sender's
    /// limit.
    pub(super) fn wanted_room(&self) -> u64 {
        let mss = self.scoreboard.mss;
        if !self.offload.is_on() {
            return mss;
        }
        let burst = mss * u64::from(self.offload.tso_segs);
        burst.min(self.limits.cwnd / TSO_WIN_DIVISOR).max(mss)
    }

    /// Begins a burst of new data. The pacer delays the next burst until this one has left at the pacing rate.
    pub(super) fn begin_burst(&mut self, now: Time) {
        if self.offload.release() {
            return;
        }
        let (segments, bytes) = self.burst();
        self.offload.burst_left = segments;
        let sent = self.counts.sent + u64::from(segments);
        if sent >= UNPACED {
            self.pacer.charge(now, bytes, self.recovery.kernel_habits);
        }
    }

    /// Records a retransmission, which begins or continues a burst of retransmissions.
    pub(super) fn note_retransmission(&mut self, index: u64) {
        if !self.offload.continues(index) {
            let room = self.window_room().clamp(1, self.offload.tso_segs.into());
            self.offload.retransmissions_left = room as u16;
        }
        self.offload.retransmissions_left -= 1;
        self.offload.next_retransmission = index + 1;
    }

    /// Whether new data waits until acknowledgements allow a whole burst, although the windows allow a segment.
    pub(super) fn defers(&self, now: Time) -> bool {
        let last = self.pacer.due.max(self.timers.last_sent);
        if !self.offload.is_on() || self.recovery.phase != Phase::Open || now > last.saturating_add(DEFER) {
            return false;
        }
        let (mss, next) = (self.scoreboard.mss, self.scoreboard.snd_nxt + self.planned_bytes());
        let window = self.limits.right_edge.saturating_sub(self.scoreboard.snd_una);
        let allowed = self.limits.right_edge.saturating_sub(next).min(self.window_room() * mss);
        let whole = u64::from(self.offload.tso_segs) * mss;
        let chunk = window.min(self.limits.cwnd) / TSO_WIN_DIVISOR;
        if allowed >= whole.min(chunk).min(self.rest_of_write(next)) {
            return false;
        }
        let Some(head) = self.scoreboard.segment(self.scoreboard.first_index) else {
            return false;
        };
        let srtt = self.rtt.srtt;
        let expected = head.sent_at.saturating_add(srtt);
        expected <= now.saturating_add((srtt / 2).min(DEFER))
    }

    /// Bytes that remain of the application's write to which the byte `next` belongs. Each write is as long as the
    /// longest burst.
    fn rest_of_write(&self, next: u64) -> u64 {
        let end = self.scoreboard.written;
        let piece = self.scoreboard.mss * u64::from(self.offload.gso_max_segs);
        (piece - next % piece).min(end - next)
    }
}
