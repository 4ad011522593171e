//! Segmentation offload: the host hands its card bursts of segments, which leave back to back. A burst is about a
//! millisecond of the pacing rate, and may wait for the window to allow all of it. State: the length of a burst at the
//! present rate, and the burst that is being sent. Units: segments, bytes of the stream. Source: kernel 6.12,
//! `tcp_tso_autosize`, `tcp_tso_segs`, `tcp_cwnd_test`, `tcp_tso_should_defer`, `tcp_update_skb_after_send`.

use shallop_control::Window;
use shallop_control::pacing::pacing_rate;
use shallop_core::{BitsPerSec, Bytes, Span, Time};

use super::config::Config;
use super::recovery::Phase;
use super::sender::Sender;

/// The most bytes of a burst: 64 KB less the room for headers (kernel: `GSO_LEGACY_MAX_SIZE`, `MAX_TCP_HEADER`).
const GSO_MAX_SIZE: u64 = 65_536 - 320 - 1;
/// A burst lasts `2^-10` seconds at the pacing rate (kernel: `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Bursts grow where the minimum round-trip time is short: doubled for each `2^9` us less (kernel: `tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// A burst does not wait if the window allows this fraction of itself (kernel: `tcp_tso_win_divisor`).
const TSO_WIN_DIVISOR: u64 = 3;
/// A burst waits only if the last one left within this time, and if an acknowledgement is due within it.
const DEFER: Span = Span::from_ms(1);
/// The first segments of a connection are not paced.
const UNPACED: u64 = 10;

/// The segments of a burst at this pacing rate, if it is known (kernel: `tcp_tso_autosize`).
#[must_use]
pub fn autosize(rate: Option<BitsPerSec>, min_rtt: Span, mss: u64, min_segs: u32) -> u32 {
    let paced = rate.map_or(GSO_MAX_SIZE, |rate| (rate.get() / 8) >> PACING_SHIFT);
    let halvings = (min_rtt.as_ps() / Span::from_us(1).as_ps()) >> TSO_RTT_LOG;
    let near = if min_rtt.is_zero() || halvings >= 32 { 0 } else { GSO_MAX_SIZE >> halvings };
    let bytes = paced.saturating_add(near).min(GSO_MAX_SIZE);
    ((bytes / mss) as u32).max(min_segs)
}

/// The segmentation offload of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offload {
    /// The most segments of a burst; 1 without offload.
    gso_max_segs: u16,
    /// The most segments of a burst at the present rate.
    tso_segs: u16,
    /// Segments of a burst of new data that are still to be sent.
    burst_left: u16,
    /// Segments of a burst of retransmissions that may still be sent.
    retransmissions_left: u16,
    /// The segment that would be next in that burst.
    next_retransmission: u64,
}

impl Offload {
    /// The state of a new flow.
    pub(super) fn new(config: &Config) -> Self {
        let largest = (GSO_MAX_SIZE / u64::from(config.segment).max(1)).max(1) as u16;
        let gso_max_segs = config.gso_max_segs.clamp(1, largest);
        Self {
            gso_max_segs,
            tso_segs: gso_max_segs,
            burst_left: 0,
            retransmissions_left: 0,
            next_retransmission: 0,
        }
    }

    /// The state of a new flow on the same connection.
    pub(super) const fn reused(self) -> Self {
        Self { burst_left: 0, retransmissions_left: 0, ..self }
    }

    /// True if bursts may have several segments.
    pub(super) const fn is_on(&self) -> bool {
        self.gso_max_segs > 1
    }

    /// True if new data belongs to a burst that has begun. It is sent whatever the window has become.
    pub(super) const fn is_in_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// True if the retransmission of this segment belongs to a burst that has begun.
    pub(super) const fn continues(&self, index: u64) -> bool {
        self.retransmissions_left > 0 && self.next_retransmission == index
    }

    /// A new segment is sent.
    pub(super) const fn note_sent(&mut self) {
        self.burst_left = self.burst_left.saturating_sub(1);
    }
}

