//! Segmentation offload: the host passes bursts of segments to its NIC, which leave back to back. A burst is about a
//! millisecond of the pacing rate, and may wait until the window allows all of it (`bursts.rs`). State: the length of a
//! burst at the current rate, the burst that is being sent, and those that wait in the host. Units: segments; bytes of
//! the stream. Source: kernel 6.12, `tcp_tso_autosize`, `tcp_tso_segs`, `tcp_cwnd_test`, `tcp_tso_should_defer`,
//! `tcp_small_queue_check`, `tcp_update_skb_after_send`.

use super::config::Config;
use shallop_core::{BitsPerSec, Span, Time};
use std::collections::VecDeque;

/// The most bytes in a burst: 64 KB less the room for headers (kernel: `GSO_LEGACY_MAX_SIZE`, `MAX_TCP_HEADER`).
const GSO_MAX_SIZE: u64 = 65_536 - 320 - 1;
/// A burst takes `2^-10` seconds, about a millisecond, at the pacing rate (kernel: `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Memory of a burst besides its payload, in bytes: the `sk_buff`, and headers with `skb_shared_info` (kernel:
/// `SKB_TRUESIZE` of `MAX_TCP_HEADER`).
const SKB_OVERHEAD: u64 = 256 + 640;
/// Bursts are longer on short paths: the addition to their length halves for each `2^9` us of the minimum round-trip
/// time (kernel: `tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;

/// Computes the length of a burst in segments from the pacing rate, if it is known (kernel: `tcp_tso_autosize`).
pub fn autosize(rate: Option<BitsPerSec>, min_rtt: Span, mss: u64, min_segs: u32) -> u32 {
    let paced = rate.map_or(GSO_MAX_SIZE, |rate| (rate.get() / 8) >> PACING_SHIFT);
    let halvings = (min_rtt.as_ps() / Span::from_us(1).as_ps()) >> TSO_RTT_LOG;
    let near = if min_rtt.is_zero() || halvings >= 32 { 0 } else { GSO_MAX_SIZE >> halvings };
    let bytes = paced.saturating_add(near).min(GSO_MAX_SIZE);
    ((bytes / mss) as u32).max(min_segs)
}

/// A burst whose length is fixed, and which waits in the host to be paced.
#[derive(Clone, Copy, Debug)]
struct Planned {
    segments: u16,
    /// When it leaves the host.
    due: Time,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Offload {
    /// The most segments in a burst; 1 without offload.
    pub(super) gso_max_segs: u16,
    /// The most segments in a burst at the current pacing rate.
    pub(super) tso_segs: u16,
    /// Segments of the current burst of new data that are still to be sent.
    pub(super) burst_left: u16,
    /// Segments that may still be sent in the current burst of retransmissions.
    pub(super) retransmissions_left: u16,
    /// Index of the segment with which the current burst of retransmissions would continue.
    pub(super) next_retransmission: u64,
    /// The most bursts in the host's queue ([`Config::fq_flow_limit`]).
    flow_limit: u16,
    /// Segments of all planned bursts.
    planned_segments: u32,
    /// When the first planned burst leaves the host. Valid if `planned_segments` is not zero.
    planned_due: Time,
    /// Bursts that wait in the host to be paced, the first one first; `None` before the first burst is planned.
    #[expect(clippy::box_collection, reason = "most flows plan nothing, and a sender is to be small")]
    planned: Option<Box<VecDeque<Planned>>>,
    /// Bytes that TCP has sent and that are still in the host's queue.
    pub(super) held: u32,
}

impl Offload {
    pub(super) fn new(config: &Config) -> Self {
        let largest = (GSO_MAX_SIZE / u64::from(config.segment).max(1)).max(1) as u16;
        let gso_max_segs = config.gso_max_segs.clamp(1, largest);
        Self { gso_max_segs, tso_segs: gso_max_segs, flow_limit: config.fq_flow_limit, ..Self::default() }
    }

