//! What a controller declares beside itself: its parameters, which are its options in scenarios
//! ([`shallop_core::options!`]), and its names there.

use shallop_core::options::{HostStack, Options};
use shallop_core::{Bytes, Span, words};

/// The longest time an option may say.
pub const LONGEST: Span = Span::from_secs(3_600);

/// The congestion marks (ECN) that a controller asks TCP for, unless the scenario says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// ECN is off.
    Off,
    /// RFC 3168: one reduction per window of data.
    Classic,
    /// Every mark is echoed, as DCTCP needs it (RFC 8257).
    Exact,
}

words! { Marking { Off = "off", Classic = "classic", Exact = "exact" } }

/// A name of a controller in scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// What the controller goes by, in a few words, for whoever chooses among transports.
    pub about: &'static str,
    /// The marks it asks for.
    pub marking: Marking,
}

/// The parameters of a controller.
pub trait Parameters: Options<Context: From<HostStack>> {
    /// The names of the controller in scenarios.
    const KINDS: &'static [Kind];

    /// Whether it needs every mark of congestion to keep queues short: it responds to how many there are, and to
    /// nothing else but loss.
    fn needs_each_mark(&self) -> bool {
        Self::KINDS.iter().all(|kind| kind.marking == Marking::Exact)
    }

    /// The slow-start threshold of a new connection, if it is set; otherwise the first slow start ends at congestion.
    fn initial_threshold(&self) -> Option<Bytes> {
        None
    }
}
