//! How the sender processes an acknowledgement: first the scoreboard, then recovery and loss detection, then the
//! controller, then what may be sent. Sources: RFC 5681, 3.2; RFC 6675, 5; RFC 8985, 6.2; RFC 9937; RFC 3168, 6.1.2.

use super::ack_summary::{AckSummary, DetectionInput};
use super::detection::Detector;
use super::head::{Flags, Head, SackBlock};
use super::prr::{Delivered, Prr};
use super::{recovery::Phase, sender::Sender, undo::Evidence};
use shallop_control::{Ack, Window};
use shallop_core::{Bytes, Time};

/// The sender's state before an acknowledgement was processed, in bytes.
#[derive(Clone, Copy, Debug)]
struct Before {
    snd_una: u64,
    pipe: u64,
    /// Bytes marked lost since the start of the flow.
    total_lost: u64,
}

/// What was known when losses were detected.
#[derive(Clone, Copy, Debug)]
struct LossEvent {
    /// Bytes in flight before the acknowledgement that showed the losses.
    pipe: u64,
    /// Bytes delivered by the acknowledgement that showed the losses.
    delivered: u64,
    /// Whether the acknowledgement that showed the losses echoed a congestion mark.
    marked: bool,
}

impl<W: Window> Sender<W> {
    /// Processes the acknowledgement of the SYN, which gives a round-trip sample unless the SYN was retransmitted
    /// (Karn's rule).
    pub(super) fn on_syn_ack(&mut self, now: Time, head: &Head) {
        self.limits.right_edge = head.right_edge();
        if self.counts.timeouts == 0 {
            let rtt = now.saturating_since(self.timers.last_sent);
            self.rtt.sample(rtt);
            self.rtt_sample = Some(rtt);
            self.controller.on_handshake(now, rtt);
            self.update_limits();
        }
        self.rtt.reset_backoff();
        self.timers.rto_start = now;
    }

    pub(super) fn on_ack(&mut self, now: Time, head: &Head) {
        let before = self.before();
        let snd_nxt = self.scoreboard.snd_nxt;
        if !head.flags.has(Flags::ACK) || head.ack < before.snd_una || head.ack > snd_nxt {
            return;
        }
        let min_rtt = self.rtt.min_rtt();
        let mut summary = AckSummary::new(now, min_rtt);
        summary.tsecr = self.undo.tsecr(head);
        self.scoreboard.ack_cumulative(head.ack, &mut summary);
        summary.tsecr = None;
        let advanced = self.scoreboard.snd_una > before.snd_una;
        self.process_sack(head, advanced, &mut summary);
        self.limits.right_edge = head.right_edge();
        self.connection.tsecr = head.tsval_of_ack();
        self.update_rtt(now, &summary);
        if advanced {
            self.rtt.reset_backoff();
            self.timers.rto_start = now;
        }
        let (rate_sample, round_start) = self.delivery_rate.on_ack(now, &summary, self.rtt.min_rtt());
        self.process_dsack(head, before.snd_una);
        self.process_probe(now, head, summary.delivered == 0);
        let evidence = Evidence { now, tsecr: head.timestamp, advanced, summary: &summary };
        if self.update_recovery(&evidence) {
            self.detect_losses(now, &summary);
        } else {
            self.timers.reordering = Time::LAST;
            self.scoreboard.prune();
        }
        let (delivered, ece) = (summary.delivered, head.flags.has(Flags::ECE));
        self.enter_recovery(now, &LossEvent { pipe: before.pipe, delivered, marked: ece });
        if delivered > 0 {
            let marked = Bytes::new(if ece { delivered } else { 0 });
            let ack = self.controller_ack(now, &before, delivered);
            self.controller.on_ack(&Ack { marked, rate_sample, round_start, ..ack });
        }
        if ece {
            self.on_mark(now, &before, delivered);
        }
        let no_new_loss = self.scoreboard.total_lost == before.total_lost;
        self.update_prr(delivered, advanced && no_new_loss);
        self.update_limits();
        if self.overflows_host() {
            // Kernel: `tcp_enter_cwr` in `__tcp_transmit_skb`.
            self.on_mark(now, &before, delivered);
            self.update_limits();
        }
        self.plan_bursts(now);
        self.note_app_limited();
    }

