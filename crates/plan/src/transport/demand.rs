//! How much of the data that is still to be sent a sender knows, and so requests credits for.

use shallop_core::form::Key;
use shallop_core::options::Refused;
use shallop_core::{Bytes, options, words};

/// What a sender knows of its demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownDemand {
    All,
    Buffer,
}

words! { KnownDemand { All = "known", Buffer = "buffer" } }

options! {
    /// The demand that a sender knows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Demand(const) {
        /// The data for which a sender requests credits: all that remains of the flow (`"known"`), or no more than its
        /// send buffer holds (`"buffer"`).
        key demand: KnownDemand = KnownDemand::All;
        /// The size of the send buffer, with `demand = "buffer"`.
        key send_buffer: Option<Bytes> [Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000))] = None;
    }
    check Demand::check;
}

impl Demand {
    fn check(&self, _: &dyn Fn(&'static Key) -> bool) -> Result<(), Refused> {
        match (self.demand, self.send_buffer) {
            (KnownDemand::Buffer, None) => Err(Refused::new(
                Self::KEY.demand,
                "the size of the send buffer is not said",
                "add send_buffer = \"1MB\", or another size",
            )),
            (KnownDemand::All, Some(_)) => Err(Refused::new(
                Self::KEY.send_buffer,
                "all of the demand is known",
                "it goes with demand = \"buffer\"",
            )),
            _ => Ok(()),
        }
    }
}
