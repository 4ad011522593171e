//! Hosts of the simulator that are real Linux kernels, in virtual time.
//!
//! A kernel is Linux built as an ordinary program (User-Mode Linux) that takes its time from us (external time travel),
//! with network cards whose device side is ours (virtio over vhost-user). All kernels of a run are one machine towards
//! the simulator ([`hosts::Kernels`]): they run one at a time, each until it waits or sends, and their packets cross
//! the same ports, pools and middleboxes as those of simulated hosts. A run is repeated byte by byte by its seed.
//!
//! What it costs, measured once by the command on a quiet Xeon of two cores: one flow at 10 Gb/s and 10 ms takes 6.5 us
//! of processor time a packet, acknowledgements and the start of the kernels counted, with an interrupt of a card at
//! most each 20 us, and 39 us without moderation. Across two cores it had been 26 and 152 us (`tests/cost.rs`, a shared
//! EPYC), where two kernels took 64 MB.

pub mod build;
pub mod card;
pub mod clock;
pub mod console;
pub mod error;
pub mod folder;
pub mod hosts;
pub mod initrd;
pub mod installed;
mod io;
pub mod kernel;
pub mod launch;
pub mod modules;
pub mod orders;
pub mod process;
mod processor;
pub mod programs;
pub mod ring;
pub mod run;
pub mod time_travel;
mod traffic;
pub mod vhost_user;

pub use error::{KernelError, Malformed};
pub use hosts::{KernelCounters, Kernels};
pub use installed::Installed;
pub use launch::{BOOTED, Start};
pub use modules::Module;
pub use orders::Settings;
pub use time_travel::Mode;
