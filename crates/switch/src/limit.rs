//! How much a queue holds, and bounds on it in bytes, in packets or in both.

use shallop_core::{BitsPerSec, BufferSize, Bytes};

/// What a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Packets.
    pub packets: u32,
}

impl Holding {
    /// This and one packet more.
    #[must_use]
    pub fn with(self, size: Bytes) -> Self {
        Self { bytes: self.bytes + size, packets: self.packets + 1 }
    }

    /// This and one packet less.
    #[must_use]
    pub fn without(self, size: Bytes) -> Self {
        Self { bytes: self.bytes - size, packets: self.packets - 1 }
    }
}

/// A bound on a holding. It is inclusive: a queue may hold exactly this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// At most so many bytes.
    pub bytes: Bytes,
    /// At most so many packets.
    pub packets: u32,
}

impl Limit {
    /// No bound.
    pub const NONE: Self = Self { bytes: Bytes::MAX, packets: u32::MAX };

    /// The bound a buffer size sets on a link of this rate.
    #[must_use]
    pub fn of(size: BufferSize, rate: BitsPerSec) -> Self {
        match size {
            BufferSize::Packets(packets) => Self { packets, ..Self::NONE },
            BufferSize::Bytes(_) | BufferSize::PerGbps(_) => {
                Self { bytes: size.bytes_at(rate).unwrap_or(Bytes::MAX), ..Self::NONE }
            }
        }
    }

    /// True if this holding is more than the bound allows.
    #[must_use]
    pub fn exceeded_by(&self, held: Holding) -> bool {
        held.bytes > self.bytes || held.packets > self.packets
    }
}
