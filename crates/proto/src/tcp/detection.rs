//! Loss detection: by counting duplicate acknowledgements (RFC 5681 and 6582), by the scoreboard (`IsLost` of RFC
//! 6675), or by time (RACK, RFC 8985). Each method marks segments of the scoreboard lost, and returns when more
//! segments will be lost.

use shallop_core::Time;

use super::{
    ack_summary::DetectionInput, config::Detection, loss_state::DUP_THRESH, rack::Rack, scoreboard::Scoreboard,
};

#[derive(Clone, Copy, Debug)]
pub enum Detector {
    /// Losses are detected by duplicate acknowledgements, of which this many have arrived.
    DuplicateAcks(u32),
    /// A segment is lost if `DupThresh` segments after it are selectively acknowledged.
    Sack,
    /// Losses are detected by comparing the times at which segments were sent.
    Rack(Rack),
}

impl Detector {
    pub fn new(detection: Detection) -> Self {
        match detection {
            Detection::DuplicateAcks => Self::DuplicateAcks(0),
            Detection::Sack => Self::Sack,
            Detection::Rack => Self::Rack(Rack::default()),
        }
    }

    /// Marks segments lost. Returns when more segments will be lost if no acknowledgement arrives before.
    pub fn detect(&mut self, input: &DetectionInput<'_>, scoreboard: &mut Scoreboard) -> Option<Time> {
        match self {
            Self::DuplicateAcks(count) => {
                if *count as usize >= DUP_THRESH && !input.in_recovery {
                    scoreboard.mark_lost(scoreboard.first_index);
                }
                None
            }
            Self::Sack => {
                let threshold = scoreboard.dup_thresh_segment();
                scoreboard.mark_originals_lost(|transmission| transmission.index < threshold);
                None
            }
            Self::Rack(rack) => rack.detect(input, scoreboard),
        }
    }

    pub fn on_duplicate_ack(&mut self) {
        if let Self::DuplicateAcks(count) = self {
            *count = count.saturating_add(1);
        }
    }

    /// Marks the segment at SND.UNA lost after a partial acknowledgement: in fast recovery, SND.UNA advanced without
    /// ending recovery (RFC 6582, 3.2).
    pub fn on_partial_ack(&mut self, scoreboard: &mut Scoreboard) {
        let first = scoreboard.first_index;
        if matches!(self, Self::DuplicateAcks(_))
            && scoreboard.segment(first).is_some_and(|segment| !segment.retransmitted)
        {
            scoreboard.mark_lost(first);
        }
    }

    /// Forgets duplicate acknowledgements, because SND.UNA advanced outside of recovery or ended it.
    pub fn on_new_ack(&mut self, scoreboard: &mut Scoreboard) {
        if let Self::DuplicateAcks(count) = self {
            *count = 0;
            scoreboard.dupack_delivered = 0;
        }
    }

    pub fn rack_mut(&mut self) -> Option<&mut Rack> {
        if let Self::Rack(rack) = self { Some(rack) } else { None }
    }
}
