//! Loss marks of the scoreboard, and which lost segment `NextSeg` of RFC 6675 sends first. A cursor examines first
//! transmissions and moves forward only, unless an undo sets it back. A queue in order of time holds retransmissions.
//! So the work does not grow with the window.

use super::{scoreboard::Scoreboard, segment::SegmentState, segment::Transmission};

impl Scoreboard {
    pub fn mark_lost(&mut self, index: u64) {
        let len = self.len(index);
        let Some(segment) = self.segment_mut(index) else { return };
        if segment.state == SegmentState::InFlight {
            let retransmitted = segment.retransmitted;
            segment.state = SegmentState::Lost;
            self.in_flight -= len;
            self.dupack_delivered = self.dupack_delivered.min(self.in_flight);
            self.lost += len;
            self.total_lost += len;
            let state = self.loss_state.get_or_insert_default();
            state.retransmitted -= u32::from(retransmitted);
            state.lost[usize::from(retransmitted)].push_back(index);
        }
    }

    /// Marks everything lost that was not selectively acknowledged, because the retransmission timer expired.
    pub fn mark_all_lost(&mut self) {
        let mut state = self.loss_state.take().unwrap_or_default();
        state.clear_lost();
        self.total_lost += self.in_flight;
        (self.in_flight, self.dupack_delivered, self.lost) = (0, 0, 0);
        for index in self.first_index..self.end_index() {
            let len = self.len(index);
            let Some(segment) = self.segment_mut(index) else { continue };
            if segment.state != SegmentState::Sacked {
                segment.state = SegmentState::Lost;
                self.lost += len;
                state.lost[0].push_back(index);
            }
        }
        self.records_visited += self.ring.len() as u64;
        self.first_original = self.end_index();
        self.loss_state = Some(state);
    }

    /// Removes all loss marks after a spurious recovery: segments that were marked lost and not retransmitted count as
    /// in flight (kernel: `tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub fn unmark_lost(&mut self) {
        if self.lost == 0 {
            return;
        }
        let mut state = self.loss_state.take().unwrap_or_default();
        for queue in 0..state.lost.len() {
            while let Some(index) = state.lost[queue].pop_front() {
                self.records_visited += 1;
                let len = self.len(index);
                let Some(segment) = self.segment_mut(index) else { continue };
                if segment.state != SegmentState::Lost {
                    continue;
                }
                segment.state = SegmentState::InFlight;
                let (at, retransmitted) = (segment.sent_at, segment.retransmitted);
                self.in_flight += len;
                self.lost -= len;
                if retransmitted {
                    state.retransmitted += 1;
                    state.retransmissions.push_back(Transmission { at, index });
                } else {
                    self.first_original = self.first_original.min(index);
                }
            }
        }
        // The added retransmissions may be older than those in the queue.
        state.retransmissions.make_contiguous().sort_unstable();
        self.loss_state = Some(state);
    }

    /// Marks first transmissions lost in the order in which they were sent, until `is_lost` is false for one, which is
    /// returned. `None` if all first transmissions in flight are marked.
    pub fn mark_originals_lost(&mut self, is_lost: impl Fn(Transmission) -> bool) -> Option<Transmission> {
        loop {
            self.advance_first_original();
            let index = self.first_original;
            let transmission = Transmission { at: self.segment(index)?.sent_at, index };
            if !is_lost(transmission) {
                return Some(transmission);
            }
            self.mark_lost(index);
        }
    }

    /// Marks retransmissions lost in the order in which they were sent, until `is_lost` is false for one, which is
    /// returned. `None` if all retransmissions in flight are marked.
    pub fn mark_retransmissions_lost(&mut self, is_lost: impl Fn(Transmission) -> bool) -> Option<Transmission> {
        loop {
            let transmission = *self.loss_state.as_ref()?.retransmissions.front()?;
            let in_flight = self.is_in_flight(transmission);
            if in_flight && !is_lost(transmission) {
                return Some(transmission);
            }
            self.records_visited += 1;
            self.loss_state.as_mut()?.retransmissions.pop_front();
            if in_flight {
                self.mark_lost(transmission.index);
            }
        }
    }

    /// Moves the cursor to the first segment in flight that was sent only once.
    fn advance_first_original(&mut self) {
        self.first_original = self.first_original.max(self.first_index);
        while self
            .segment(self.first_original)
            .is_some_and(|segment| segment.retransmitted || segment.state != SegmentState::InFlight)
        {
            self.first_original += 1;
            self.records_visited += 1;
        }
    }

    /// Whether this transmission is in flight, and the last one of its segment.
    fn is_in_flight(&self, transmission: Transmission) -> bool {
        self.segment(transmission.index)
            .is_some_and(|segment| segment.state == SegmentState::InFlight && segment.sent_at == transmission.at)
    }

    fn is_lost(&self, index: u64) -> bool {
        self.segment(index).is_some_and(|segment| segment.state == SegmentState::Lost)
    }

    /// Drops entries that are out of date from the fronts of the queues, and moves the cursor. Called after each
    /// acknowledgement, so that [`Scoreboard::first_lost`] is correct.
    pub fn prune(&mut self) {
        let Some(mut state) = self.loss_state.take() else { return };
        for queue in &mut state.lost {
            while queue.front().is_some_and(|&index| !self.is_lost(index)) {
                queue.pop_front();
                self.records_visited += 1;
            }
        }
        while state.retransmissions.front().is_some_and(|&sent| !self.is_in_flight(sent)) {
            state.retransmissions.pop_front();
            self.records_visited += 1;
        }
        self.loss_state = Some(state);
        self.advance_first_original();
    }

    /// Index of the lowest segment marked lost, which is retransmitted first (RFC 6675, `NextSeg`, rule 1).
    pub fn first_lost(&self) -> Option<u64> {
        self.loss_state.as_ref()?.first_lost()
    }

    pub(super) fn highest_sacked(&self) -> u64 {
        self.loss_state.as_ref().map_or(0, |state| state.highest_sacked())
    }

    /// Index of the third-highest segment that was selectively acknowledged; zero if there are fewer. Everything
    /// missing before it is lost (`IsLost` of RFC 6675, with a `DupThresh` of three).
    pub fn dup_thresh_segment(&self) -> u64 {
        self.loss_state.as_ref().map_or(0, |state| state.dup_thresh_segment())
    }

    /// Index of the first segment in flight that was sent only once and lies before one that was selectively
    /// acknowledged, to be sent if nothing is marked lost (RFC 6675, `NextSeg`, rule 3).
    pub fn possibly_lost(&self) -> Option<u64> {
        let highest_sacked = self.loss_state.as_ref()?.highest_sacked();
        let known = self.first_original >= self.first_index;
        let below = self.lost == 0 && known && self.first_original < highest_sacked;
        below.then_some(self.first_original)
    }

    /// Index of the highest segment that was sent and not selectively acknowledged (RFC 6675, `NextSeg`, rule 4).
    pub fn highest_unsacked(&self) -> Option<u64> {
        let last = self.end_index().checked_sub(1)?;
        if self.segment(last)?.state != SegmentState::Sacked {
            return Some(last);
        }
        let top = self.loss_state.as_ref()?.sacked.last()?;
        let below = (top.start.checked_sub(self.snd_una)? / self.mss).checked_sub(1)?;
        Some(self.first_index + below)
    }
}
