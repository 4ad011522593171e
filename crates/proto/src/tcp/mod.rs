//! TCP: a byte stream in segments, with cumulative and selective acknowledgements. A sender is generic over its
//! congestion controller ([`shallop_control::Window`]); a receiver has none. Data flows in one direction. Sources: RFC
//! 9293, and the RFCs and kernel functions named in each file.

mod ack;
pub mod ack_summary;
mod bursts;
pub mod config;
mod connection;
pub mod delivery_rate;
pub mod detection;
pub mod echo;
mod ecn;
pub mod head;
mod host_queue;
mod imposed;
mod interrupt_coalescing;
mod limits;
pub mod loss_state;
mod marking;
pub mod offload;
mod pacer;
pub mod prr;
pub mod rack;
mod receive_window;
pub mod receiver;
mod recovery;
mod reuse;
mod sack_compression;
pub mod scoreboard;
pub mod segment;
pub mod sender;
mod timers;
pub mod timestamp;
pub mod tlp;
mod trace;
mod undo;

pub use config::{Config, DelayedAcks, Detection, EcnConfig, IdleRestart, Spurious, Stack};
pub use head::{Flags, Head, SackBlock};
pub use host_queue::HostQueue;
pub use interrupt_coalescing::InterruptCoalescing;
pub use receiver::Receiver;
pub use sender::Sender;
pub use timestamp::Timestamp;

pub type Tcp<W> = crate::peer::Peer<Sender<W>, Receiver>;
