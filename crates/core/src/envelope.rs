//! The envelope of a packet: the part that switches may read. The packet's cargo is for the receiver only.

use crate::units::Bytes;

/// The usual MTU of Ethernet: the largest IP packet in bytes, without the Ethernet header.
pub const MTU: u64 = 1_500;

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

/// Address of one end of a flow. The sender of flow `f` is `2f`, its receiver `2f + 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End(pub u32);

impl End {
    pub const fn sender(flow: u32) -> Self {
        Self(flow * 2)
    }

    pub const fn receiver(flow: u32) -> Self {
        Self(flow * 2 + 1)
    }

    /// The receiver for the sender of a flow, and the sender for its receiver.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub const fn flow(self) -> u32 {
        self.0 >> 1
    }

    pub const fn is_sender(self) -> bool {
        self.0 & 1 == 0
    }
}

/// The traffic class of a packet, which a switch reads from its DSCP and by which it chooses a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Payload that the transport's window or credits allow.
    Data,
    /// An acknowledgement without payload.
    Ack,
    /// Connection set-up and tear-down, and requests for retransmission.
    Control,
    /// An emulation packet, which probes the path for a data packet that may follow (`FlashPass`).
    Emulation,
    /// A credit, which allows its receiver to send data (`ExpressPass`, `FlashPass`).
    Credit,
    /// Payload sent before the first credit (Aeolus).
    Unscheduled,
    /// Payload of a transport without credits, in a network where others have them.
    Legacy,
    /// An acknowledgement or control packet of a transport without credits, in a network where others have them.
    LegacyAck,
}

crate::names! { Class {
    Data = "data", Ack = "ack", Control = "control", Emulation = "emulation", Credit = "credit",
    Unscheduled = "unscheduled", Legacy = "legacy", LegacyAck = "legacy_ack",
} }

impl Class {
    /// True for data, unscheduled and legacy packets. Acknowledgements, control packets, credits and emulation packets
    /// carry no payload.
    pub const fn is_payload(self) -> bool {
        matches!(self, Self::Data | Self::Unscheduled | Self::Legacy)
    }

    /// The class for a packet of a transport without credits, in a network where other transports use credits: `Legacy`
    /// for payload, otherwise `LegacyAck`.
    #[must_use]
    pub const fn legacy(self) -> Self {
        match self {
            Self::Data => Self::Legacy,
            _ => Self::LegacyAck,
        }
    }

    /// DSCP of data that real hosts send on credits: AF11 (RFC 2597). With DSCP 0 a switch could not tell this data
    /// from the machine's other traffic.
    pub const DSCP_ON_CREDITS: u8 = 10;

    /// DSCP that stands for the class in packet captures: the class selector (RFC 2474) with the index of the class;
    /// data has DSCP 0, best effort.
    pub const fn dscp(self) -> u8 {
        (self as u8) << 3
    }

    /// Class of a packet that a real host sent with this DSCP: the inverse of [`Self::dscp`] for acknowledgements,
    /// control, emulation, credits and unscheduled data; [`Self::DSCP_ON_CREDITS`] is data. `None` for every other
    /// DSCP.
    pub fn of_dscp(dscp: u8) -> Option<Self> {
        use Class::{Ack, Control, Credit, Emulation, Unscheduled};
        let told = [Ack, Control, Emulation, Credit, Unscheduled];
        let on_credits = (dscp == Self::DSCP_ON_CREDITS).then_some(Self::Data);
        on_credits.or_else(|| told.into_iter().find(|of| of.dscp() == dscp))
    }

    /// Position in [`Class::ALL`], by which counters per class are indexed.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field of the IP header (RFC 3168, section 5; RFC 9331, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the transport does not react to marks. A queue that would mark the packet may drop it instead.
    NotEct,
    /// ECT(0): the transport reacts to marks.
    Ect,
    /// ECT(1): the transport reacts to marks and asks for the low-latency queue of L4S.
    Ect1,
    /// CE: a queue signalled congestion.
    Ce,
}

impl Ecn {
    /// True for ECT(0) and ECT(1), which a queue may change to CE.
    pub const fn is_ect(self) -> bool {
        matches!(self, Self::Ect | Self::Ect1)
    }

    /// True unless Not-ECT: a queue signals congestion by marking the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// True for ECT(1) and CE, which an L4S queue takes for L4S traffic (RFC 9331, section 5.1).
    pub const fn is_l4s(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Endpoint to which the packet goes. ECMP hashes the flow of this endpoint.
    pub end: End,
    /// Size on the wire in bytes, including preamble and inter-frame gap.
    pub size: u16,
    pub class: Class,
    pub ecn: Ecn,
}

impl Envelope {
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
}

/// A packet as the network carries it: an envelope, and a cargo that switches cannot read because they are generic over
/// its type `C`. In the simulator the cargo is the transport's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<C> {
    pub envelope: Envelope,
    pub cargo: C,
}
