//! Types that all other crates use: time, bytes, rates, envelopes of packets, the event queue, random streams,
//! measurement hooks. No protocol and no clock.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

/// Gives an enum `COUNT`, `ALL` in the order of its variants, and `name`: `names! { Class { Data = "data" } }`.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            pub const COUNT: usize = [$($name),+].len();
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// The name in results, tables, figures and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

pub mod envelope;
pub mod event_queue;
pub mod pace;
pub mod probe;
pub mod quantity;
pub mod seed;
pub mod units;

pub use envelope::{Class, Ecn, End, Envelope, MTU, Node, Packet};
pub use event_queue::{EventQueue, EventTarget};
pub use pace::{Pace, Step};
pub use probe::{DropCause, Facts, NoProbe, Probe, QueueId};
pub use quantity::{BufferSize, QuantityError};
pub use seed::{Seed, Stream};
pub use units::{BitsPerSec, Bytes, Share, Span, Time};
