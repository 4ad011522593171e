//! Headers of `ExpressPass` packets. A time in a header is by the clock of the end that wrote it first; the other end
//! only echoes it.

use crate::{endpoint::Out, wire};
use shallop_core::{Class, Ecn, Time};

/// A demand without end, with which the receiver sends credits until the sender stops it.
pub const UNLIMITED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    Request {
        /// The number of data frames for which credits are requested, or [`UNLIMITED`].
        demand: u32,
        /// End of the stream in bytes; `None` for a stream without end.
        end: Option<u64>,
        sent: Time,
    },
    /// From the receiver: a credit, which allows one data frame.
    Credit {
        /// Number of the credit, counted from the start of the flow.
        sequence: u64,
        sent: Time,
        /// When the request was sent that this credit answers.
        request_sent: Time,
        /// The number of credits that follow for the current request, or [`UNLIMITED`].
        remaining: u32,
    },
    /// From the sender: payload, with an echo of the credit that released it.
    Data {
        offset: u64,
        length: u16,
        /// How many times the sender has gone back N before it sent this packet.
        generation: u32,
        /// Number of the credit that this packet echoes.
        credit: u64,
        /// Send time of the credit that this packet echoes.
        credit_sent: Time,
    },
    /// From the sender: no more credits are needed.
    Stop {
        end: u64,
        /// How many times the sender has gone back N before it sent this packet.
        generation: u32,
        /// Whether the receiver must answer with what is missing, because an earlier stop got no answer.
        reply_requested: bool,
    },
    /// From the receiver: data was lost, and the sender must go back N.
    Nack {
        /// Offset of the first missing byte, to which the sender goes back.
        expected: u64,
        /// The sender's generation in which the byte was lost. A sender that has gone back since then ignores the NACK.
        generation: u32,
    },
    /// From the receiver: every byte before `end` has arrived, and the flow is complete.
    Complete { end: u64 },
    /// From the sender: payload that is sent before the first credit (Aeolus).
    Unscheduled {
        offset: u64,
        length: u16,
        /// Whether the stream ends with this packet.
        last: bool,
    },
    /// From the sender: the probe packet behind the last unscheduled packet (Aeolus).
    Probe {
        /// Offset of the end of the unscheduled data.
        upto: u64,
        /// End of the stream in bytes; `None` for a stream without end.
        end: Option<u64>,
    },
    /// From the receiver: an unscheduled packet has arrived (Aeolus).
    UnscheduledAck {
        offset: u64,
        /// Payload of the acknowledged packet in bytes; zero if it was the probe.
        length: u16,
    },
}

const _: () = assert!(size_of::<Head>() <= 32, "heads travel inside packets: keep them at four words");

/// Makes a control packet of minimum size. It is ECN-capable, like all packets except unscheduled data, so that queues
/// do not drop it selectively.
pub(super) fn control(head: Head) -> Out<Head> {
    small(head, Class::Control)
}

pub(super) fn small(head: Head, class: Class) -> Out<Head> {
    Out { head, body: 0..0, size: wire::MIN_FRAME, class, ecn: Ecn::Ect }
}
