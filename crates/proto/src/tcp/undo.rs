//! Undo of spurious recoveries: a sender that repaired losses which did not happen gets back the congestion window and
//! slow-start threshold that it had before. Units: bytes of the stream; segments.
//!
//! Three observations show that a recovery was spurious. Eifel detection: an acknowledgement that advances SND.UNA
//! echoes a timestamp older than the first retransmission, so the original arrived. DSACK: all retransmissions were
//! reported as duplicates. F-RTO: after a timeout, a segment is acknowledged that was in flight at the timeout and was
//! not retransmitted since. A reduction for a congestion mark is never undone, nor one for a loss that coincided with a
//! mark.
//!
//! The rules are Linux's: `tcp_init_undo`, `tcp_packet_delayed`, `tcp_check_dsack`, `tcp_try_undo_recovery`,
//! `tcp_try_undo_partial`, `tcp_try_undo_dsack`, `tcp_try_undo_loss`, `tcp_process_loss`. Sources: RFC 2883; RFC 3522
//! and 4015; RFC 3708; RFC 5682, 3.1.

use super::sender::Sender;
use super::timestamp::{HORIZON, Timestamp};
use super::{ack_summary::AckSummary, config::Spurious, head::Head, recovery::Phase, scoreboard::Scoreboard};
use shallop_control::{Undo as Prior, Window};
use shallop_core::{Bytes, Time};
use std::ops::Range;

/// What an acknowledgement shows about the current recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    pub(super) now: Time,
    pub(super) tsecr: Timestamp,
    /// Whether the acknowledgement advanced SND.UNA.
    pub(super) advanced: bool,
    pub(super) summary: &'a AckSummary,
}

/// State of the current or the last recovery, for undo.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// SND.UNA when the recovery began (kernel: `undo_marker`); `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions that no DSACK has reported yet (kernel: `undo_retrans`); `None` before the first retransmission.
    without_dsack: Option<u32>,
    /// When the first retransmission was sent (kernel: `retrans_stamp`).
    first_retransmission: Option<Time>,
    /// Window and slow-start threshold before the reduction; `None` if the reduction must not be undone.
    prior: Option<Prior>,
    /// Segments that DSACKs reported, in all recoveries of the flow (kernel: `dsack_dups`).
    dsacks: u32,
    /// The number of recoveries that were undone, in the whole flow.
    undos: u32,
    /// Whether F-RTO is in progress (kernel: `frto`).
    frto: bool,
}

impl Episode {
    /// Begins a recovery at `snd_una`. `retransmitted` segments are in flight for which a DSACK may still arrive.
    fn begin(&mut self, snd_una: u64, retransmitted: u32, prior: Option<Prior>) {
        self.marker = Some(snd_una);
        self.without_dsack = (retransmitted > 0).then_some(retransmitted);
        self.prior = prior;
    }

    fn is_all_duplicate(&self) -> bool {
        self.marker.is_some() && self.without_dsack == Some(0)
    }
}

/// Everything that a sender stores to undo spurious recoveries.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    config: Spurious,
    /// Whether retransmissions wait for the next acknowledgement, which may show that they are unnecessary. New
    /// segments do not wait.
    pub(super) hold_retransmissions: bool,
    /// The current or the last recovery; `None` for most flows, which never have one.
    episode: Option<Box<Episode>>,
}

impl Undo {
    pub(super) const fn new(config: Spurious) -> Self {
        Self { config, hold_retransmissions: false, episode: None }
    }

    /// `TSval` of a segment sent at `now`; zero without timestamps.
    pub(super) const fn tsval(&self, now: Time) -> Timestamp {
        if self.config.timestamps { Timestamp::at(now) } else { Timestamp(0) }
    }

    /// `TSecr` of an acknowledgement; `None` without timestamps.
    pub(super) fn tsecr(&self, head: &Head) -> Option<Timestamp> {
        self.config.timestamps.then_some(head.timestamp)
    }

    pub(super) fn undos(&self) -> u32 {
        self.episode.as_ref().map_or(0, |episode| episode.undos)
    }

