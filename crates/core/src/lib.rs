//! Types that all other crates use: time, bytes, rates, envelopes of packets, the event queue, random streams,
//! measurement hooks. No protocol and no clock.

pub mod envelope;
pub mod event_queue;
pub mod pace;
pub mod probe;
pub mod quantity;
pub mod seed;
pub mod units;

pub use envelope::{Class, Ecn, End, Envelope, MTU, Node, Packet};
pub use event_queue::{EventQueue, EventTarget};
pub use pace::Pace;
pub use probe::{DropCause, Facts, NoProbe, Probe, QueueId};
pub use quantity::{BufferSize, QuantityError};
pub use seed::{Seed, Stream};
pub use units::{BitsPerSec, Bytes, Share, Span, Time};
