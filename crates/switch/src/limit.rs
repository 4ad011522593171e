//! The length of a queue, and limits on it, both in bytes and in packets.

use shallop_core::{BitsPerSec, BufferSize, Bytes, DropCause};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// Bytes on the wire.
    pub bytes: Bytes,
    pub packets: u32,
}

impl QueueLength {
    /// The length with one packet of this size more.
    #[must_use]
    pub fn with(self, size: Bytes) -> Self {
        Self { bytes: self.bytes + size, packets: self.packets + 1 }
    }

    /// The length with one packet of this size less.
    #[must_use]
    pub fn without(self, size: Bytes) -> Self {
        Self { bytes: self.bytes - size, packets: self.packets - 1 }
    }
}

/// A limit on the length of a queue. It is inclusive: a queue may hold exactly this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub bytes: Bytes,
    pub packets: u32,
}

impl Limit {
    pub const NONE: Self = Self { bytes: Bytes::MAX, packets: u32::MAX };

    /// The limit for a buffer size on a link of this rate.
    pub fn for_buffer(size: BufferSize, rate: BitsPerSec) -> Self {
        match size {
            BufferSize::Packets(packets) => Self { packets, ..Self::NONE },
            BufferSize::Bytes(_) | BufferSize::PerGbps(_) => {
                Self { bytes: size.bytes_at(rate).unwrap_or(Bytes::MAX), ..Self::NONE }
            }
        }
    }

    pub fn exceeded_by(&self, length: QueueLength) -> bool {
        length.bytes > self.bytes || length.packets > self.packets
    }
}

/// `Ok` if a packet fits, otherwise the cause of its drop.
#[inline]
pub(crate) fn fits(fits: bool, cause: DropCause) -> Result<(), DropCause> {
    if fits { Ok(()) } else { Err(cause) }
}