impl<W: Window> Sender<W> {
    /// Sets the length of bursts by the pacing rate, which a sender has even if it does not pace.
    pub(super) fn update_offload(&mut self) {
        if !self.offload.is_on() {
            return;
        }
        let rate = self.controller.pacing().or_else(|| {
            let flight = self.scoreboard.snd_nxt() - self.scoreboard.snd_una();
            let (cwnd, ssthresh) = (self.cwnd(), self.controller.slow_start_threshold());
            pacing_rate(cwnd, Bytes::new(flight), ssthresh, self.rtt.srtt())
        });
        let least = self.controller.min_tso_segs();
        let segs = autosize(rate, self.rtt.min_rtt(), self.scoreboard.mss(), least);
        self.offload.tso_segs = segs.min(self.offload.gso_max_segs.into()) as u16;
        self.offload.retransmissions_left = 0;
    }

    /// Segments that the congestion window allows.
    fn window_room(&self) -> u64 {
        self.limits.cwnd().saturating_sub(self.scoreboard.pipe()) / self.scoreboard.mss()
    }

    /// The bytes for which the congestion window must have room, or else it limits the sender.
    pub(super) fn wanted_room(&self) -> u64 {
        let mss = self.scoreboard.mss();
        if !self.offload.is_on() {
            return mss;
        }
        let burst = mss * u64::from(self.offload.tso_segs);
        burst.min(self.limits.cwnd() / TSO_WIN_DIVISOR).max(mss)
    }

    /// A burst of new data begins: as many segments as the rate, the windows and half of the congestion window allow,
    /// so that there are two bursts in flight. The next one is due when this one has left at the pacing rate.
    pub(super) fn begin_burst(&mut self, now: Time) {
        let (mss, next) = (self.scoreboard.mss(), self.scoreboard.snd_nxt());
        let half = self.limits.cwnd() / mss / 2;
        let allowed = self.limits.right_edge().saturating_sub(next) / mss;
        let room = self.window_room().min(half).min(allowed).min(self.offload.tso_segs.into());
        let segments = room.max(1);
        let end = next.saturating_add(segments * mss).min(self.scoreboard.end());
        self.offload.burst_left = (end - next).div_ceil(mss) as u16;
        if self.counts.sent + segments >= UNPACED {
            self.pacer.charge(now, end - next);
        }
    }

    /// A segment is retransmitted, which may begin or continue a burst.
    pub(super) fn note_retransmission(&mut self, index: u64) {
        if !self.offload.continues(index) {
            let room = self.window_room().clamp(1, self.offload.tso_segs.into());
            self.offload.retransmissions_left = room as u16;
        }
        self.offload.retransmissions_left -= 1;
        self.offload.next_retransmission = index + 1;
    }

    /// True if new data waits although the windows allow a segment, for acknowledgements to allow a whole burst.
    pub(super) fn defers(&self, now: Time) -> bool {
        let last = self.pacer.due().max(self.timers.last_sent);
        if !self.offload.is_on()
            || self.recovery.phase() != Phase::Open
            || now > last.saturating_add(DEFER)
        {
            return false;
        }
        let (mss, next) = (self.scoreboard.mss(), self.scoreboard.snd_nxt());
        let window = self.limits.right_edge().saturating_sub(self.scoreboard.snd_una());
        let allowed = self.limits.right_edge().saturating_sub(next).min(self.window_room() * mss);
        let whole = u64::from(self.offload.tso_segs) * mss;
        let chunk = window.min(self.limits.cwnd()) / TSO_WIN_DIVISOR;
        if allowed >= whole.min(chunk).min(self.rest_of_write()) {
            return false;
        }
        let Some(head) = self.scoreboard.segment(self.scoreboard.first_index()) else {
            return false;
        };
        let srtt = self.rtt.srtt();
        let expected = head.sent_at.saturating_add(srtt);
        expected <= now.saturating_add((srtt / 2).min(DEFER))
    }

    /// The bytes that are left of what the application wrote in one piece, which is as long as the longest burst.
    fn rest_of_write(&self) -> u64 {
        let (next, end) = (self.scoreboard.snd_nxt(), self.scoreboard.end());
        let piece = self.scoreboard.mss() * u64::from(self.offload.gso_max_segs);
        (piece - next % piece).min(end - next)
    }
}
