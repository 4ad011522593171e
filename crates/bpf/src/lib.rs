//! BPF programs for the running kernel, written in C (folder `c`), and the code that loads them: congestion controllers
//! (`tcp_congestion_ops`: Gemini, DCTCP, ECN* and Vegas) and the CLEAN proxy.
//!
//! The arithmetic is in headers without kernel types, which tests compare with `shallop-control`. With the feature
//! `load`, clang compiles the programs and libbpf loads them. Without it, every attempt to load one returns
//! [`BpfError::NotBuilt`].
//!
//! The kernel removes a loaded program when the process ends, unless the program is pinned.

#[cfg(not(feature = "load"))]
mod absent;
pub mod clean;
mod connection;
pub mod controller;
mod error;
pub mod inventory;
#[cfg(feature = "load")]
mod libbpf;
pub mod machine;
mod prefix;

pub use connection::Connection;
pub use controller::{Controller, Law, Program};
pub use error::BpfError;
pub use prefix::Prefix;

/// The source of Gemini as a kernel module, which includes [`GEMINI_HEADER`].
pub const GEMINI_MODULE: &str = include_str!("../c/gemini.c");
/// Gemini's arithmetic in C, for the kernel module and the BPF program.
pub const GEMINI_HEADER: &str = include_str!("../c/gemini.h");
