//! Controllers: arithmetic on one struct of facts. None sees a packet or arms a timer.

pub mod any;
pub mod bbr;
pub mod clean;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod ewma;
pub mod expresspass;
mod filter;
pub mod flashpass;
pub mod gemini;
pub mod hystart;
pub mod loss;
pub mod options;
pub mod pacing;
pub mod rate;
pub mod reno;
pub mod vegas;
pub mod window;

pub use any::AnyWindow;
pub use bbr::Bbr;
pub use clean::Clean;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use gemini::Gemini;
pub use options::{Host, Kind, Marking, Options, Refused};
pub use rate::{Epoch, Rate};
pub use reno::Reno;
pub use vegas::Vegas;
pub use window::{Ack, Basis, Loss, RateSample, Start, Window};
