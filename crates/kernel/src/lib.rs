//! Real Linux kernels as hosts of a simulated network, in virtual time.
//!
//! A kernel is Linux built as an ordinary program (User-Mode Linux). It takes its time from this crate (external time
//! travel), which is also the device side of its network cards (virtio over vhost-user). All kernels of a run are one
//! machine of the simulator ([`hosts::Kernels`]). They run one at a time, each until it waits or sends, and their
//! packets cross the same ports, pools and middleboxes as simulated packets. Two runs with the same seed are identical.
//!
//! Cost, measured on a quiet Xeon with two cores: a flow at 10 Gb/s and 10 ms takes 6.5 us of processor time per
//! packet, acknowledgements and the start of the kernels included, with at most one interrupt of a card each 20 us. It
//! takes 39 us without interrupt moderation. On a shared EPYC with kernels on two cores it took 26 and 152 us, and two
//! kernels took 64 MB (`tests/machine/cost.rs`).

pub mod build;
mod build_step;
pub mod card;
pub mod clock;
pub mod console;
pub mod error;
mod folder;
pub mod hosts;
mod initrd;
pub mod installed;
pub mod kernel;
pub mod lateness;
pub mod launch;
pub mod modules;
mod orders;
pub mod process;
mod processor;
mod programs;
mod record;
pub mod ring;
pub mod run;
pub mod time_travel;
mod traffic;
pub mod vhost_user;

pub use clock::BOOTED;
pub use error::{KernelError, Malformed};
pub use hosts::{KernelCounters, Kernels};
pub use installed::Installed;
pub use launch::Start;
pub use modules::Module;
pub use orders::Settings;
pub use time_travel::Mode;
