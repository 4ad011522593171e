//! What an acknowledgement does to a sender: the scoreboard first, then what was lost, then the controller, then how
//! much may leave. Sources: RFC 5681, 3.2; RFC 6675, 5; RFC 8985, 6.2; RFC 9937; RFC 3168, 6.1.2.

use shallop_control::{Ack, Window};
use shallop_core::{Bytes, Time};

use super::head::{Flags, Head};
use super::loss::{Detector, Scene};
use super::news::News;
use super::recovery::{Delivery, Reduction};
use super::sender::{Repair, Sender};

/// How things stood before an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Before {
    una: u64,
    flying: u64,
    losses: u64,
}

impl<W: Window> Sender<W> {
    pub(super) fn on_answer_to_greeting(&mut self, now: Time, head: &Head) {
        self.edge = head.edge();
        if self.timeouts == 0 {
            let rtt = now.saturating_since(self.sent_at);
            self.rtt.sample(rtt);
            self.measured = Some(rtt);
            self.window.on_handshake(now, rtt);
            self.allow();
        }
        self.rtt.recover();
        self.timer_from = now;
    }

    pub(super) fn on_ack(&mut self, now: Time, head: &Head) {
        let before = self.before();
        if !head.flags.has(Flags::ACK) || head.ack < before.una || head.ack > self.board.next() {
            return;
        }
        let mut news = News::new(now, self.rtt.shortest());
        self.board.acknowledge(head.ack, &mut news);
        let advanced = self.board.una() > before.una;
        self.read_blocks(head, advanced, &mut news);
        self.edge = head.edge();
        if let Some((first, last)) = news.once {
            self.rtt.sample(now.saturating_since(first));
            self.rtt.notice(now.saturating_since(last));
            self.measured = Some(now.saturating_since(last));
        }
        if advanced {
            self.rtt.recover();
            self.timer_from = now;
        }
        let (rate, round_start) = self.delivery.on_ack(now, &news, self.rtt.shortest());
        self.read_probe(now, head, news.bytes == 0);
        self.end_repair(now, advanced);
        self.detect(now, &news);
        self.begin_repair(now, before.flying, news.bytes);
        if news.bytes > 0 {
            let marked = if head.flags.has(Flags::ECE) { news.bytes } else { 0 };
            let facts = self.facts(now, &before, &news);
            self.losses_told = self.board.losses();
            self.window.on_ack(&Ack { marked: Bytes::new(marked), rate, round_start, ..facts });
        }
        if head.flags.has(Flags::ECE) {
            self.on_mark(now, &before, news.bytes);
        }
        self.reduce(&news, advanced && self.board.losses() == before.losses);
        self.allow();
        self.note_drought();
    }

    fn before(&self) -> Before {
        let (una, flying) = (self.board.una(), self.board.flying());
        Before { una, flying, losses: self.board.losses() }
    }

    /// Takes in what the head says of segments beyond the gap, lowest first: a segment below another counts as
    /// reordered only if it was told of later.
    fn read_blocks(&mut self, head: &Head, advanced: bool, news: &mut News) {
        if matches!(self.detector, Detector::DuplicateAcks(_)) {
            if !advanced && self.board.una() < self.board.next() {
                self.detector.on_duplicate_ack();
                self.board.acknowledge_somewhere(news);
            }
        } else if head.blocks[0].to > 0 {
            let mut blocks = head.blocks;
            blocks.sort_unstable_by_key(|block| block.from);
            for block in blocks {
                self.board.acknowledge_beyond(&block.range(head.ack), news);
            }
        }
    }

    /// Reads what the acknowledgement says of retransmissions that were not needed, and of a probe of the tail.
    fn read_probe(&mut self, now: Time, head: &Head, plain: bool) {
        let (una, next) = (self.board.una(), self.board.next());
        if let Detector::Rack(rack) = &mut self.detector {
            if head.flags.has(Flags::DUPLICATE) {
                rack.on_needless(una, next);
            }
            if self.tail.on_ack(head, plain) && self.repair == Repair::None {
                // The probe repaired a loss that shows nowhere else: one reduction, and nothing to recover.
                self.window.on_loss(&self.congestion(now, self.board.flying()));
                self.window.on_recovery_exit(now);
                (self.point, self.tell_reduced) = (next, true);
            }
        }
    }

