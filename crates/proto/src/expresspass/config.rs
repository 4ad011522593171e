//! The parameters of an `ExpressPass` flow, which both ends use.

use crate::{aeolus, wire};
use shallop_core::{BitsPerSec, Bytes, Share, Span};

/// The share of a link for credits: a credit of 84 B for each data frame of 1538 B.
const CREDIT_SHARE: Share = match Share::of(Bytes::new(84), Bytes::new(1538)) {
    Some(share) => share,
    None => panic!("84 of 1622 is a share"),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StopPolicy {
    /// The receiver stops sending credits when it has all data, or the sender has sent all data and says so. About one
    /// round trip of credits is wasted.
    #[default]
    LastData,
    /// In addition to `LastData`, the sender stops the receiver when the last round trip brought as many credits as
    /// frames remain (the public code since 2018). If fewer credits follow, the sender requests more.
    Early,
    /// The receiver stops when it has sent as many credits as the sender requested. If some were dropped, the sender
    /// requests more.
    Demand,
}

shallop_options::string_enum! {
    StopPolicy { LastData = "last-data", Early = "early", Demand = "demand" }
}

/// The parameters of an `ExpressPass` flow. [`Config::new`] has the defaults of the public code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub link: BitsPerSec,
    /// The share of the receiver's link for credits, which determines the maximum credit rate.
    pub share: Share,
    /// Size of the smallest credit on the wire, in bytes.
    pub min_credit: u16,
    /// Size of the largest credit on the wire, in bytes. Sizes are drawn uniformly from `min_credit` to this.
    pub max_credit: u16,
    /// The smallest random deviation of the gap between two credits, as a fraction of the gap; above -1.
    pub min_jitter: f64,
    /// The largest random deviation of the gap between two credits, as a fraction of the gap.
    pub max_jitter: f64,
    /// Payload of a full data frame, 1 to 65,457 bytes.
    pub payload: Bytes,
    pub stop: StopPolicy,
    /// The time after which a request for credits or a NACK is sent again. It should exceed every round trip.
    pub retransmit_timeout: Span,
    /// The time after which a stop is sent again, until a round trip was measured; from then on it is two round trips.
    pub stop_timeout: Span,
    /// The number of later data packets that may arrive before a missing packet counts as lost; 0 in the public code.
    pub reordering: u32,
    /// Limits of the unscheduled burst; `None` without Aeolus.
    pub unscheduled: Option<aeolus::Config>,
    /// The constant time from the departure of a credit packet to the arrival of its data at the receiver: a sender
    /// holds each credit for the part of it that exceeds the round trip. `None` if data leaves at once.
    pub wait: Option<Span>,
    /// Size of the send buffer, which limits the demand that the sender knows; `None` if it knows all remaining data.
    pub send_buffer: Option<Bytes>,
}

impl Config {
    /// The defaults of the public code, for a receiver with a link of this rate.
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
            wait: None,
            send_buffer: None,
        }
    }
}