    fn before(&self) -> Before {
        let (snd_una, pipe) = (self.scoreboard.snd_una, self.scoreboard.pipe());
        Before { snd_una, pipe, total_lost: self.scoreboard.total_lost }
    }

    /// Takes round-trip samples from an acknowledgement. Of the segments that it covers, the first that was sent gives
    /// the sample for the RTO, which includes the delay of the acknowledgement; the last gives the sample for the
    /// minimum and the controller.
    fn update_rtt(&mut self, now: Time, summary: &AckSummary) {
        if let Some((earliest, latest)) = summary.send_times {
            self.rtt.sample(now.saturating_since(earliest));
            self.rtt.note_min(now.saturating_since(latest));
            self.rtt_sample = Some(now.saturating_since(latest));
        }
    }

    /// Processes SACK blocks in ascending order, so that a segment counts as reordered only if an earlier
    /// acknowledgement reported one after it. Without SACK, counts duplicate acknowledgements.
    fn process_sack(&mut self, head: &Head, advanced: bool, summary: &mut AckSummary) {
        if matches!(self.recovery.detector, Detector::DuplicateAcks(_)) {
            if !advanced && self.scoreboard.snd_una < self.scoreboard.snd_nxt {
                self.recovery.detector.on_duplicate_ack();
                self.scoreboard.add_dupack(summary);
            }
        } else if head.blocks[0] != SackBlock::default() {
            let mut blocks = head.blocks;
            if head.dsack().is_some() {
                blocks[0] = SackBlock::default();
            }
            blocks.sort_unstable_by_key(|block| block.from);
            for block in blocks {
                self.scoreboard.ack_selective(&block.range(head.ack), summary);
            }
        }
    }

    /// Reduces the window once, without recovery, if a tail loss probe repaired a loss that nothing else shows (RFC
    /// 8985, 7.4.2).
    fn process_probe(&mut self, now: Time, head: &Head, delivered_nothing: bool) {
        if matches!(self.recovery.detector, Detector::Rack(_))
            && self.recovery.tlp.on_ack(head, delivered_nothing)
            && self.recovery.is_open()
        {
            self.controller.on_loss(&self.congestion(now, self.scoreboard.pipe()));
            self.controller.on_recovery_exit(now);
            self.recovery.point = self.scoreboard.snd_nxt;
            self.undo.forget();
            self.ecn.send_cwr = true;
        }
    }

    fn detect_losses(&mut self, now: Time, summary: &AckSummary) {
        let in_recovery = !self.recovery.is_open();
        let input = DetectionInput { now, summary, in_recovery, rtt: &self.rtt };
        let retransmitted = self.scoreboard.retransmitted();
        let due = self.recovery.detector.detect(&input, &mut self.scoreboard);
        // Kernel: `FLAG_LOST_RETRANS` in `tcp_fastretrans_alert`.
        let lost_again = self.scoreboard.retransmitted() < retransmitted;
        self.recovery.again |= self.recovery.kernel_habits && self.recovery.phase == Phase::Loss && lost_again;
        self.timers.reordering = due.unwrap_or(Time::LAST);
        self.scoreboard.prune();
    }