    /// The number of spurious retransmissions, as DSACKs reported them. `retransmits` is the number of all
    /// retransmissions.
    pub(super) fn spurious_retransmits(&self, retransmits: u64) -> u64 {
        let dsacks = self.episode.as_ref().map_or(0, |episode| episode.dsacks);
        u64::from(dsacks).min(retransmits)
    }

    /// Forgets the last recovery, so that it is not undone: the window is reduced for another reason, which stays
    /// valid.
    pub(super) fn forget(&mut self) {
        if let Some(episode) = &mut self.episode {
            episode.marker = None;
        }
    }

    pub(super) fn on_retransmission(&mut self, now: Time) {
        if self.config.is_on() {
            let episode = self.episode.get_or_insert_default();
            episode.without_dsack = Some(episode.without_dsack.unwrap_or(0).saturating_add(1));
            episode.first_retransmission.get_or_insert(now);
        }
    }

    /// Processes a DSACK of this many segments; `retransmits` were retransmitted in the flow. Returns false if more
    /// were reported than retransmitted: then the network duplicates packets, and DSACKs prove nothing.
    fn on_dsack(&mut self, segments: u32, retransmits: u64) -> bool {
        if !self.config.is_on() {
            return true;
        }
        let episode = self.episode.get_or_insert_default();
        episode.dsacks = episode.dsacks.saturating_add(segments);
        u64::from(episode.dsacks) <= retransmits
    }

    fn is_all_duplicate(&self) -> bool {
        self.config.dsack && self.episode.as_ref().is_some_and(|episode| episode.is_all_duplicate())
    }

    /// Whether a first transmission advanced SND.UNA: nothing was retransmitted yet, or the echoed timestamp is older
    /// than the first retransmission (kernel: `tcp_packet_delayed`).
    fn is_original_acked(&self, evidence: &Evidence<'_>) -> bool {
        let Some(episode) = &self.episode else { return false };
        let original = episode.first_retransmission.is_none_or(|first| {
            self.config.timestamps
                && evidence.now.saturating_since(first) < HORIZON
                && evidence.tsecr.is_before(Timestamp::at(first))
        });
        episode.marker.is_some() && evidence.advanced && original
    }

    /// Whether timestamps or DSACKs show that the recovery is spurious (kernel: `tcp_may_undo`).
    fn is_spurious(&self, evidence: &Evidence<'_>) -> bool {
        self.is_all_duplicate() || self.is_original_acked(evidence)
    }

    fn is_frto(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.frto)
    }

    fn set_frto(&mut self, frto: bool) {
        if let Some(episode) = &mut self.episode {
            episode.frto = frto;
        }
    }
}

impl<W: Window> Sender<W> {
    /// Window and slow-start threshold to which an undo would return.
    fn prior(&self) -> Prior {
        let prior_cwnd = self.controller.window();
        let ssthresh = self.controller.slow_start_threshold();
        // Outside of a reduction, the window may have grown far beyond the threshold (kernel: `tcp_current_ssthresh`).
        let reducing = self.recovery.prr.is_some() || self.recovery.phase == Phase::Recovery;
        let grown = Bytes::new(if reducing { 0 } else { prior_cwnd.get() / 4 * 3 });
        Prior { prior_cwnd, prior_ssthresh: ssthresh.max(grown) }
    }

    /// Stores what is needed to undo the fast recovery that is about to begin. It must not be undone if a congestion
    /// mark requires a reduction as well: one in the same round trip, or on the acknowledgement that showed the loss
    /// (`marked`).
    #[cold]
    #[inline(never)]
    pub(super) fn prepare_undo(&mut self, marked: bool) {
        if self.undo.config.is_on() {
            let snd_una = self.scoreboard.snd_una;
            let required = marked || snd_una < self.ecn.reduced_until;
            let prior = (!required).then(|| self.prior());
            let episode = self.undo.episode.get_or_insert_default();
            episode.begin(snd_una, self.scoreboard.retransmitted(), prior);
            episode.frto = false;
        }
    }

