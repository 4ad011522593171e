//! `FlashPass`: a sender rehearses its data with emulation packets on a metered queue, the receiver returns a credit
//! for each that arrives, and the data packet follows exactly one waiting time after its rehearsal
//! (flashpass-icnp21).

pub mod epochs;
mod gather;
pub mod head;
pub mod pass;
pub mod receiver;
pub mod sender;

pub use head::Head;
pub use pass::{Emulation, Pass, PassConfig};
pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig};

/// Either end of a flow.
pub type Peer<R> = crate::peer::Peer<Sender<R>, Receiver>;
