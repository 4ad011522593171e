//! Competitive mode (thesis, 3.5.1: "switching to TCP-competitive mode when buffer-fillers are detected"; the model is
//! Copa, 2.2). Flows that respond to losses only keep a queue however much Gemini reduces cwnd. Gemini's own flows keep
//! a queue near K, or a delay near T. The queue counts as another flow's if it stayed above twice K with nearly all
//! data marked, or above four times T, in sixteen windows of data in a row. cwnd is then what it was before them, and
//! follows CUBIC, which marks and delay do not affect. This ends when the queueing delay of a window of data falls to a
//! quarter of the smaller bound, or by a probe: after a loss, at most every five seconds, Gemini's own rule applies
//! again for eight windows of data, and only if the queue stays in all of them does cwnd go back to CUBIC's.

use super::Gemini;
use crate::cubic::{self, Cubic};
use crate::window::{Ack, Loss, Start, Undo, Window};
use shallop_core::{Bytes, Span, Time};

/// Windows of data in a row after which a queue counts as another flow's. Eight are too few while flows are starting.
const DETECTION: u32 = 16;
/// Windows of data of a probe.
const PROBE: u32 = 8;
/// Least time from the start of competitive mode to a probe, and between probes.
const BETWEEN_PROBES: Span = Span::from_secs(5);

/// State of competitive mode of one connection.
#[derive(Clone, Debug)]
pub(super) struct Competitive {
    start: Start,
    /// Bytes acknowledged in the current window of data, and how many of these bytes were acknowledged with ECN-Echo.
    acked: (Bytes, Bytes),
    /// Windows of data in a row in which the queue stayed.
    standing: u32,
    /// The largest cwnd before a reduction in these windows of data, in segments.
    cwnd_before: u64,
    /// CUBIC, in competitive mode and in probes.
    cubic: Option<Cubic>,
    /// Time at which competitive mode began, or the last probe ended.
    since: Time,
    is_probe: bool,
    in_recovery: bool,
}

impl Competitive {
    pub(super) fn new(start: &Start) -> Box<Self> {
        Box::new(Self {
            start: *start,
            acked: (Bytes::ZERO, Bytes::ZERO),
            standing: 0,
            cwnd_before: 0,
            cubic: None,
            since: Time::ZERO,
            is_probe: false,
            in_recovery: false,
        })
    }

    /// CUBIC, if it sets cwnd now.
    fn competing(&mut self) -> Option<&mut Cubic> {
        self.cubic.as_mut().filter(|_| !self.is_probe)
    }

    /// Ends a window of data with this least queueing delay.
    fn end_window(&mut self, now: Time, delay: Span, [marks, delays]: [Option<Span>; 2]) {
        let (acked, marked) = std::mem::take(&mut self.acked);
        let is_marked = marked.get() > acked.get() / 8 * 7;
        let bound = marks.filter(|_| is_marked).or(delays).unwrap_or(Span::MAX);
        let least = marks.into_iter().chain(delays).min().unwrap_or(Span::ZERO);
        self.standing = if delay > bound { self.standing + 1 } else { 0 };
        if self.cubic.is_none() || self.is_probe {
            if self.standing == 0 {
                self.leave();
            } else if self.standing >= if self.is_probe { PROBE } else { DETECTION } {
                let window = self.start.mss * self.cwnd_before.max(2);
                let start = Start { initial_window: window, initial_ssthresh: window, ..self.start };
                let config = cubic::Config { pacing: false, ..cubic::Config::LINUX_IDEAL };
                self.cubic.get_or_insert_with(|| Cubic::new(&config, &start));
                (self.is_probe, self.since) = (false, now);
            }
        } else if delay <= least / 4 {
            self.leave();
        }
    }

    /// Leaves competitive mode or a probe.
    fn leave(&mut self) {
        (self.cubic, self.is_probe, self.standing, self.cwnd_before) = (None, false, 0, 0);
    }
}

