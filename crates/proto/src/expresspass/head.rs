//! Headers of `ExpressPass` packets. A time in a header is of the clock of the end that wrote it; the other end only
//! echoes it.

use shallop_core::{Class, Ecn, Time};

use crate::endpoint::Out;
use crate::wire;

/// A demand without end: the receiver sends credits until the sender stops it.
pub const UNLIMITED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Sender: requests credits.
    Request {
        /// The number of data frames to send, or [`UNLIMITED`].
        demand: u32,
        /// End of the stream; `None` without end.
        end: Option<u64>,
        sent: Time,
    },
    /// Receiver: allows one data frame.
    Credit {
        /// Number of the credit, counted over the whole flow.
        sequence: u64,
        sent: Time,
        /// Send time of the request that the credit answers.
        request_sent: Time,
        /// The number of credits that follow for this request, or [`UNLIMITED`].
        remaining: u32,
    },
    /// Sender: payload, and an echo of the credit that released it.
    Data {
        offset: u64,
        length: u16,
        /// How many times the sender has gone back N.
        generation: u32,
        /// Number of the echoed credit.
        credit: u64,
        /// Send time of the echoed credit.
        credit_sent: Time,
    },
    /// Sender: stops the credits.
    Stop {
        end: u64,
        /// How many times the sender has gone back N.
        generation: u32,
        /// Whether the receiver is to answer with what is missing, because an earlier stop got no answer.
        reply_requested: bool,
    },
    /// Receiver: data was lost, and the sender must go back N.
    Nack {
        /// The first missing byte.
        expected: u64,
        /// The generation in which the byte was lost. A sender that has gone back since then ignores the NACK.
        generation: u32,
    },
    /// Receiver: every byte has arrived.
    Complete { end: u64 },
    /// Sender: payload before the first credit (Aeolus).
    Unscheduled {
        offset: u64,
        length: u16,
        /// Whether the stream ends with this packet.
        last: bool,
    },
    /// Sender: the probe packet behind the last unscheduled packet (Aeolus).
    Probe {
        /// End of the unscheduled data.
        upto: u64,
        /// End of the stream; `None` without end.
        end: Option<u64>,
    },
    /// Receiver: this unscheduled packet has arrived (Aeolus).
    UnscheduledAck {
        offset: u64,
        /// Payload in bytes; zero if the probe arrived.
        length: u16,
    },
}

const _: () =
    assert!(size_of::<Head>() <= 32, "heads travel inside packets: keep them at four words");

/// A control packet of minimum size. Like all packets but unscheduled data it is ECN-capable, so that queues do not
/// drop it selectively.
pub(super) fn control(head: Head) -> Out<Head> {
    small(head, Class::Control)
}

pub(super) fn small(head: Head, class: Class) -> Out<Head> {
    Out { head, body: 0..0, size: wire::MIN_FRAME, class, ecn: Ecn::Ect }
}
