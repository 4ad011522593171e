//! What `ExpressPass` packets say. Times are of the clock of the end that wrote them; the other end only returns them.

use shallop_core::{Class, Ecn, Time};

use crate::endpoint::Out;
use crate::wire;

/// A demand of this many frames or more: the receiver grants credits until it is told to stop.
pub const ENDLESS: u32 = u32::MAX;

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Sender: credits are wanted.
    Request {
        /// How many data frames are to be sent; [`ENDLESS`] if there is no end to them.
        demand: u32,
        /// Where the stream ends, if it does.
        end: Option<u64>,
        /// When this was sent.
        sent: Time,
    },
    /// Receiver: one data frame may be sent.
    Credit {
        /// The number of this credit, counted over the whole flow.
        sequence: u64,
        /// When this was sent.
        sent: Time,
        /// When the request was sent that this credit answers.
        asked: Time,
        /// How many credits are still to come for that request; [`ENDLESS`] if no number is set.
        left: u32,
    },
    /// Sender: payload, and the credit it was sent for.
    Data {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u16,
        /// How often the sender has gone back.
        pass: u32,
        /// The number of the credit.
        credit: u64,
        /// When the credit was sent.
        credit_sent: Time,
    },
    /// Sender: no more credits are wanted.
    Stop {
        /// Where the stream ends.
        end: u64,
        /// How often the sender has gone back.
        pass: u32,
        /// All data was sent long ago and nothing was heard: what is missing?
        again: bool,
    },
    /// Receiver: data was lost, the sender is to go back.
    Nack {
        /// The first byte that is missing.
        expected: u64,
        /// The pass in which it was found missing. A sender that has gone back since need not do so again.
        pass: u32,
    },
    /// Receiver: every byte has come.
    Done {
        /// Where the stream ends.
        end: u64,
    },
    /// Sender: payload before any credit.
    Unscheduled {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u16,
        /// Whether the stream ends with them.
        last: bool,
    },
    /// Sender: this follows the last payload without a credit.
    Probe {
        /// Where that ended.
        upto: u64,
        /// Where the stream ends, if it does.
        end: Option<u64>,
    },
    /// Receiver: this came without a credit.
    Received {
        /// The first byte.
        offset: u64,
        /// How many bytes; none if it was the probe.
        length: u16,
    },
}

const _: () = assert!(
    size_of::<Head>() <= 32,
    "a head is copied at both ends of a flight: keep it four words"
);

/// A smallest frame that sets up, ends or repairs a transfer. It counts as ECN-capable, as everything here does, so
/// that no selective drop touches it.
pub(super) fn control(head: Head) -> Out<Head> {
    small(head, Class::Control)
}

/// A smallest frame of this class, likewise.
pub(super) fn small(head: Head, class: Class) -> Out<Head> {
    Out { head, body: 0..0, size: wire::MIN_FRAME, class, ecn: Ecn::Ect }
}