    /// Marks segments lost, because RACK's reordering timer has expired.
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        let pipe = self.scoreboard.pipe();
        self.detect_losses(now, &AckSummary::new(now, self.rtt.min_rtt()));
        if self.enter_recovery(now, &LossEvent { pipe, delivered: 0, marked: false }) {
            // Kernel: `tcp_rack_reo_timeout`, which counts a segment as delivered.
            self.update_prr(if self.recovery.kernel_habits { self.scoreboard.mss } else { 0 }, false);
        }
        self.update_limits();
    }

    /// Enters fast recovery if segments are marked lost and no recovery is in progress. Returns whether it did.
    fn enter_recovery(&mut self, now: Time, event: &LossEvent) -> bool {
        let again = std::mem::take(&mut self.recovery.again);
        let enters = match self.recovery.phase {
            Phase::Open => again || self.scoreboard.lost > 0,
            Phase::Loss => again,
            Phase::Recovery => false,
        };
        if enters {
            self.begin_recovery(now, event);
        }
        enters
    }

    #[cold]
    #[inline(never)]
    fn begin_recovery(&mut self, now: Time, event: &LossEvent) {
        self.prepare_undo(event.marked);
        self.controller.on_loss(&self.congestion(now, event.pipe));
        // Linux continues the reduction for a mark, which ends where it would have ended (`tcp_enter_recovery`).
        let continues = self.recovery.kernel_habits && self.recovery.prr.is_some();
        let point = if continues { self.ecn.reduced_until } else { self.scoreboard.snd_nxt };
        self.recovery.enter_recovery(point);
        self.ecn.send_cwr = true;
        if !continues {
            self.recovery.prr = self.new_prr(event.delivered);
        }
    }

    /// Begins proportional rate reduction with an acknowledgement of `delivered` bytes. `None` if the controller sets
    /// its window in recovery itself.
    fn new_prr(&self, delivered: u64) -> Option<Prr> {
        let recover_fs = self.scoreboard.pipe() + self.scoreboard.lost + delivered;
        let prior_cwnd = self.limits.cwnd;
        let begin = || if self.recovery.kernel_habits { Prr::linux(prior_cwnd) } else { Prr::new(recover_fs) };
        (!self.controller.owns_recovery()).then(begin)
    }

    /// Processes an echoed congestion mark. The window is reduced once for each window of data, and not if it was
    /// reduced for a loss in that window (RFC 3168, 6.1.2).
    fn on_mark(&mut self, now: Time, before: &Before, delivered: u64) {
        let reduced_until = self.ecn.reduced_until.max(self.recovery.point);
        if !self.recovery.is_open() || before.snd_una < reduced_until {
            return;
        }
        self.controller.on_mark(&self.congestion(now, before.pipe));
        self.undo.forget();
        (self.ecn.reduced_until, self.ecn.send_cwr) = (self.scoreboard.snd_nxt, true);
        if self.ecn.config.ecn_gradual && self.scoreboard.snd_una < self.scoreboard.snd_nxt {
            self.recovery.prr = self.new_prr(delivered);
        }
    }

    /// Continues proportional rate reduction, if it is in progress. `safe` is `SafeACK` of RFC 9937.
    fn update_prr(&mut self, delivered: u64, safe: bool) {
        if let Some(prr) = &mut self.recovery.prr {
            let (mss, linux, pipe) = (self.scoreboard.mss, self.recovery.kernel_habits, self.scoreboard.pipe());
            let ack = Delivered { mss, linux, delivered, pipe, safe };
            prr.on_ack(&ack, self.controller.window().get());
        }
    }

    /// The controller's facts about an acknowledgement, except marks, rate sample and start of a round trip.
    fn controller_ack(&mut self, now: Time, before: &Before, delivered: u64) -> Ack {
        let (snd_una, snd_nxt) = (self.scoreboard.snd_una, self.scoreboard.snd_nxt);
        let prior = self.connection.prior_bytes;
        let lost = self.recovery.take_unreported_lost(self.scoreboard.total_lost);
        let in_slow_start = self.limits.cwnd < self.controller.slow_start_threshold().get();
        Ack {
            now,
            acked_sacked: Bytes::new(delivered),
            losses: Bytes::new(lost),
            marked: Bytes::ZERO,
            delivered: Bytes::new(self.delivery_rate.delivered),
            rtt: self.rtt_sample,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min_rtt(),
            rate_sample: None,
            prior_in_flight: Bytes::new(before.pipe),
            in_flight: Bytes::new(self.scoreboard.pipe()),
            is_cwnd_limited: self.limits.is_cwnd_limited(before.snd_una)
                || (self.recovery.kernel_habits && in_slow_start && self.limits.is_half_used()),
            snd_una_advance: Bytes::new(snd_una - before.snd_una),
            round_start: false,
            in_cwnd_reduction: self.recovery.prr.is_some() || self.recovery.phase == Phase::Recovery,
            snd_una: prior + snd_una,
            snd_nxt: prior + snd_nxt,
        }
    }
}
