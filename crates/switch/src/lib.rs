//! Switches as machines. A port takes packets and time, gives packets back when they have crossed its wire, and has one
//! deadline. It reads envelopes only: what a packet says to its receiver is not in this crate's words.

pub mod aggregate;
pub mod level;
pub mod limit;
pub mod mark;
pub mod meter;
pub mod occupancy;
pub mod order;
pub mod pool;
pub mod port;
pub mod queue;
pub mod red;
pub mod ring;
pub mod room;
pub mod route;
pub mod schedule;
pub mod select;
pub mod wire;

pub use aggregate::Aggregate;
pub use limit::{Holding, Limit};
pub use mark::{Mark, MarkAt};
pub use meter::Meter;
pub use occupancy::Occupancy;
pub use order::Order;
pub use pool::{Claim, Member, Pool, PoolConfig, Pooled};
pub use port::{Counts, Port, PortConfig};
pub use queue::{Queue, QueueConfig};
pub use red::{Average, Red, RedConfig, Verdict};
pub use ring::Ring;
pub use room::{Look, Memory, Room};
pub use route::{Leaf, Routes};
pub use select::Select;
pub use wire::{Change, Impairment, Wire};