impl Gemini {
    /// Ends a window of data for competitive mode, if the option is on.
    pub(super) fn end_window_of_queue(&mut self, now: Time) {
        let Some(state) = self.competitive.as_mut().filter(|_| self.delay.rtt_min < Span::MAX) else { return };
        let delay = self.delay.rtt_min.saturating_sub(self.delay.rtt_base);
        let k = Span::from_secs_f64(8.0 * self.k.get() as f64 / self.capacity.get() as f64);
        let marks = self.dcn.then(|| k * 2);
        let delays = self.wan.then(|| self.delay_threshold * 4);
        state.end_window(now, delay, [marks, delays]);
    }

    /// Lets CUBIC grow cwnd for an ACK; false if competitive mode is off. CUBIC sees no marks, and no reduction for
    /// marks.
    pub(super) fn compete(&mut self, ack: &Ack) -> bool {
        let Some(state) = &mut self.competitive else { return false };
        let in_cwnd_reduction = state.in_recovery;
        let Some(cubic) = state.competing() else { return false };
        cubic.on_ack(&Ack { marked: Bytes::ZERO, in_cwnd_reduction, ..*ack });
        self.follow_cubic();
        true
    }

    /// Counts the bytes of an ACK, before a window of data may end with it.
    pub(super) fn count_marks(&mut self, ack: &Ack) {
        if let Some(state) = &mut self.competitive {
            state.acked = (state.acked.0.saturating_add(ack.acked_sacked), state.acked.1.saturating_add(ack.marked));
        }
    }

    /// Notes cwnd, which a probe or the present signals are about to reduce.
    pub(super) fn note_cwnd_before_reduction(&mut self) {
        if let Some(state) = &mut self.competitive {
            state.cwnd_before = state.cwnd_before.max(self.cwnd.segments);
        }
    }

    /// Ends competitive mode.
    pub(super) fn stop_competing(&mut self) {
        if let Some(state) = &mut self.competitive {
            state.leave();
        }
    }

    /// Whether CUBIC sets cwnd now.
    pub fn is_competing(&self) -> bool {
        self.competitive.as_ref().is_some_and(|state| state.cubic.is_some() && !state.is_probe)
    }

    /// CUBIC's response to a loss or, with `rto`, a timeout, after which a probe may begin.
    pub(super) fn on_loss_of_cubic(&mut self, loss: &Loss, rto: Option<bool>) {
        let Some(state) = &mut self.competitive else { return };
        state.in_recovery = rto.is_none();
        let Some(cubic) = &mut state.cubic else { return };
        match rto {
            Some(first) => cubic.on_rto(loss, first),
            None => cubic.on_loss(&Loss { in_cwr: false, ..*loss }),
        }
        if state.is_probe {
            return;
        }
        self.follow_cubic();
        let is_due = |state: &&mut Box<Competitive>| loss.now.saturating_since(state.since) >= BETWEEN_PROBES;
        if let Some(state) = self.competitive.as_mut().filter(is_due) {
            (state.is_probe, state.standing) = (true, 0);
        }
    }

    /// Undoes CUBIC's reduction for a loss that was none.
    pub(super) fn undo_cubic(&mut self, undo: &Undo) {
        if let Some(cubic) = self.competitive.as_mut().and_then(|state| state.competing()) {
            cubic.on_undo(undo);
            self.follow_cubic();
        }
    }

    pub(super) fn end_recovery(&mut self) {
        if let Some(state) = &mut self.competitive {
            state.in_recovery = false;
        }
    }

    fn follow_cubic(&mut self) {
        let Some(cubic) = self.competitive.as_ref().and_then(|state| state.cubic.as_ref()) else { return };
        let segments = |bytes: Bytes| bytes.get() / self.mss.get().max(1);
        let ssthresh = cubic.slow_start_threshold();
        self.ssthresh = if ssthresh == Bytes::MAX { u64::MAX } else { segments(ssthresh) };
        self.cwnd = super::Cwnd { segments: segments(cubic.window()).max(1), cwnd_cnt: 0 };
    }
}