    /// Marks what is lost.
    fn detect(&mut self, now: Time, news: &News) {
        let repairing = self.repair != Repair::None;
        let scene = Scene { now, news, repairing, rtt: &self.rtt };
        self.reorder_due = self.detector.detect(&scene, &mut self.board).unwrap_or(Time::LAST);
        self.board.tidy();
    }

    /// The time has come at which segments that might have been reordered count as lost.
    pub(super) fn search(&mut self, now: Time) {
        let flying = self.board.flying();
        self.detect(now, &News::new(now, self.rtt.shortest()));
        if self.begin_repair(now, flying, 0) {
            self.reduce(&News::new(now, self.rtt.shortest()), false);
        }
        self.allow();
    }

    /// Ends a repair, or a gradual reduction, when all that was in flight when it began is acknowledged.
    fn end_repair(&mut self, now: Time, advanced: bool) {
        if !advanced {
            return;
        }
        let una = self.board.una();
        match self.repair {
            Repair::Fast if una < self.point => self.detector.on_partial_ack(&mut self.board),
            Repair::Timeout if una < self.point => {}
            Repair::None => {
                self.detector.on_progress(&mut self.board);
                self.reduction = self.reduction.take().filter(|_| una < self.marked_until);
            }
            Repair::Fast | Repair::Timeout => {
                self.detector.on_progress(&mut self.board);
                if let Detector::Rack(rack) = &mut self.detector {
                    rack.on_recovery_exit();
                }
                (self.repair, self.reduction) = (Repair::None, None);
                self.window.on_recovery_exit(now);
            }
        }
    }

    /// Begins to repair losses, if there are any and nothing is being repaired. True if so.
    fn begin_repair(&mut self, now: Time, flying: u64, delivered: u64) -> bool {
        if self.repair != Repair::None || self.board.lost() == 0 {
            return false;
        }
        self.window.on_loss(&self.congestion(now, flying));
        (self.repair, self.point, self.rescued) = (Repair::Fast, self.board.next(), false);
        self.tell_reduced = true;
        self.tail.cancel();
        self.reduction = self.new_reduction(delivered);
        true
    }

    /// A reduction of what is in flight, with what the present acknowledgement delivered; none for a controller that
    /// sees to it itself.
    fn new_reduction(&self, delivered: u64) -> Option<Reduction> {
        let at_start = self.board.flying() + self.board.lost() + delivered;
        (!self.window.owns_recovery()).then(|| Reduction::new(at_start, self.board.segment()))
    }

    /// A mark was echoed: the window shrinks, once for each window of data, unless it has for a loss in it.
    fn on_mark(&mut self, now: Time, before: &Before, delivered: u64) {
        let answered = self.marked_until.max(self.point);
        if self.repair != Repair::None || before.una < answered {
            return;
        }
        self.window.on_mark(&self.congestion(now, before.flying));
        self.marked_until = self.board.next();
        self.tell_reduced = true;
        if self.marks.gradual && self.board.una() < self.marked_until {
            self.reduction = self.new_reduction(delivered);
        }
    }

    /// Moves a reduction on.
    fn reduce(&mut self, news: &News, safe: bool) {
        if let Some(reduction) = &mut self.reduction {
            let in_flight = self.board.flying();
            let delivery = Delivery { delivered: news.bytes, in_flight, safe };
            reduction.on_ack(&delivery, self.window.window().get());
        }
    }

    /// What the controller is told.
    fn facts(&self, now: Time, before: &Before, news: &News) -> Ack {
        Ack {
            now,
            acked: Bytes::new(news.bytes),
            lost: Bytes::new(self.board.losses() - self.losses_told),
            marked: Bytes::ZERO,
            delivered: Bytes::new(self.delivery.delivered()),
            rtt: self.measured,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.shortest(),
            rate: None,
            flight_before: Bytes::new(before.flying),
            in_flight: Bytes::new(self.board.flying()),
            window_limited: before.una < self.limited_until,
            advanced: Bytes::new(self.board.una() - before.una),
            round_start: false,
            recovering: self.reduction.is_some() || self.repair == Repair::Fast,
            una: self.earlier + self.board.una(),
            next: self.earlier + self.board.next(),
        }
    }
}
