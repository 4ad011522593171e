//! Tests of the command as a process, and of the pages that are generated from its types and records.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(unix)]
mod advise;
mod command;
mod compare;
mod docs;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod endpoint_failure;
mod generated_pages;
#[cfg(unix)]
mod hostile;
mod messages;
mod pages;
#[cfg(target_os = "linux")]
mod ping;
mod report;
mod sessions;
mod sweep;
#[cfg(unix)]
mod terminal;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod transfer_identity;
#[cfg(target_os = "linux")]
mod transfer_interrupt;
#[cfg(target_os = "linux")]
mod transfer_kill;
