//! The part of the scoreboard that exists only while data is missing: which bytes were selectively acknowledged, and
//! which segments are marked lost or were retransmitted. It is allocated on demand, since most flows never lose a
//! packet.

use super::{head::SACK_BLOCKS, segment::Transmission};
use crate::ranges::Ranges;
use std::{collections::VecDeque, ops::Range};

/// `DupThresh` of RFC 6675: a segment is lost if this many segments after it were selectively acknowledged.
pub const DUP_THRESH: usize = 3;

/// What is known about data after the cumulative acknowledgement, while some of it is missing.
#[derive(Clone, Debug, Default)]
pub struct LossState {
    pub sacked: Ranges,
    /// Indices of segments marked lost. The first queue has those that were never retransmitted, the second those whose
    /// retransmission was lost. Each queue is nearly in order of position.
    pub lost: [VecDeque<u64>; 2],
    /// Retransmissions in order of time. Entries at the front may be out of date.
    pub retransmissions: VecDeque<Transmission>,
    /// The number of segments in flight whose last transmission is a retransmission (kernel: `retrans_out`).
    pub retransmitted: u32,
    /// Indices of the highest segments that were selectively acknowledged, in descending order; zero where there are
    /// fewer.
    highest_sacked: [u64; DUP_THRESH],
    /// The SACK blocks that were processed last. Successive acknowledgements repeat them.
    recent_blocks: [Range<u64>; SACK_BLOCKS],
}

impl LossState {
    /// Records a SACK block. Returns false if one of the last acknowledgements had an identical block.
    pub fn is_new_block(&mut self, block: &Range<u64>) -> bool {
        if self.recent_blocks.contains(block) {
            return false;
        }
        self.recent_blocks.rotate_right(1);
        self.recent_blocks[0] = block.clone();
        true
    }

    /// Index of the highest segment that was selectively acknowledged; zero if there is none.
    pub fn highest_sacked(&self) -> u64 {
        self.highest_sacked[0]
    }

    /// Index of the third-highest segment (`DupThresh`) that was selectively acknowledged; zero if there are fewer.
    /// Everything missing before it is lost.
    pub fn dup_thresh_segment(&self) -> u64 {
        self.highest_sacked[DUP_THRESH - 1]
    }

    /// Adds a selectively acknowledged segment to the highest ones, if it is one of them.
    pub fn note_sacked(&mut self, index: u64) {
        let mut candidate = index;
        for highest in &mut self.highest_sacked {
            if candidate > *highest {
                std::mem::swap(&mut candidate, highest);
            }
        }
    }

    /// Index of the lowest segment marked lost, according to the fronts of both queues.
    pub fn first_lost(&self) -> Option<u64> {
        match (self.lost[0].front(), self.lost[1].front()) {
            (Some(&original), Some(&repeated)) => Some(original.min(repeated)),
            (original, repeated) => original.or(repeated).copied(),
        }
    }

    /// Forgets lost segments and retransmissions; everything in flight is then marked lost.
    pub fn clear_lost(&mut self) {
        self.lost.iter_mut().for_each(VecDeque::clear);
        self.retransmissions.clear();
        self.retransmitted = 0;
    }
}
