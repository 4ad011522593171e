//! Declarations of a controller: its parameters, which are its options in scenarios ([`shallop_options`]), and
//! its names in scenarios.

use shallop_core::{Bytes, Span};
use shallop_options::{HostStack, Options, string_enum};

/// Upper bound of options of controllers that are times.
pub const LONGEST: Span = Span::from_secs(3_600);

/// The congestion marks (ECN) that a controller asks TCP for, unless the scenario says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// ECN is off.
    Off,
    /// The sender reduces its window once per window of data (RFC 3168).
    Classic,
    /// The receiver echoes every mark, as DCTCP needs it (RFC 8257).
    Exact,
}

string_enum! { Marking { Off = "off", Classic = "classic", Exact = "exact" } }

/// A name of a controller in scenarios, with properties of the controller under that name.
#[derive(Clone, Copy, Debug)]
pub struct ControllerName {
    /// The word that scenarios write, such as `cubic`.
    pub name: &'static str,
    /// The signal that the controller responds to, in a few words, for lists of transports.
    pub about: &'static str,
    /// Use of ECN that the controller asks TCP for.
    pub marking: Marking,
}

/// Parameters of a controller, and properties that follow from them.
pub trait Parameters: Options<Context: From<HostStack>> {
    /// Names of the controller in scenarios.
    const KINDS: &'static [ControllerName];

    /// Whether packets carry ECT(1), the identifier of L4S, unless the scenario says otherwise: marks that are sparse
    /// and evenly spread reduce the window in proportion (RFC 9331, 4.3).
    const IS_L4S: bool = false;

    /// Whether queues stay short only if the network marks in proportion to congestion and every mark is echoed,
    /// because the controller responds only to the number of marks and to losses.
    fn needs_each_mark(&self) -> bool {
        Self::KINDS.iter().all(|kind| kind.marking == Marking::Exact)
    }

    /// Initial slow-start threshold in bytes. `None` if the first slow start ends at congestion.
    fn initial_threshold(&self) -> Option<Bytes> {
        None
    }
}
