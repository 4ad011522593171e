//! Controllers: arithmetic on one struct of facts. None sees a packet or arms a timer.

pub mod expresspass;
pub mod flashpass;
pub mod rate;
pub mod window;

pub use rate::{Epoch, Rate};
pub use window::{Ack, Loss, RateSample, Window};
