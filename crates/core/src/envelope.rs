//! All that a switch may read of a packet. What the packet says to its receiver is a head, which switches never see.

use crate::units::Bytes;

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

/// One end of a flow. The two ends of flow `f` are `2f`, which sends the data, and `2f + 1`, which receives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End(pub u32);

impl End {
    /// The end of this flow that sends the data.
    #[must_use]
    pub const fn sender(flow: u32) -> Self {
        Self(flow * 2)
    }

    /// The end of this flow that receives the data.
    #[must_use]
    pub const fn receiver(flow: u32) -> Self {
        Self(flow * 2 + 1)
    }

    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The flow both ends belong to.
    #[must_use]
    pub const fn flow(self) -> u32 {
        self.0 >> 1
    }

    /// True for the end that sends the data.
    #[must_use]
    pub const fn is_sender(self) -> bool {
        self.0 & 1 == 0
    }
}

/// What a packet is for, as a switch tells by its DSCP: the queue it joins follows from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Carries payload; where a transport has credits or a window, sent on one.
    Data,
    /// Acknowledges data and carries none.
    Ack,
    /// Sets a transfer up, ends it or asks for a repeat.
    Control,
    /// Rehearses a data packet that may follow (`FlashPass`).
    Emulation,
    /// Allows its receiver to send data (`ExpressPass`, `FlashPass`).
    Credit,
    /// Carries payload sent before any credit came (Aeolus).
    Unscheduled,
    /// Carries payload of a transport that asks nobody, where others wait for credits.
    Legacy,
    /// Anything else such a transport sends there.
    LegacyAck,
}

impl Class {
    /// How many classes there are.
    pub const COUNT: usize = 8;
    /// Every class, in the order of their indices.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Data,
        Self::Ack,
        Self::Control,
        Self::Emulation,
        Self::Credit,
        Self::Unscheduled,
        Self::Legacy,
        Self::LegacyAck,
    ];

    /// True if it carries payload, on a credit, before any or without.
    #[must_use]
    pub const fn is_payload(self) -> bool {
        matches!(self, Self::Data | Self::Unscheduled | Self::Legacy)
    }

    /// The class of what a reactive transport would send in this one, where there are proactive transports as well.
    #[must_use]
    pub const fn beside_credits(self) -> Self {
        match self {
            Self::Data => Self::Legacy,
            _ => Self::LegacyAck,
        }
    }

    /// Position in [`Class::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The two ECN bits (RFC 3168, 5); which of the two ECT codepoints was sent makes no difference here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks: a queue that would mark drops instead, if told so.
    NotEct,
    /// The transport understands marks.
    Ect,
    /// Congestion was experienced.
    Ce,
}

/// The outside of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The end it goes to, which is its address; its flow is what a path is chosen by.
    pub end: End,
    /// Bytes on the wire, preamble and gap included. At most 65,535.
    pub size: u16,
    /// What it is for.
    pub class: Class,
    /// Its ECN bits.
    pub ecn: Ecn,
}

impl Envelope {
    /// Bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
}

/// A packet as the network carries it: its outside, and cargo that no switch can look into, since it does not know what
/// it is. In the simulator the cargo is the packet's head; in an emulator it will be the name of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<C> {
    /// What a switch may read.
    pub envelope: Envelope,
    /// What it may not.
    pub cargo: C,
}
