//! `FlashPass` (ICNP 2021). For each data packet, the sender sends an emulation packet through a queue that switches
//! meter; the receiver returns a credit for each emulation packet that arrives; and the data packet leaves one waiting
//! time (`T_wait`) after its emulation packet. What the paper leaves open: docs/flashpass.md.

pub mod credit_engine;
pub mod epochs;
pub mod head;
pub mod receiver;
pub mod sender;
mod unscheduled_acks;

pub use credit_engine::{CreditEngine, CreditEngineConfig, Emulation};
pub use head::Head;
pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig};

pub type Peer<R> = crate::peer::Peer<Sender<R>, Receiver>;
