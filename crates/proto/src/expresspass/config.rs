//! The numbers of `ExpressPass`, the same for both ends of a flow.

use shallop_core::{BitsPerSec, Bytes, Share, Span};

use crate::{aeolus, wire};

/// The share of a link in which each credit of 84 B has room for a frame of 1538 B beside it.
const CREDIT_SHARE: Share = match Share::of(Bytes::new(84), Bytes::new(1538)) {
    Some(share) => share,
    None => panic!("84 of 1622 is a share"),
};

/// When credits end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StopPolicy {
    /// The receiver grants credits until it has all data or the sender, which has sent all, stops it: about a round
    /// trip of credits is wasted.
    #[default]
    LastData,
    /// As `LastData`, but the sender stops the receiver as soon as the credits of the last round trip were as many as
    /// the frames that remain (the public code since 2018). If fewer follow it asks again.
    Early,
    /// The receiver stops by itself once it has granted as many credits as were asked for. If some were dropped the
    /// sender asks again for the rest.
    Demand,
}

/// The numbers of a flow. [`Config::new`] gives the defaults of the public code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rate of the receiver's link.
    pub link: BitsPerSec,
    /// The part of a link that credits may use: the maximum credit rate is this part of the receiver's link.
    pub share: Share,
    /// The smallest credit, on the wire.
    pub min_credit: u16,
    /// The largest credit, on the wire. Sizes are drawn uniformly from the smallest to this one.
    pub max_credit: u16,
    /// The least the gap to the next credit deviates, as a fraction of it. Above -1.
    pub min_jitter: f64,
    /// The most it deviates. Deviations are drawn uniformly.
    pub max_jitter: f64,
    /// Payload of a full data frame. From 1 to 65,457 bytes.
    pub payload: Bytes,
    /// When credits end.
    pub stop: StopPolicy,
    /// After this long a request or a report of lost data is repeated. Should be longer than any round trip.
    pub retransmit_timeout: Span,
    /// After this long a stop is repeated as long as no round trip was measured; after two round trips otherwise.
    pub stop_timeout: Span,
    /// How many data packets may overtake one before it is taken for lost; the public code has 0.
    pub reordering: u32,
    /// What is sent before the first credit (Aeolus); nothing if there is none.
    pub start: Option<aeolus::Config>,
    /// The sender sees no more of its demand than this, which is its send buffer; all of it if there is none.
    pub send_buffer: Option<Bytes>,
}

impl Config {
    /// The defaults of the public code for a receiver behind a link of this rate.
    #[must_use]
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
            start: None,
            send_buffer: None,
        }
    }
}
