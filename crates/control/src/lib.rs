//! Controllers: arithmetic on one struct of facts. None sees a packet or arms a timer.

pub mod any;
pub mod cubic;
pub mod dctcp;
pub mod expresspass;
pub mod flashpass;
pub mod hystart;
pub mod rate;
pub mod reno;
pub mod vegas;
pub mod window;

pub use any::AnyWindow;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use rate::{Epoch, Rate};
pub use reno::Reno;
pub use vegas::Vegas;
pub use window::{Ack, Basis, Loss, RateSample, Start, Window};
