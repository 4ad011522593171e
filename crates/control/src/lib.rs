//! Congestion controllers. A controller is arithmetic on the facts of an ACK or a congestion event: it sees no packet,
//! owns no timer and reads no clock.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods)]
#![deny(clippy::disallowed_types)]
#![warn(missing_docs)]

pub mod added;
pub mod any;
pub mod bbr;
mod bictcp;
pub mod binary;
pub mod clean;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod ewma;
pub mod expresspass;
pub mod flashpass;
pub mod gemini;
pub mod hystart;
pub mod loss;
pub mod options;
pub mod pacing;
pub mod prague;
pub mod rate;
pub mod reno;
pub mod vegas;
mod win_minmax;
pub mod window;

pub use added::{Added, Controller};
pub use any::AnyWindow;
pub use bbr::Bbr;
pub use clean::Clean;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use gemini::Gemini;
pub use options::{ControllerName, Marking, Parameters};
pub use prague::Prague;
pub use rate::{Epoch, Rate};
pub use reno::Reno;
pub use shallop_options::HostStack;
pub use vegas::Vegas;
pub use window::{Ack, Basis, Loss, RateSample, Start, Undo, Window};
