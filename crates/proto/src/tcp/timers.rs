//! The timers of a sender: retransmission timer, tail loss probe, RACK's reordering timer and persist timer. Only one
//! runs at a time, as in Linux. Sources: RFC 6298, 5; RFC 8985, 6.3 and 7.2; RFC 9293, 3.8.6.1.

use super::connection::{Pending, State};
use super::{detection::Detector, recovery::Phase, sender::Sender, tlp::TailLossProbe};
use shallop_control::Window;
use shallop_core::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    Retransmission,
    /// The timer of tail loss probes (PTO of RFC 8985).
    TailLossProbe,
    /// RACK's reordering timer: when it expires, segments that might have been reordered are marked lost.
    Reordering,
    /// The persist timer, which runs while the receiver's window is too small for a segment.
    Persist,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    pub(super) rto_start: Time,
    /// When the last segment was sent.
    pub(super) last_sent: Time,
    /// When RACK's reordering timer expires; [`Time::LAST`] if it is not running.
    pub(super) reordering: Time,
    /// The longest time for which the receiver delays an acknowledgement.
    max_ack_delay: Span,
    /// The deadline that the driver has: that of the next timer or earlier, so that it does not change with every
    /// packet; [`Time::LAST`] if there is none.
    pub(super) armed: Time,
    pub(super) last_call: Time,
}

impl Timers {
    pub(super) const fn new(max_ack_delay: Span) -> Self {
        Self {
            rto_start: Time::ZERO,
            last_sent: Time::ZERO,
            reordering: Time::LAST,
            max_ack_delay,
            armed: Time::LAST,
            last_call: Time::ZERO,
        }
    }

    /// Sets the driver's deadline, unless the driver has an earlier one.
    pub(super) fn arm(&mut self, now: Time, due: Time) {
        self.armed = self.armed.min(due.max(now));
    }

    /// The deadline for the driver. `paced` is the time when the pacer allows the next segment.
    pub(super) fn wakeup(&self, paced: Option<Time>) -> Option<Time> {
        earlier(paced, self.armed)
    }
}

/// The earlier of two deadlines; `timer` is [`Time::LAST`] if it is not running.
#[inline]
pub(super) fn earlier(due: Option<Time>, timer: Time) -> Option<Time> {
    let first = due.map_or(timer, |due| due.min(timer));
    (first < Time::LAST).then_some(first)
}

impl<W: Window> Sender<W> {
    /// Whether the persist timer must run: the receiver's window is too small for the next segment, and no
    /// acknowledgement is expected that could open it.
    pub(super) fn is_persisting(&self) -> bool {
        let new = self.scoreboard.unsent();
        self.scoreboard.snd_una == self.scoreboard.snd_nxt && !new.is_empty() && new.end > self.limits.right_edge
    }

    /// The timer that is running, and when it expires.
    pub(super) fn next_timer(&self) -> Option<(Time, Timer)> {
        let rto = self.timers.rto_start.saturating_add(self.rtt.rto());
        if self.connection.state != State::Established {
            let running = self.connection.state == State::SynSent;
            return running.then_some((rto, Timer::Retransmission));
        }
        if self.scoreboard.snd_una == self.scoreboard.snd_nxt {
            return self.is_persisting().then_some((rto, Timer::Persist));
        }
        if self.timers.reordering <= rto {
            return Some((self.timers.reordering, Timer::Reordering));
        }
        if self.may_probe_tail() {
            let since = self.timers.last_sent.max(self.timers.rto_start);
            let single = self.scoreboard.pipe() <= self.scoreboard.mss;
            let delay = self.timers.max_ack_delay;
            let due = TailLossProbe::timeout(since, &self.rtt, single, delay);
            return Some((due.min(rto), Timer::TailLossProbe));
        }
        Some((rto, Timer::Retransmission))
    }

    /// Whether the timer of tail loss probes runs in place of the retransmission timer (RFC 8985, 7.2).
    fn may_probe_tail(&self) -> bool {
        matches!(self.recovery.detector, Detector::Rack(_))
            && self.recovery.is_open()
            && self.recovery.tlp.is_idle()
            && (self.scoreboard.sacked() == 0 || self.recovery.is_kernels_cwr())
    }

    /// Sets the driver's deadline to that of the running timer, unless it is earlier.
    pub(super) fn arm(&mut self, now: Time) {
        if let Some((due, _)) = self.next_timer() {
            self.timers.arm(now, due);
        }
    }

    pub(super) fn on_expiry(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Retransmission if self.connection.state == State::SynSent => {
                self.counts.timeouts += 1;
                self.rtt.back_off();
                (self.connection.pending, self.timers.rto_start) = (Pending::Syn, now);
            }
            Timer::Retransmission => self.on_retransmission_timeout(now),
            Timer::TailLossProbe => {
                (self.recovery.tlp.pending, self.timers.rto_start) = (true, now);
            }
            Timer::Reordering => self.on_reordering_timeout(now),
            Timer::Persist => {
                let closed = self.limits.right_edge <= self.scoreboard.snd_nxt;
                self.connection.pending = if closed { Pending::WindowProbe } else { Pending::Override };
                self.rtt.back_off();
                self.timers.rto_start = now;
            }
        }
    }

    /// Marks everything in flight lost, because the retransmission timer has expired.
    fn on_retransmission_timeout(&mut self, now: Time) {
        let loss = self.congestion(now, self.scoreboard.pipe() + self.scoreboard.lost);
        let first = self.recovery.timeout_una != self.scoreboard.snd_una;
        let reduces = first && !(self.recovery.kernel_habits && self.is_reduction_pending());
        self.prepare_timeout_undo(first);
        self.recovery.enter_loss(self.scoreboard.snd_una, self.scoreboard.snd_nxt);
        self.scoreboard.mark_all_lost();
        self.rtt.back_off();
        self.counts.timeouts += 1;
        self.controller.on_rto(&loss, reduces);
        (self.timers.rto_start, self.timers.reordering) = (now, Time::LAST);
        self.ecn.send_cwr = true;
        self.update_limits();
    }

    /// Whether the threshold was already reduced for the data in flight, so that a timeout leaves it (kernel:
    /// `tcp_enter_loss`).
    fn is_reduction_pending(&self) -> bool {
        match self.recovery.phase {
            Phase::Open => self.recovery.prr.is_some(),
            Phase::Recovery => self.scoreboard.snd_una < self.recovery.point,
            Phase::Loss => false,
        }
    }
}
