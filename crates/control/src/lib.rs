//! Controllers: arithmetic on one struct of facts. None sees a packet or arms a timer.

pub mod any;
pub mod cubic;
pub mod ewma;
pub mod expresspass;
pub mod flashpass;
pub mod gemini;
pub mod hystart;
pub mod pacing;
pub mod rate;
pub mod reno;
pub mod window;

pub use any::AnyWindow;
pub use cubic::Cubic;
pub use gemini::Gemini;
pub use rate::{Epoch, Rate};
pub use reno::Reno;
pub use window::{Ack, Basis, Loss, RateSample, Start, Window};
