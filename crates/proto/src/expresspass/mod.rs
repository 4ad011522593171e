//! `ExpressPass`. The receiver paces credits of 84 B; every link on the path of the credits meters them; and each
//! credit that reaches the sender releases one data frame. So data never exceeds the capacity of the reverse path. The
//! loss of credits at the meters controls the credit rate. Routes must be symmetric.
//!
//! With Aeolus (`crate::aeolus`) the sender sends unscheduled data between its request and the first answer. Lost
//! unscheduled data is retransmitted selectively, other data by go-back-N, all on credits.
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017; kaist-ina/ns2-xpass f4e38bc ("the public code"). What both leave open:
//! docs/expresspass.md.

pub mod config;
mod credit_loss;
mod credit_pacer;
pub mod head;
pub mod receiver;
pub mod sender;

pub use config::{Config, StopPolicy};
pub use head::Head;
pub use receiver::Receiver;
pub use sender::Sender;
pub use shallop_control::expresspass as rule;

pub type Peer<R> = crate::peer::Peer<Sender, Receiver<R>>;