    /// The state at the start of the next flow of a connection.
    pub(super) fn reused(&self) -> Self {
        let Self { gso_max_segs, tso_segs, next_retransmission, flow_limit, .. } = *self;
        Self { gso_max_segs, tso_segs, next_retransmission, flow_limit, ..Self::default() }
    }

    /// Payload bytes that TCP may have in the host's queue before it passes on a burst of `burst` bytes: what is paced
    /// in a millisecond, where a burst takes more memory than its payload, but at least two such bursts (kernel:
    /// `tcp_small_queue_check`).
    pub(super) fn small_queue(rate: Option<BitsPerSec>, burst: u64) -> u64 {
        let memory = rate.map_or(0, |rate| (rate.get() / 8) >> PACING_SHIFT);
        let payload = u128::from(memory) * u128::from(burst) / u128::from(burst + SKB_OVERHEAD);
        (payload as u64).max(2 * burst)
    }

    /// Whether the host would drop one of these segments, because more bursts than its limit would wait to be paced.
    /// TCP passes on no more than is paced in a millisecond (kernel: `tcp_small_queue_check`), and a burst takes more
    /// memory than its payload.
    pub(super) fn overflows(&self, segments: u64, mss: u64, rate: BitsPerSec) -> bool {
        let burst = u64::from(self.tso_segs.max(1));
        let small_queue = ((rate.get() / 8) >> PACING_SHIFT) / (SKB_OVERHEAD + burst * mss);
        (segments / burst).min(small_queue) > u64::from(self.flow_limit)
    }

    /// Whether bursts are planned: the length of a burst is fixed when the windows allow it, and it then waits in the
    /// host, like a packet in the qdisc `fq`.
    pub(super) const fn plans(&self) -> bool {
        self.is_paced_by_host() && self.burst_left == 0
    }

    /// Whether bursts wait in the host's `fq` until the pacer lets them leave.
    pub(super) const fn is_paced_by_host(&self) -> bool {
        self.is_on() && self.has_flow_limit()
    }

    pub(super) const fn planned_due(&self) -> Option<Time> {
        if self.planned_segments > 0 { Some(self.planned_due) } else { None }
    }

    pub(super) const fn planned_segments(&self) -> u32 {
        self.planned_segments
    }

    /// Plans a burst of this many segments after all others, which leaves the host at `due`.
    pub(super) fn plan(&mut self, segments: u16, due: Time) {
        self.planned.get_or_insert_default().push_back(Planned { segments, due });
        if self.planned_segments == 0 {
            self.planned_due = due;
        }
        self.planned_segments += u32::from(segments);
    }

    /// Lets the first planned burst leave the host. Returns false if none is planned.
    pub(super) fn release(&mut self) -> bool {
        let Some(planned) = self.planned.as_mut().filter(|_| self.planned_segments > 0) else { return false };
        let Some(first) = planned.pop_front() else { return false };
        self.planned_due = planned.front().map_or(Time::LAST, |planned| planned.due);
        self.planned_segments -= u32::from(first.segments);
        self.burst_left = first.segments;
        true
    }

    pub(super) const fn is_on(&self) -> bool {
        self.gso_max_segs > 1
    }

    /// Whether the host has neither segmentation offload nor a queue.
    pub(super) const fn is_absent(&self) -> bool {
        self.gso_max_segs <= 1 && self.held == 0
    }

    /// Whether the host drops bursts when too many of a flow wait.
    pub(super) const fn has_flow_limit(&self) -> bool {
        self.flow_limit < u16::MAX
    }

    /// Whether the next new data belongs to a burst that has begun. Then it is sent even if the window has shrunk.
    pub(super) const fn is_in_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// Whether a retransmission of this segment continues the current burst of retransmissions.
    pub(super) const fn continues(&self, index: u64) -> bool {
        self.retransmissions_left > 0 && self.next_retransmission == index
    }
}