    /// Stores what is needed to undo the recovery after a timeout; `first` is false if the timer had expired for this
    /// SND.UNA before. F-RTO begins, unless the timeout interrupts fast recovery (RFC 5682, 3.1, step 1); then an undo
    /// of the timeout also undoes the fast recovery.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare_timeout_undo(&mut self, first: bool) {
        if self.undo.config.is_on() {
            let (phase, snd_una) = (self.recovery.phase, self.scoreboard.snd_una);
            let open = phase == Phase::Open;
            let prior = self.prior();
            let episode = self.undo.episode.get_or_insert_default();
            if open || snd_una >= self.recovery.point || (phase == Phase::Loss && first) {
                let probe = self.recovery.tlp.is_retransmission_in_flight();
                episode.begin(snd_una, u32::from(probe), Some(prior));
            }
            episode.frto = self.undo.config.frto && (open || !first);
            self.undo.hold_retransmissions = false;
        }
    }

    /// Processes the DSACK of an acknowledgement, if there is one. `prior_una` is SND.UNA before the acknowledgement.
    pub(super) fn process_dsack(&mut self, head: &Head, prior_una: u64) {
        if let Some(dsack) = head.dsack() {
            self.on_dsack(&dsack, prior_una);
        }
    }

    #[cold]
    #[inline(never)]
    fn on_dsack(&mut self, dsack: &Range<u64>, prior_una: u64) {
        let segments = (dsack.end - dsack.start).div_ceil(self.scoreboard.mss);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        if !self.undo.on_dsack(segments, self.counts.retransmits) {
            return;
        }
        let (snd_una, snd_nxt) = (self.scoreboard.snd_una, self.scoreboard.snd_nxt);
        if let Some(rack) = self.recovery.detector.rack_mut() {
            rack.on_dsack(snd_una, snd_nxt);
        }
        let Some(episode) = &mut self.undo.episode else { return };
        let retransmitted = dsack.end <= prior_una || was_retransmitted(&self.scoreboard, dsack);
        if retransmitted && episode.marker.is_some_and(|marker| marker < dsack.end) {
            let left = episode.without_dsack.map(|left| left.saturating_sub(segments));
            episode.without_dsack = left;
        }
    }

    /// Ends recovery if everything is acknowledged that was in flight at its start, and undoes it if it was spurious.
    /// Returns false if losses must not be detected before the next acknowledgement.
    pub(super) fn update_recovery(&mut self, evidence: &Evidence<'_>) -> bool {
        self.undo.hold_retransmissions = false;
        let ended = evidence.advanced && self.scoreboard.snd_una >= self.recovery.point;
        match self.recovery.phase {
            Phase::Open => self.update_open(evidence.advanced),
            Phase::Recovery if ended => {
                let spurious = self.undo.is_spurious(evidence);
                if spurious && let Some(rack) = self.recovery.detector.rack_mut() {
                    rack.on_spurious_recovery();
                }
                self.end_recovery(evidence.now, spurious);
            }
            Phase::Recovery => return self.update_fast_recovery(evidence),
            Phase::Loss => self.update_loss_recovery(evidence, ended),
        }
        true
    }

    /// Processes an acknowledgement outside of recovery: a gradual reduction for a mark may end, and DSACKs may show
    /// that the last recovery was spurious.
    fn update_open(&mut self, advanced: bool) {
        if advanced {
            let (snd_una, recovery) = (self.scoreboard.snd_una, &mut self.recovery);
            recovery.detector.on_new_ack(&mut self.scoreboard);
            recovery.prr = recovery.prr.take().filter(|_| snd_una < self.ecn.reduced_until);
        }
        if self.undo.is_all_duplicate() {
            self.undo_reduction();
            self.note_dsack_undo();
        } else if let Some(episode) = &mut self.undo.episode
            && self.scoreboard.retransmitted() == 0
        {
            episode.first_retransmission = None;
        }
    }

    /// Processes an acknowledgement in fast recovery that does not end it. If it acknowledges a first transmission, the
    /// path reorders by more than RACK allowed for. The undo waits until no retransmission is in flight, and until then
    /// only new segments are sent (kernel: `tcp_try_undo_partial`). Returns as [`Self::update_recovery`].
    #[cold]
    #[inline(never)]
    fn update_fast_recovery(&mut self, evidence: &Evidence<'_>) -> bool {
        if evidence.advanced {
            self.recovery.detector.on_partial_ack(&mut self.scoreboard);
        }
        if self.undo.is_original_acked(evidence) {
            if let Some(rack) = self.recovery.detector.rack_mut() {
                rack.on_spurious_recovery();
            }
            if self.scoreboard.retransmitted() > 0 {
                self.undo.hold_retransmissions = true;
                return false;
            }
            self.scoreboard.unmark_lost();
            self.undo_recovery(evidence.now);
        } else if self.undo.is_all_duplicate() {
            self.undo_recovery(evidence.now);
            self.note_dsack_undo();
        }
        true
    }

    /// Processes an acknowledgement in recovery after a timeout: F-RTO decides whether the timeout was spurious. Steps
    /// are those of RFC 5682, 3.1.
    #[cold]
    #[inline(never)]
    fn update_loss_recovery(&mut self, evidence: &Evidence<'_>, ended: bool) {
        let (point, summary) = (self.recovery.point, evidence.summary);
        // Step 3b, also taken in step 2: a segment was acknowledged that was in flight at the timeout and was not
        // retransmitted.
        let is_before_timeout = |index| self.scoreboard.body(index).end <= point;
        let original = summary.first_original.is_some_and(is_before_timeout);
        let spurious = evidence.advanced && self.undo.is_spurious(evidence);
        if spurious || (self.undo.is_frto() && original) {
            self.scoreboard.unmark_lost();
            return self.undo_recovery(evidence.now);
        }
        if self.undo.is_frto() {
            if self.scoreboard.snd_nxt > point {
                // Step 3a: new data was selectively acknowledged, but nothing that was in flight at the timeout.
                self.undo.set_frto(!summary.sacked);
            } else if evidence.advanced && !ended {
                // Step 2b: new data is sent, if there is any, instead of more retransmissions.
                self.undo.hold_retransmissions = self.has_new_data();
                self.undo.set_frto(self.undo.hold_retransmissions);
            }
        }
        if ended {
            self.end_recovery(evidence.now, false);
        }
    }

    /// Ends a recovery, because everything is acknowledged that was in flight at its start.
    #[cold]
    #[inline(never)]
    fn end_recovery(&mut self, now: Time, spurious: bool) {
        self.recovery.detector.on_new_ack(&mut self.scoreboard);
        if spurious {
            self.undo_reduction();
        } else {
            if let Some(rack) = self.recovery.detector.rack_mut() {
                rack.on_recovery_exit();
            }
            self.recovery.again = self.recovery.kernel_habits && self.scoreboard.retransmitted() > 0;
        }
        self.recovery.exit();
        self.controller.on_recovery_exit(now);
    }

    /// Ends a recovery, because it was spurious.
    #[cold]
    #[inline(never)]
    fn undo_recovery(&mut self, now: Time) {
        self.undo_reduction();
        self.recovery.exit_spurious(self.scoreboard.snd_una);
        self.controller.on_recovery_exit(now);
    }

    /// Gives the controller its previous window and threshold (kernel: `tcp_undo_cwnd_reduction`), and cancels CWR.
    #[cold]
    #[inline(never)]
    fn undo_reduction(&mut self) {
        self.recovery.prr = None;
        self.undo.hold_retransmissions = false;
        let Some(episode) = &mut self.undo.episode else { return };
        (episode.marker, episode.frto) = (None, false);
        episode.undos += 1;
        if let Some(prior) = episode.prior.take() {
            self.controller.on_undo(&prior);
            self.ecn.send_cwr = false;
        }
    }

    fn note_dsack_undo(&mut self) {
        if let Some(rack) = self.recovery.detector.rack_mut() {
            rack.on_dsack_undo();
        }
    }
}

/// Whether the segment at the start of `bytes` may have been retransmitted: true unless the scoreboard shows that it
/// was sent only once.
fn was_retransmitted(scoreboard: &Scoreboard, bytes: &Range<u64>) -> bool {
    let segment = scoreboard.segment(bytes.start / scoreboard.mss);
    segment.is_none_or(|segment| segment.retransmitted)
}
