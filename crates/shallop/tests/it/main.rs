//! Tests of the command as a process, and of the pages that are generated from its types and records.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(unix)]
mod advise;
mod command;
mod docs;
mod generated_pages;
#[cfg(unix)]
mod hostile;
mod messages;
mod pages;
#[cfg(target_os = "linux")]
mod ping;
mod report;
#[cfg(unix)]
mod scripts;
mod tc;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod transfer_identity;
