//! The TCP header, with the options in use. Units: bytes of the stream, counted from 0. A SYN takes no sequence number.
//! Sources: RFC 9293; RFC 2018 and 2883 (SACK); RFC 7323 (window scaling, timestamps); RFC 3168 (ECE, CWR).

use std::ops::{BitOr, BitOrAssign, Range};

use super::timestamp::Timestamp;

/// SACK blocks that fit beside the timestamp option.
pub const SACK_BLOCKS: usize = 3;
/// The largest shift a window may be scaled by (RFC 7323, 2.3).
pub const MAX_SCALE: u8 = 14;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    pub const SYN: Self = Self(1);
    /// `ack`, `blocks` and `window` are valid.
    pub const ACK: Self = Self(2);
    /// ECN-Echo: a congestion mark arrived.
    pub const ECE: Self = Self(4);
    /// Congestion window reduced: the answer to ECE.
    pub const CWR: Self = Self(8);
    /// Push: the last segment of a burst, so that the receiver does not wait for more.
    pub const PSH: Self = Self(16);

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags if `condition` holds, otherwise no flags.
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self(0) }
    }

    /// Returns the flags without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A block of the SACK option: a received range relative to the cumulative acknowledgement. Empty if there is none. It
/// lies above that acknowledgement, unless it is a DSACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Distance of the first byte from `ack`; negative if the byte is below.
    pub from: i32,
    /// Distance of the first byte behind the range from `ack`.
    pub to: i32,
}

impl SackBlock {
    /// The block for a received range, in a header that acknowledges everything below `ack`. Empty if the range is more
    /// than 2 GB away, which no window allows.
    pub fn for_range(range: &Range<u64>, ack: u64) -> Self {
        let offset = |at: u64| i32::try_from(at.wrapping_sub(ack).cast_signed()).ok();
        match (offset(range.start), offset(range.end)) {
            (Some(from), Some(to)) => Self { from, to },
            _ => Self::default(),
        }
    }

    /// The range as bytes of the stream, given its header's cumulative acknowledgement.
    pub const fn range(self, ack: u64) -> Range<u64> {
        ack.saturating_add_signed(self.from as i64)..ack.saturating_add_signed(self.to as i64)
    }

    const fn is_empty(self) -> bool {
        self.from >= self.to
    }

    const fn is_within(self, other: Self) -> bool {
        other.from <= self.from && self.to <= other.to
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// SEG.SEQ: the first byte of the payload. An acknowledgement has no payload, and its `TSval` here.
    pub seq: u64,
    /// SEG.ACK: the first byte that was not received in order.
    pub ack: u64,
    /// SACK blocks, the most recent first. A DSACK precedes them ([`Head::dsack`]).
    pub blocks: [SackBlock; SACK_BLOCKS],
    /// SEG.WND: how many bytes from `ack` on the receiver accepts, shifted right by `scale`. Data advertises no window,
    /// and has its `TSecr` here.
    pub window: u16,
    pub len: u16,
    /// `TSval` of data, `TSecr` of an acknowledgement; zero without timestamps.
    pub timestamp: Timestamp,
    pub flags: Flags,
    /// Window scale. TCP sends it in the SYN only; here every header has it, so that middleboxes need not store it.
    pub scale: u8,
}

const _: () =
    assert!(size_of::<Head>() == 48, "a header is copied for every packet: keep it small");

impl Head {
    /// The right edge of the window: the first byte that the receiver does not accept.
    pub fn right_edge(&self) -> u64 {
        let scale = self.scale.min(MAX_SCALE);
        self.ack.saturating_add(u64::from(self.window) << scale)
    }

    /// The DSACK: the range that arrived for a second time with the segment that caused this acknowledgement. It is the
    /// first block if that lies below the cumulative acknowledgement or within the second block (RFC 2883, 5).
    pub fn dsack(&self) -> Option<Range<u64>> {
        let [first, second, _] = self.blocks;
        if first.is_empty() {
            return None;
        }
        let repeats = first.from < 0 || (!second.is_empty() && first.is_within(second));
        repeats.then(|| first.range(self.ack))
    }

    pub const fn tsecr_of_data(&self) -> Timestamp {
        Timestamp(self.window)
    }

    pub const fn tsval_of_ack(&self) -> Timestamp {
        Timestamp(self.seq as u16)
    }

    /// Sets the window to `bytes`, rounded down to the unit of the scale.
    pub fn advertise(&mut self, bytes: u64) {
        let units = bytes >> self.scale.min(MAX_SCALE);
        self.window = u16::try_from(units).unwrap_or(u16::MAX);
    }
}

/// The smallest window scale that can advertise a whole buffer of `buffer` bytes.
pub const fn scale_for(buffer: u64) -> u8 {
    let mut scale = 0;
    while scale < MAX_SCALE && buffer >> scale > u16::MAX as u64 {
        scale += 1;
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabyte_is_the_largest_window_and_64_kb_need_no_scaling() {
        let advertised = |bytes, scale| {
            let mut head = Head { ack: 100, scale, ..Head::default() };
            head.advertise(bytes);
            head.right_edge() - 100
        };
        assert_eq!((scale_for(65_535), scale_for(65_536), scale_for(u64::MAX)), (0, 1, 14));
        assert_eq!(advertised(u64::MAX, 14), 65_535 << 14);
        assert_eq!(advertised(1_000_001, scale_for(1_000_001)), 1_000_000 / 16 * 16);
    }

    #[test]
    fn blocks_are_relative_to_the_acknowledgement() {
        let block = SackBlock::for_range(&(5_000..6_000), 4_000);
        assert_eq!(block, SackBlock { from: 1_000, to: 2_000 });
        assert_eq!(block.range(4_000), 5_000..6_000);
        assert_eq!(SackBlock::for_range(&(3_000..3_500), 4_000).range(4_000), 3_000..3_500);
        assert_eq!(SackBlock::for_range(&(0..1), 1 << 40), SackBlock::default(), "out of reach");
    }

    /// Acknowledgements of RFC 2883, 4, and the DSACK that a sender finds in each.
    #[test]
    fn a_first_block_below_the_acknowledgement_or_within_the_second_is_a_dsack() {
        let dsack = |ack: u64, first: Range<u64>, second: Range<u64>| {
            let blocks = [
                SackBlock::for_range(&first, ack),
                SackBlock::for_range(&second, ack),
                SackBlock::default(),
            ];
            Head { ack, blocks, ..Head::default() }.dsack()
        };
        let none = 4_000..4_000;
        assert_eq!(dsack(4_000, 3_000..3_500, none.clone()), Some(3_000..3_500), "4.1.1");
        assert_eq!(dsack(4_000, 3_000..3_500, 4_500..5_000), Some(3_000..3_500), "4.1.2");
        assert_eq!(dsack(4_000, 5_000..5_500, 4_500..5_500), Some(5_000..5_500), "4.1.3");
        assert_eq!(dsack(4_000, 4_500..5_000, 5_500..6_000), None);
        assert_eq!(dsack(4_000, 4_500..5_000, none.clone()), None);
        assert_eq!(dsack(4_000, none.clone(), none), None);
    }
}
