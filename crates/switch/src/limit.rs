//! Lengths of queues and limits on them, in bytes and in packets.

use shallop_core::{BitsPerSec, BufferSize, Bytes, DropCause};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// Bytes on the wire.
    pub bytes: Bytes,
    pub packets: u32,
}

impl QueueLength {
    /// This length plus one packet of `size` bytes.
    #[must_use]
    pub fn with(self, size: Bytes) -> Self {
        Self { bytes: self.bytes + size, packets: self.packets + 1 }
    }

    /// This length minus one packet of `size` bytes.
    #[must_use]
    pub fn without(self, size: Bytes) -> Self {
        Self { bytes: self.bytes - size, packets: self.packets - 1 }
    }
}

/// Limit on the length of a queue, inclusive: a queue may hold exactly this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub bytes: Bytes,
    pub packets: u32,
}

impl Limit {
    pub const NONE: Self = Self { bytes: Bytes::MAX, packets: u32::MAX };

    /// Limit for a buffer of size `size` at a link of this rate.
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

/// `Ok` if `fits`, otherwise `cause` as the cause of a drop.
#[inline]
pub(crate) fn fits(fits: bool, cause: DropCause) -> Result<(), DropCause> {
    if fits { Ok(()) } else { Err(cause) }
}
