//! What a sender knows beyond the first gap: which bytes were received, which segments are to be sent again and which
//! were. Kept apart from the scoreboard because most flows never need it.

use std::collections::VecDeque;
use std::ops::Range;

use super::head::BLOCKS;
use super::news::Sent;
use crate::ranges::Ranges;

/// What is known beyond the first gap.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    /// Bytes received.
    pub received: Ranges,
    /// Segments lost, first transmissions and later ones apart: each queue is nearly in order of place.
    pub lost: [VecDeque<u64>; 2],
    /// Transmissions after the first, in order of time.
    pub repeated: VecDeque<Sent>,
    /// The three highest segments received, the highest first; 0 for none.
    top: [u64; 3],
    /// The blocks read last: acknowledgements repeat them.
    read: [Range<u64>; BLOCKS],
}

impl Holes {
    /// False if this very block was read a moment ago.
    pub fn is_news(&mut self, block: &Range<u64>) -> bool {
        if self.read.contains(block) {
            return false;
        }
        self.read.rotate_right(1);
        self.read[0] = block.clone();
        true
    }

    /// The highest segment ever received beyond a gap.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.top[0]
    }

    /// The third highest.
    #[must_use]
    pub fn third_highest(&self) -> u64 {
        self.top[2]
    }

    /// Takes a segment in among the highest, if it belongs there.
    pub fn rank(&mut self, index: u64) {
        let mut rank = index;
        for top in &mut self.top {
            if rank > *top {
                std::mem::swap(&mut rank, top);
            }
        }
    }

    /// The lowest of what is to be sent again, as nearly as the two queues tell.
    #[must_use]
    pub fn first_lost(&self) -> Option<u64> {
        match (self.lost[0].front(), self.lost[1].front()) {
            (Some(&first), Some(&later)) => Some(first.min(later)),
            (first, later) => first.or(later).copied(),
        }
    }

    /// Nothing is to be sent again, and nothing was.
    pub fn forget_lost(&mut self) {
        self.lost.iter_mut().for_each(VecDeque::clear);
        self.repeated.clear();
    }
}
