//! What a sender does when nothing comes: one deadline, for whichever comes first of a timeout, a probe of the tail, a
//! segment overdue and a closed window. Sources: RFC 6298, 5; RFC 8985, 7.2; RFC 9293, 3.8.6.1.

use shallop_control::Window;
use shallop_core::Time;

use super::loss::Detector;
use super::sender::{Errand, Repair, Sender, Stage};
use super::tail::Tail;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Timeout,
    Probe,
    Reorder,
    Closed,
}

impl<W: Window> Sender<W> {
    /// The receiver allows no segment, nothing is in flight that would make it say more.
    pub(super) fn is_shut_out(&self) -> bool {
        let fresh = self.board.fresh();
        self.board.una() == self.board.next() && !fresh.is_empty() && fresh.end > self.edge
    }

    /// The next deadline, the pace aside, and what it is for.
    pub(super) fn due(&self) -> Option<(Time, Alarm)> {
        let timeout = self.timer_from.saturating_add(self.rtt.timeout());
        if self.stage != Stage::Open {
            return (self.stage == Stage::Greeting).then_some((timeout, Alarm::Timeout));
        }
        if self.board.una() == self.board.next() {
            return self.is_shut_out().then_some((timeout, Alarm::Closed));
        }
        if self.reorder_due <= timeout {
            return Some((self.reorder_due, Alarm::Reorder));
        }
        let probing = matches!(self.detector, Detector::Rack(_))
            && self.repair == Repair::None
            && self.tail.is_idle()
            && self.board.beyond() == 0;
        if probing {
            let since = self.sent_at.max(self.timer_from);
            let alone = self.board.flying() <= self.board.segment();
            let due = Tail::due(since, &self.rtt, alone, self.ack_delay);
            return Some((due.min(timeout), Alarm::Probe));
        }
        Some((timeout, Alarm::Timeout))
    }

    /// Sets the deadline for the driver, if the one it knows is too late.
    pub(super) fn arm(&mut self, now: Time) {
        if let Some((due, _)) = self.due() {
            self.armed = self.armed.min(due.max(now));
        }
    }

    pub(super) fn sound(&mut self, now: Time, alarm: Alarm) {
        match alarm {
            Alarm::Timeout if self.stage == Stage::Greeting => {
                self.timeouts += 1;
                self.rtt.back_off();
                (self.errand, self.timer_from) = (Errand::Greet, now);
            }
            Alarm::Timeout => self.expire(now),
            Alarm::Probe => (self.tail.pending, self.timer_from) = (true, now),
            Alarm::Reorder => self.search(now),
            Alarm::Closed => {
                let shut = self.edge <= self.board.next();
                self.errand = if shut { Errand::Ask } else { Errand::Squeeze };
                self.rtt.back_off();
                self.timer_from = now;
            }
        }
    }

    /// Nothing came for a whole timeout: all that is in flight is taken for lost.
    fn expire(&mut self, now: Time) {
        let loss = self.congestion(now, self.board.flying() + self.board.lost());
        let first = self.expired_for != self.board.una();
        self.board.lose_all();
        self.rtt.back_off();
        self.timeouts += 1;
        self.window.on_rto(&loss, first);
        (self.point, self.timer_from) = (self.board.next(), now);
        self.expired_for = self.board.una();
        (self.repair, self.reduction, self.reorder_due) = (Repair::Timeout, None, Time::LAST);
        self.tell_reduced = true;
        self.tail.cancel();
        self.allow();
    }
}
