//! Switch ports as state machines. A port takes packets and the time, returns packets that have crossed its wire, and
//! has one deadline. It reads only the envelope of a packet.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod aggregate;
pub mod buffer;
pub mod discipline;
pub mod impairment;
pub mod limit;
pub mod mark;
pub mod meter;
pub mod occupancy;
pub mod pool;
pub mod pool_occupancy;
pub mod port;
pub mod port_config;
pub mod queue;
pub mod red;
pub mod ring;
pub mod route;
pub mod schedule;
pub mod selective;
pub mod tournament;
mod transmitter;
pub mod wire;

pub use aggregate::FrameAggregation;
pub use buffer::{Buffer, PooledBuffer, PortBuffer};
pub use discipline::{Aqm, AqmOptions, AqmPort, Discipline, FifoConfig};
pub use impairment::{Fate, Impairment, Outage};
pub use limit::{Limit, QueueLength};
pub use mark::{AqmInput, Decision, MarkAt, MarkThreshold};
pub use meter::Meter;
pub use occupancy::Occupancy;
pub use pool::{Pool, PoolConfig, PoolMember, PoolQuota};
pub use port::{LinkForecast, Port, PortCounters};
pub use port_config::PortConfig;
pub use queue::{Queue, QueueConfig};
pub use red::{Average, Red, RedConfig, Signals, Spacing};
pub use ring::Ring;
pub use route::{AccessLink, RouteTable, Routes, TablePosition};
pub use selective::SelectiveDrop;
pub use tournament::TournamentTree;
pub use wire::{LinkChange, Wire};
