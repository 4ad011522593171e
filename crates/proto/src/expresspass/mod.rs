//! `ExpressPass`: the receiver paces credits of 84 B, the network meters them on every link they cross, and each one
//! that reaches the sender releases one data frame, so that data never exceeds the links it will cross on the way back.
//! Credits that the meters drop tell the receiver to send fewer. Needs symmetric routes.
//!
//! `head` is what packets say, `config` the numbers; `sender` and `receiver` are the two ends; `pacer` is the credit
//! engine inside the receiver, `outcomes` what became of its credits.
//!
//! With Aeolus (PROTOCOLS 8, `crate::aeolus`) the sender sends data without a credit between its request and the first
//! answer. What of it is lost is repaired on credits, frame by frame; what is lost of other data, by going back N.
//!
//! Source: PROTOCOLS 7 (SIGCOMM'17; kaist-ina/ns2-xpass f4e38bc).

pub mod config;
pub mod head;
mod outcomes;
mod pacer;
pub mod receiver;
pub mod sender;

pub use config::{Config, StopPolicy};
pub use head::Head;
pub use receiver::Receiver;
pub use sender::Sender;
pub use shallop_control::expresspass as rule;

/// Either end of a flow.
pub type Peer<R> = crate::peer::Peer<Sender, Receiver<R>>;
