//! Frame aggregation of a radio link (IEEE 802.11, A-MPDU): packets that are queued when the link becomes free leave
//! and arrive together in one frame, up to the frame's maximum size. Each frame costs a fixed time besides its bytes:
//! channel access, preamble and acknowledgement. The two directions do not compete for the channel.

use shallop_core::{Bytes, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAggregation {
    /// Air time that each frame takes in addition to its bytes: channel access, preamble and acknowledgement.
    pub overhead: Span,
    /// Maximum size of a frame, in bytes on the wire. A packet larger than this is sent in its own frame.
    pub max_bytes: Bytes,
}
