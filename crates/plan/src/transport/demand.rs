//! The demand of a sender: the remaining data that it knows of, and for which it requests credits.

use shallop_core::Bytes;
use shallop_options::{Options, Problem, Section, string_enum};

/// How much of the remaining data a sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownDemand {
    All,
    Buffer,
}

string_enum! { KnownDemand { All = "known", Buffer = "buffer" } }

/// Options for the demand that a sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(defaults, check)]
pub struct Demand {
    /// The data for which a sender requests credits: all that remains of the flow (`"known"`), or no more than its
    /// send buffer holds (`"buffer"`).
    #[key(default = KnownDemand::All)]
    pub demand: KnownDemand,
    /// The size of the send buffer, with `demand = "buffer"`.
    #[key(Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)))]
    pub send_buffer: Option<Bytes>,
}

impl Demand {
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        match (self.demand, self.send_buffer) {
            (KnownDemand::Buffer, None) => Err(section
                .reject(Self::KEY.demand, "the size of the send buffer is not said")
                .with_help("add send_buffer = \"1MB\", or another size")),
            (KnownDemand::All, Some(_)) => Err(section
                .reject(Self::KEY.send_buffer, "all of the demand is known")
                .with_help("it goes with demand = \"buffer\"")),
            _ => Ok(()),
        }
    }
}
