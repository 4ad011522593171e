//! Headers of `ExpressPass` packets. Times are of the clock of the end that wrote them; the other end only echoes them.

use shallop_core::{Class, Ecn, Time};

use crate::endpoint::Out;
use crate::wire;

/// A demand of this many frames or more: the receiver sends credits until the sender stops it.
pub const UNLIMITED: u32 = u32::MAX;

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Sender: requests credits.
    Request {
        /// The number of data frames to be sent; [`UNLIMITED`] without end.
        demand: u32,
        /// Where the stream ends, if it does.
        end: Option<u64>,
        /// The send time.
        sent: Time,
    },
    /// Receiver: allows one data frame.
    Credit {
        /// The number of this credit, counted over the whole flow.
        sequence: u64,
        /// The send time.
        sent: Time,
        /// The send time of the request that this credit answers.
        request_sent: Time,
        /// The number of credits still to be sent for that request; [`UNLIMITED`] if it has no bound.
        remaining: u32,
    },
    /// Sender: payload, and an echo of the credit that released it.
    Data {
        /// The first byte.
        offset: u64,
        /// Payload in bytes.
        length: u16,
        /// How many times the sender has gone back N.
        generation: u32,
        /// The number of the credit.
        credit: u64,
        /// When the credit was sent.
        credit_sent: Time,
    },
    /// Sender: stops the credits.
    Stop {
        /// Where the stream ends.
        end: u64,
        /// How many times the sender has gone back N.
        generation: u32,
        /// Whether the receiver is to answer with what is missing: the stop was sent before and got no answer.
        reply_requested: bool,
    },
    /// Receiver: data was lost, and the sender must go back N.
    Nack {
        /// The first byte that is missing.
        expected: u64,
        /// The generation in which it was lost. A sender that has gone back since ignores the NACK.
        generation: u32,
    },
    /// Receiver: every byte has arrived.
    Complete {
        /// Where the stream ends.
        end: u64,
    },
    /// Sender: payload before the first credit (Aeolus).
    Unscheduled {
        /// The first byte.
        offset: u64,
        /// Payload in bytes.
        length: u16,
        /// The stream ends with this packet.
        last: bool,
    },
    /// Sender: the probe packet behind the last unscheduled packet (Aeolus).
    Probe {
        /// The end of the unscheduled data.
        upto: u64,
        /// Where the stream ends, if it does.
        end: Option<u64>,
    },
    /// Receiver: this unscheduled packet has arrived (Aeolus).
    UnscheduledAck {
        /// The first byte.
        offset: u64,
        /// Payload in bytes; zero for the probe.
        length: u16,
    },
}

const _: () =
    assert!(size_of::<Head>() <= 32, "heads travel inside packets: keep them at four words");

/// A minimum-size packet of the control class. It is ECN-capable, as are all packets but unscheduled data, so that it
/// is not dropped selectively.
pub(super) fn control(head: Head) -> Out<Head> {
    small(head, Class::Control)
}

/// A minimum-size packet of this class.
pub(super) fn small(head: Head, class: Class) -> Out<Head> {
    Out { head, body: 0..0, size: wire::MIN_FRAME, class, ecn: Ecn::Ect }
}
