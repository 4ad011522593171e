//! TCP: a stream in segments, acknowledged cumulatively and selectively, its window left to a controller. A sender is
//! generic over [`shallop_control::Window`]; a receiver is the same for all. Sources: RFC 9293 and those named in
//! each file.

mod answer;
pub mod config;
pub mod delivery;
pub mod echo;
pub mod head;
pub mod holes;
mod kept;
pub mod loss;
pub mod news;
pub mod receiver;
pub mod recovery;
pub mod scoreboard;
pub mod sender;
pub mod tail;
mod timer;

pub use config::{Acks, Capable, Config, Detection, Marks, Silence, Stack};
pub use head::{Block, Flags, Head};
pub use receiver::Receiver;
pub use sender::Sender;

/// Either end of a flow.
pub type Tcp<W> = crate::peer::Peer<Sender<W>, Receiver>;
