//! What a segment says: where its payload is, what has been received, how much more may come. Units: bytes of the
//! stream, counted from 0; a SYN takes none. Sources: RFC 9293; RFC 2018 and 2883 (selective acknowledgements);
//! RFC 7323 (window scaling); RFC 3168 (ECE, CWR).

use std::ops::{BitOr, BitOrAssign, Range};

/// Selective acknowledgements that fit in one head.
pub const BLOCKS: usize = 3;
/// The largest shift a window may be scaled by (RFC 7323, 2.3).
pub const MAX_SCALE: u8 = 14;

/// Bits of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Asks to begin, or agrees.
    pub const SYN: Self = Self(1);
    /// `ack` and `window` mean something.
    pub const ACK: Self = Self(2);
    /// A mark arrived.
    pub const ECE: Self = Self(4);
    /// The window was reduced since.
    pub const CWR: Self = Self(8);
    /// The segment that caused this acknowledgement, the one that begins at `seq`, had arrived before (RFC 2883).
    pub const DUPLICATE: Self = Self(16);

    /// True if all of these are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These if so, otherwise none.
    #[must_use]
    pub const fn when(self, so: bool) -> Self {
        if so { self } else { Self(0) }
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

/// A range received out of order, relative to the cumulative acknowledgement. Empty if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Bytes from `ack` to the first.
    pub from: u32,
    /// Bytes from `ack` to the first after it.
    pub to: u32,
}

impl Block {
    /// The block for a range that was received, in a head that acknowledges all below `ack`. Empty if it is out of
    /// reach, which no window allows.
    #[must_use]
    pub fn of(range: &Range<u64>, ack: u64) -> Self {
        let offset = |at: u64| at.checked_sub(ack).and_then(|by| u32::try_from(by).ok());
        match (offset(range.start), offset(range.end)) {
            (Some(from), Some(to)) => Self { from, to },
            _ => Self::default(),
        }
    }

    /// The range, given the cumulative acknowledgement of its head.
    #[must_use]
    pub const fn range(self, ack: u64) -> Range<u64> {
        ack.saturating_add(self.from as u64)..ack.saturating_add(self.to as u64)
    }
}

/// A segment's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The first byte it carries; in an acknowledgement, the first byte of the segment that caused it.
    pub seq: u64,
    /// The first byte not yet received in order.
    pub ack: u64,
    /// What was received beyond, the latest first.
    pub blocks: [Block; BLOCKS],
    /// How many bytes from `ack` on may be sent, shifted right by `scale`.
    pub window: u16,
    /// Bytes of payload.
    pub len: u16,
    /// Bits.
    pub flags: Flags,
    /// What `window` is shifted by. TCP says it once, in its SYN; here every head does, so that a box in the path
    /// need not remember.
    pub scale: u8,
}

const _: () = assert!(size_of::<Head>() == 48, "a head is copied for every packet: keep it small");

impl Head {
    /// The first byte that may not be sent, by what this head says.
    #[must_use]
    pub fn edge(&self) -> u64 {
        let scale = self.scale.min(MAX_SCALE);
        self.ack.saturating_add(u64::from(self.window) << scale)
    }

    /// Sets the window to as much of `bytes` as can be said, rounded down.
    pub fn offer(&mut self, bytes: u64) {
        let units = bytes >> self.scale.min(MAX_SCALE);
        self.window = u16::try_from(units).unwrap_or(u16::MAX);
    }
}

/// The smallest shift that lets a head offer a whole buffer of so many bytes.
#[must_use]
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
        let offered = |bytes, scale| {
            let mut head = Head { ack: 100, scale, ..Head::default() };
            head.offer(bytes);
            head.edge() - 100
        };
        assert_eq!((scale_for(65_535), scale_for(65_536), scale_for(u64::MAX)), (0, 1, 14));
        assert_eq!(offered(u64::MAX, 14), 65_535 << 14);
        assert_eq!(offered(1_000_001, scale_for(1_000_001)), 1_000_000 / 16 * 16);
    }

    #[test]
    fn blocks_are_relative_to_the_acknowledgement() {
        let block = Block::of(&(5_000..6_000), 4_000);
        assert_eq!(block, Block { from: 1_000, to: 2_000 });
        assert_eq!(block.range(4_000), 5_000..6_000);
        assert_eq!(Block::of(&(3_000..6_000), 4_000), Block::default());
    }
}
