//! The scoreboard: the state of every segment in flight (RFC 6675, 3), as a ring of records and counters. The work for
//! an acknowledgement grows with what it newly acknowledges, not with the window, because a set of ranges skips SACK
//! blocks that are already known. `marking.rs` marks segments lost. Units: bytes of the stream; segments by index,
//! which is their offset divided by the full segment size.

use super::segment::{Segment, SegmentState, Snapshot, Transmission};
use super::{ack_summary::AckSummary, loss_state::LossState};
use shallop_core::Time;
use std::{collections::VecDeque, ops::Range};

#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    pub mss: u64,
    /// Offset of the end of the message; `u64::MAX` for a message without end.
    pub end: u64,
    /// Offset of the end of what the application has offered so far: `end` unless the application is limited.
    pub written: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Index of the segment at SND.UNA, which is the first record of the ring.
    pub first_index: u64,
    pub(super) ring: VecDeque<Segment>,
    /// Bytes of segments in the state [`SegmentState::InFlight`].
    pub(super) in_flight: u64,
    /// Bytes in `in_flight` that duplicate acknowledgements without SACK report as delivered, without telling which
    /// (kernel: `sacked_out` of a connection without SACK).
    pub(super) dupack_delivered: u64,
    /// Bytes of segments in the state [`SegmentState::Lost`].
    pub lost: u64,
    pub total_lost: u64,
    /// What is known about data after SND.UNA, if some is missing; `None` for most flows.
    pub(super) loss_state: Option<Box<LossState>>,
    /// Cursor: no segment with a lower index is in flight as its first transmission.
    pub(super) first_original: u64,
    /// The number of records visited so far, for tests that bound the work.
    pub records_visited: u64,
}

impl Scoreboard {
    /// Makes the scoreboard of a message of `size` bytes, with nothing sent; `None` is a message without end.
    pub fn new(mss: u64, size: Option<u64>) -> Self {
        let end = size.unwrap_or(u64::MAX);
        Self { mss: mss.max(1), end, written: end, ..Self::default() }
    }

    /// `pipe` of RFC 6675: an estimate of the bytes in flight. Lost bytes count again once they are retransmitted.
    pub fn pipe(&self) -> u64 {
        self.in_flight - self.dupack_delivered
    }

    /// The number of segments in flight whose last transmission is a retransmission (kernel: `retrans_out`).
    pub fn retransmitted(&self) -> u32 {
        self.loss_state.as_ref().map_or(0, |state| state.retransmitted)
    }

    pub fn sacked(&self) -> u64 {
        self.loss_state.as_ref().map_or(0, |state| state.sacked.count())
    }

    pub fn body(&self, index: u64) -> Range<u64> {
        let start = index * self.mss;
        start..(start + self.mss).min(self.end)
    }

    /// The bytes of the next new segment; empty if the application has offered no more.
    pub fn unsent(&self) -> Range<u64> {
        self.snd_nxt..self.snd_nxt.saturating_add(self.mss).min(self.written)
    }

    /// The record of a segment; `None` if it is not between SND.UNA and SND.NXT.
    pub fn segment(&self, index: u64) -> Option<&Segment> {
        self.ring.get(index.checked_sub(self.first_index)? as usize)
    }

    pub(super) fn segment_mut(&mut self, index: u64) -> Option<&mut Segment> {
        self.ring.get_mut(index.checked_sub(self.first_index)? as usize)
    }

    pub(super) fn end_index(&self) -> u64 {
        self.first_index + self.ring.len() as u64
    }

    pub(super) fn len(&self, index: u64) -> u64 {
        let body = self.body(index);
        body.end - body.start
    }

    /// Records that the next new segment is sent, and returns its bytes.
    pub fn send(&mut self, now: Time, snapshot: Snapshot, app_limited: bool) -> Range<u64> {
        let body = self.unsent();
        let (state, retransmitted) = (SegmentState::InFlight, false);
        self.ring.push_back(Segment { sent_at: now, snapshot, state, retransmitted, app_limited });
        self.in_flight += body.end - body.start;
        self.snd_nxt = body.end;
        body
    }

    /// Records that a segment is retransmitted, unless it was selectively acknowledged. Returns its bytes.
    pub fn retransmit(&mut self, now: Time, index: u64, snapshot: Snapshot, app_limited: bool) -> Range<u64> {
        let (body, len) = (self.body(index), self.len(index));
        let Some(segment) = self.segment_mut(index) else { return body };
        let (before, repeated) = (segment.state, segment.is_retransmission_in_flight());
        if before == SegmentState::Sacked {
            return body;
        }
        let (state, retransmitted) = (SegmentState::InFlight, true);
        *segment = Segment { sent_at: now, snapshot, state, retransmitted, app_limited };
        if before == SegmentState::Lost {
            self.lost -= len;
            self.in_flight += len;
        }
        let loss_state = self.loss_state.get_or_insert_default();
        loss_state.retransmitted += u32::from(!repeated);
        loss_state.retransmissions.push_back(Transmission { at: now, index });
        self.prune();
        body
    }

