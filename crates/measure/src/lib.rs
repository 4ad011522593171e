//! The probe that counts during a run, and the results that are computed from its counts: flow records, time series,
//! queues, completion times. It is the same for every driver.

pub mod capture;
pub mod completion;
pub mod converge;
pub mod drops;
pub mod flow_log;
pub mod flow_records;
mod fractions;
mod groups;
mod links;
pub mod load_phase;
pub mod moment;
pub mod observer;
mod offered;
pub mod outcome;
mod pcapng;
mod pools;
pub mod probe;
pub mod rtts;
pub mod series;
mod shares;
mod warn;

pub use outcome::Outcome;
