//! How losses are found: by counting, by order (RFC 6675) or by time (RACK-TLP, RFC 8985). Each works on the scoreboard
//! and gives the time at which it will know more, if it must wait.

use shallop_core::{Span, Time};

use super::config::Detection;
use super::news::{News, Sent};
use super::scoreboard::Scoreboard;
use crate::rtt::Rtt;

/// Duplicate acknowledgements that mean a loss.
const DUPLICATES: u32 = 3;
/// Recoveries after which the reordering window shrinks again.
const PERSISTENCE: u32 = 16;
/// The widest reordering window, in quarters of the shortest round trip: beyond that the smoothed one bounds it.
const WIDEST: u32 = 255;

/// A detector.
#[derive(Clone, Copy, Debug)]
pub enum Detector {
    /// By duplicate acknowledgements.
    DuplicateAcks(u32),
    /// By three segments acknowledged above.
    Sack,
    /// By time.
    Rack(Rack),
}

/// What a detector may know besides the scoreboard.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The time.
    pub now: Time,
    /// What the acknowledgement delivered.
    pub news: &'a News,
    /// Losses are being repaired.
    pub repairing: bool,
    /// Round-trip times.
    pub rtt: &'a Rtt,
}

impl Detector {
    /// The detector of a new flow.
    #[must_use]
    pub fn new(detection: Detection) -> Self {
        match detection {
            Detection::DuplicateAcks => Self::DuplicateAcks(0),
            Detection::Sack => Self::Sack,
            Detection::Rack => Self::Rack(Rack::default()),
        }
    }

    /// Marks what is lost. Gives the time at which more may be, if nothing else happens.
    pub fn detect(&mut self, scene: &Scene<'_>, board: &mut Scoreboard) -> Option<Time> {
        match self {
            Self::DuplicateAcks(count) => {
                if *count >= DUPLICATES && !scene.repairing {
                    board.lose(board.first());
                }
                None
            }
            Self::Sack => {
                let third = board.third_highest();
                board.lose_first_sent(|sent| sent.index < third);
                None
            }
            Self::Rack(rack) => rack.detect(scene, board),
        }
    }

    /// A duplicate acknowledgement without blocks.
    pub fn on_duplicate_ack(&mut self) {
        if let Self::DuplicateAcks(count) = self {
            *count = count.saturating_add(1);
        }
    }

    /// The cumulative acknowledgement advanced during a fast recovery that goes on.
    pub fn on_partial_ack(&mut self, board: &mut Scoreboard) {
        if matches!(self, Self::DuplicateAcks(_))
            && board.record(board.first()).is_some_and(|r| !r.again)
        {
            board.lose(board.first());
        }
    }

    /// The cumulative acknowledgement advanced outside of recovery, or ended it.
    pub fn on_progress(&mut self, board: &mut Scoreboard) {
        if let Self::DuplicateAcks(count) = self {
            *count = 0;
            board.forget_duplicates();
        }
    }
}

/// RACK: a segment is lost if one sent later was delivered, and if it is overdue by more than the path may reorder.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// The delivered transmission that was sent last.
    newest: Sent,
    /// How long its round trip, or that of the last one delivered, took.
    rtt: Span,
    /// The path was seen to reorder.
    reorders: bool,
    /// The reordering window, in quarters of the shortest round trip.
    quarters: u32,
    /// Recoveries without a needless retransmission after which the window is a quarter again.
    persists: u32,
    /// The window was widened and may not be again before this byte is acknowledged.
    widened: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        let newest = Sent { at: Time::ZERO, index: 0 };
        let (quarters, persists) = (1, PERSISTENCE);
        Self { newest, rtt: Span::ZERO, reorders: false, quarters, persists, widened: None }
    }
}

impl Rack {
    fn detect(&mut self, scene: &Scene<'_>, board: &mut Scoreboard) -> Option<Time> {
        self.reorders |= scene.news.reordered;
        if let Some(newest) = scene.news.newest {
            self.rtt = scene.now.saturating_since(newest.sent.at);
            self.newest = self.newest.max(newest.sent);
        }
        let patience = self.rtt + self.reordering_window(scene, board);
        let newest = self.newest;
        let overdue = |sent: Sent| sent < newest && sent.at + patience <= scene.now;
        let first = board.lose_first_sent(overdue);
        let again = board.lose_sent_again(overdue);
        let due = |sent: Option<Sent>| sent.filter(|&sent| sent < newest).map(|s| s.at + patience);
        [due(first), due(again)].into_iter().flatten().min()
    }

    fn reordering_window(&self, scene: &Scene<'_>, board: &Scoreboard) -> Span {
        if !self.reorders && (scene.repairing || board.beyond() > board.segment() * 2) {
            return Span::ZERO;
        }
        let quarters = u64::from(self.quarters);
        (scene.rtt.shortest() * quarters / 4).min(scene.rtt.smoothed())
    }

    /// Something was sent again that had arrived: the window was too narrow. Widens it once a round trip.
    pub fn on_needless(&mut self, una: u64, next: u64) {
        if self.widened.is_some_and(|until| una < until) {
            return;
        }
        self.widened = Some(next);
        self.quarters = (self.quarters + 1).min(WIDEST);
        self.persists = PERSISTENCE;
    }

    /// A recovery ended.
    pub fn on_recovery_exit(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            (self.quarters, self.persists) = (1, PERSISTENCE);
        }
    }
}
