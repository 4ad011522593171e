//! The part of the scoreboard that exists only while data is missing: which bytes were selectively acknowledged, and
//! which segments are marked lost or were retransmitted. Allocated on demand, since most flows never lose a packet.

use std::collections::VecDeque;
use std::ops::Range;

use super::head::SACK_BLOCKS;
use super::segment::Transmission;
use crate::ranges::Ranges;

/// `DupThresh` of RFC 6675: a segment is lost if this many segments above it were selectively acknowledged.
pub const DUP_THRESH: usize = 3;

/// What is known about data above the cumulative acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct LossState {
    pub sacked: Ranges,
    /// Segments marked lost: first those that were never retransmitted, then those whose retransmission was lost. Each
    /// queue by itself is nearly in order of position.
    pub lost: [VecDeque<u64>; 2],
    /// Retransmissions in order of time. Entries at the front may be stale.
    pub retransmissions: VecDeque<Transmission>,
    /// Segments in flight whose last transmission is a retransmission (kernel: `retrans_out`).
    pub retransmitted: u32,
    /// The highest segments that were selectively acknowledged, in descending order; zero where there are fewer.
    highest_sacked: [u64; DUP_THRESH],
    /// The SACK blocks processed last, which successive acknowledgements repeat.
    recent_blocks: [Range<u64>; SACK_BLOCKS],
}

impl LossState {
    /// Records a SACK block. False if one of the last acknowledgements had the identical block.
    pub fn is_new_block(&mut self, block: &Range<u64>) -> bool {
        if self.recent_blocks.contains(block) {
            return false;
        }
        self.recent_blocks.rotate_right(1);
        self.recent_blocks[0] = block.clone();
        true
    }

    /// The highest segment that was selectively acknowledged; zero if there is none.
    pub fn highest_sacked(&self) -> u64 {
        self.highest_sacked[0]
    }

    /// The `DupThresh`-th highest segment that was selectively acknowledged; zero if there are fewer. Everything
    /// missing below it is lost.
    pub fn dup_thresh_segment(&self) -> u64 {
        self.highest_sacked[DUP_THRESH - 1]
    }

    /// Inserts a selectively acknowledged segment among the highest ones, if it is one of them.
    pub fn note_sacked(&mut self, index: u64) {
        let mut candidate = index;
        for highest in &mut self.highest_sacked {
            if candidate > *highest {
                std::mem::swap(&mut candidate, highest);
            }
        }
    }

    /// The lowest segment marked lost, by the fronts of both queues.
    pub fn first_lost(&self) -> Option<u64> {
        match (self.lost[0].front(), self.lost[1].front()) {
            (Some(&original), Some(&repeated)) => Some(original.min(repeated)),
            (original, repeated) => original.or(repeated).copied(),
        }
    }

    /// Forgets lost segments and retransmissions, before everything in flight is marked lost.
    pub fn clear_lost(&mut self) {
        self.lost.iter_mut().for_each(VecDeque::clear);
        self.retransmissions.clear();
        self.retransmitted = 0;
    }
}
