//! The parameters of `ExpressPass`, the same for both ends of a flow.

use shallop_core::{BitsPerSec, Bytes, Share, Span};

use crate::{aeolus, wire};

/// The credits' share of a link: 84 B of credit for each data frame of 1538 B.
const CREDIT_SHARE: Share = match Share::of(Bytes::new(84), Bytes::new(1538)) {
    Some(share) => share,
    None => panic!("84 of 1622 is a share"),
};

/// When the receiver stops sending credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StopPolicy {
    /// When it has all data, or the sender has sent all data and says so: about a round trip of credits is wasted.
    #[default]
    LastData,
    /// As `LastData`, but the sender stops the receiver as soon as the last round trip brought as many credits as
    /// frames remain (the public code since 2018). If fewer credits follow, it requests more.
    Early,
    /// When it has sent as many credits as the sender requested. If some were dropped, the sender requests the rest.
    Demand,
}

shallop_core::words! {
    StopPolicy { LastData = "last-data", Early = "early", Demand = "demand" }
}

/// The parameters of a flow. [`Config::new`] gives the defaults of the public code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rate of the receiver's link.
    pub link: BitsPerSec,
    /// The credits' share of the receiver's link, which is the maximum credit rate.
    pub share: Share,
    /// The smallest credit, on the wire.
    pub min_credit: u16,
    /// The largest credit, on the wire. Sizes are uniform between the smallest and the largest.
    pub max_credit: u16,
    /// The smallest deviation of the gap to the next credit, as a fraction of the gap. Above -1.
    pub min_jitter: f64,
    /// The largest deviation. Deviations are uniform.
    pub max_jitter: f64,
    /// Payload of a full data frame. From 1 to 65,457 bytes.
    pub payload: Bytes,
    /// When the receiver stops sending credits.
    pub stop: StopPolicy,
    /// The time after which a request or a NACK is sent again. Should be longer than any round trip.
    pub retransmit_timeout: Span,
    /// The time after which a stop is sent again while no round trip was measured; two round trips otherwise.
    pub stop_timeout: Span,
    /// How many later data packets may arrive before a missing one counts as lost; 0 in the public code.
    pub reordering: u32,
    /// The unscheduled data before the first credit (Aeolus); `None` for none.
    pub unscheduled: Option<aeolus::Config>,
    /// The size of the send buffer, which bounds the demand that the sender knows; `None` if it knows all of it.
    pub send_buffer: Option<Bytes>,
}

impl Config {
    /// The defaults of the public code for a receiver behind a link of this rate.
    pub fn new(link: BitsPerSec) -> Self {
        Self {
            link,
            share: CREDIT_SHARE,
            min_credit: wire::MIN_FRAME,
            max_credit: wire::MIN_FRAME,
            min_jitter: -0.1,
            max_jitter: 0.1,
            payload: Bytes::new(wire::MTU - wire::HEADERS),
            stop: StopPolicy::default(),
            retransmit_timeout: Span::from_ms(100),
            stop_timeout: Span::from_ms(2),
            reordering: 3,
            unscheduled: None,
            send_buffer: None,
        }
    }
}
