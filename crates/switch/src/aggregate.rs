//! Aggregated frames, as a radio sends them (IEEE 802.11, A-MPDU): what waits when the link becomes free leaves
//! together, as far as a frame holds it, and arrives together. Each frame takes an overhead besides its bytes: waiting
//! for the channel, preamble, acknowledgement. Both directions have the air to themselves.

use shallop_core::{Bytes, Span};

/// How a queue's packets are put into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// What each frame takes besides the bytes in it.
    pub overhead: Span,
    /// Bytes that a frame holds at most, but always one packet.
    pub most: Bytes,
}