    /// Processes a cumulative acknowledgement: everything before `ack` was received.
    pub fn ack_cumulative(&mut self, ack: u64, summary: &mut AckSummary) {
        let (before, highest_sacked) = (self.snd_una, self.highest_sacked());
        while self.snd_una < ack {
            let end = self.body(self.first_index).end;
            if end > ack {
                break;
            }
            let Some(segment) = self.ring.front() else { break };
            let len = end - self.snd_una;
            let in_flight_again = segment.is_retransmission_in_flight();
            if let Some(state) = self.loss_state.as_mut().filter(|_| in_flight_again) {
                state.retransmitted -= 1;
            }
            match segment.state {
                SegmentState::InFlight => self.in_flight -= len,
                SegmentState::Lost => self.lost -= len,
                SegmentState::Sacked => {}
            }
            if segment.state != SegmentState::Sacked {
                let reordered = self.first_index < highest_sacked && !segment.retransmitted;
                summary.reordered |= reordered;
                summary.add(self.first_index, len, segment);
            }
            self.ring.pop_front();
            self.records_visited += 1;
            (self.snd_una, self.first_index) = (end, self.first_index + 1);
        }
        if self.snd_una == self.end {
            // The flow is complete: frees the memory of a large window, which would otherwise stay until the end of the
            // run.
            (self.ring, self.loss_state, self.dupack_delivered) = (VecDeque::new(), None, 0);
        }
        if let Some(state) = &mut self.loss_state {
            state.sacked.trim(self.snd_una);
        }
        if self.dupack_delivered > 0 && self.snd_una > before {
            // Duplicate acknowledgements have reported all but the first of these bytes as delivered (kernel:
            // `tcp_remove_reno_sacks`).
            let advanced = (self.snd_una - before).saturating_sub(self.mss);
            let reported = advanced.min(self.dupack_delivered);
            summary.delivered = summary.delivered.saturating_sub(reported);
            self.dupack_delivered = (self.dupack_delivered - reported).min(self.in_flight);
        }
    }

    /// Processes a duplicate acknowledgement without SACK: one segment was received, but it is not known which (kernel:
    /// `tcp_add_reno_sack`).
    pub fn add_dupack(&mut self, summary: &mut AckSummary) {
        if self.pipe() > self.mss {
            self.dupack_delivered += self.mss;
            summary.delivered += self.mss;
        }
    }

    /// Processes a SACK block after the cumulative acknowledgement. Only whole segments count; the last segment of a
    /// message may be short.
    pub fn ack_selective(&mut self, block: &Range<u64>, summary: &mut AckSummary) {
        if block.start <= self.snd_una || block.end > self.snd_nxt || block.is_empty() {
            return;
        }
        let mut state = self.loss_state.take().unwrap_or_default();
        if state.is_new_block(block)
            && let Some(gap) = state.sacked.gap(block.clone())
        {
            let rest = if block.end == self.end { 0 } else { (block.end - self.snd_una) % self.mss };
            let first = self.first_index + (gap.start - self.snd_una).div_ceil(self.mss);
            let whole = self.body(first).start..block.end - rest;
            self.sack_range(whole, first, &mut state, summary);
        }
        self.loss_state = Some(state);
    }

    /// Marks the segments of `whole` as received. The first of them has the index `index`.
    fn sack_range(&mut self, whole: Range<u64>, mut index: u64, state: &mut LossState, summary: &mut AckSummary) {
        let mut at = whole.start;
        while let Some(gap) = state.sacked.gap(at..whole.end) {
            index += (gap.start - at) / self.mss;
            at = gap.start;
            while at < gap.end {
                self.sack_segment(index, state, summary);
                at += self.mss;
                index += 1;
            }
            at = gap.end;
        }
        if !whole.is_empty() {
            state.sacked.insert(whole);
        }
    }

    fn sack_segment(&mut self, index: u64, state: &mut LossState, summary: &mut AckSummary) {
        let len = self.len(index);
        let Some(at) = index.checked_sub(self.first_index) else { return };
        let Some(segment) = self.ring.get_mut(at as usize) else { return };
        state.retransmitted -= u32::from(segment.is_retransmission_in_flight());
        match std::mem::replace(&mut segment.state, SegmentState::Sacked) {
            SegmentState::InFlight => self.in_flight -= len,
            SegmentState::Lost => self.lost -= len,
            SegmentState::Sacked => return,
        }
        summary.reordered |= index < state.highest_sacked() && !segment.retransmitted;
        summary.sacked = true;
        summary.add(index, len, segment);
        state.note_sacked(index);
        self.records_visited += 1;
    }
}
