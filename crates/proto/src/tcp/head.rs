//! The TCP header, with the options in use. Units: bytes of the stream, counted from 0. A SYN takes no sequence number.
//! Sources: RFC 9293; RFC 2018 and 2883 (SACK); RFC 7323 (window scaling, timestamps); RFC 3168 (ECE, CWR).

use super::timestamp::Timestamp;
use std::ops::{BitOr, BitOrAssign, Range};

/// The number of SACK blocks that fit in a header with the timestamp option.
pub const SACK_BLOCKS: usize = 3;
/// The largest window scale, in bits (RFC 7323, 2.3).
pub const MAX_SCALE: u8 = 14;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    pub const SYN: Self = Self(1);
    /// The fields `ack`, `blocks` and `window` are valid.
    pub const ACK: Self = Self(2);
    /// ECN-Echo: the receiver got a congestion mark.
    pub const ECE: Self = Self(4);
    /// Congestion window reduced: the sender's answer to ECE.
    pub const CWR: Self = Self(8);
    /// Push: the last segment of a burst, so that the receiver does not wait for more.
    pub const PSH: Self = Self(16);

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags if `condition` holds, otherwise no flags.
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self(0) }
    }

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

/// A block of the SACK option: a range of received bytes, relative to the cumulative acknowledgement `ack` of its
/// header. An empty range means no block. The range is above `ack`, except in a DSACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Distance from `ack` to the first byte of the range; negative if the byte is before `ack`.
    pub from: i32,
    /// Distance from `ack` to the end of the range.
    pub to: i32,
}

impl SackBlock {
    /// Makes a block for a received range, in a header that acknowledges everything before `ack`. It is empty if the
    /// range is more than 2 GB away, which no window allows.
    pub fn for_range(range: &Range<u64>, ack: u64) -> Self {
        let offset = |at: u64| i32::try_from(at.wrapping_sub(ack).cast_signed()).ok();
        match (offset(range.start), offset(range.end)) {
            (Some(from), Some(to)) => Self { from, to },
            _ => Self::default(),
        }
    }

    /// The received range as bytes of the stream; `ack` is the cumulative acknowledgement of the block's header.
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
    /// SEG.SEQ: the first byte of the payload. In an acknowledgement, which has no payload, this field holds `TSval`.
    pub seq: u64,
    /// SEG.ACK: the first byte that has not arrived.
    pub ack: u64,
    /// SACK blocks, the most recent first; a DSACK precedes all ([`Head::dsack`]).
    pub blocks: [SackBlock; SACK_BLOCKS],
    /// SEG.WND: the number of bytes from `ack` on that the receiver accepts, shifted right by `scale`. In data, which
    /// advertises no window, this field holds `TSecr`.
    pub window: u16,
    pub len: u16,
    /// In data `TSval`, in acknowledgements `TSecr`; zero without timestamps.
    pub timestamp: Timestamp,
    pub flags: Flags,
    /// Window scale in bits. TCP sends it in the SYN only; here every header has it, so that middleboxes need not store
    /// it.
    pub scale: u8,
}

const _: () = assert!(size_of::<Head>() == 48, "a header is copied for every packet: keep it small");

impl Head {
    /// The right edge of the receive window: the first byte that the receiver does not accept.
    pub fn right_edge(&self) -> u64 {
        let scale = self.scale.min(MAX_SCALE);
        self.ack.saturating_add(u64::from(self.window) << scale)
    }

    /// The DSACK: bytes that arrived for a second time with the segment that caused this acknowledgement. It is the
    /// first block, if that is before the cumulative acknowledgement or within the second block (RFC 2883, 5).
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

    /// Sets the receive window to `bytes`, rounded down to the unit of `scale`.
    pub fn advertise(&mut self, bytes: u64) {
        let units = bytes >> self.scale.min(MAX_SCALE);
        self.window = u16::try_from(units).unwrap_or(u16::MAX);
    }
}

/// The smallest window scale with which a window of `buffer` bytes can be advertised.
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
            let blocks = [SackBlock::for_range(&first, ack), SackBlock::for_range(&second, ack), SackBlock::default()];
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
