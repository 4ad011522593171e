//! The emulator: the simulator's own network, kept to a clock outside, with hosts that are reached by lines of frames.
//! Ports, pools and middleboxes are those of a simulation and decide everything at exact instants; a frame is written
//! when the instant at which it arrives has come. The clock and the lines are given ([`Lines`]), so that a test, a tape
//! and a real network interface are the same to it.

pub mod counters;
mod emulator;
mod lines;
pub mod offload;
mod response;
pub mod tape;

pub use counters::Counters;
pub use emulator::Emulator;
pub use lines::Lines;
