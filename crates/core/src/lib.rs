//! The words every other crate is written in. Knows no packet contents, no protocol, no switch and no clock.

pub mod agenda;
pub mod envelope;
pub mod form;
pub mod pace;
pub mod probe;
pub mod quantity;
pub mod seed;
pub mod units;

pub use agenda::{Actor, Agenda};
pub use envelope::{Class, Ecn, End, Envelope, Node, Packet};
pub use pace::Pace;
pub use probe::{DropCause, Facts, Off, Place, Probe};
pub use quantity::{BufferSize, QuantityError};
pub use seed::{Seed, Stream};
pub use units::{BitsPerSec, Bytes, Share, Span, Time};
