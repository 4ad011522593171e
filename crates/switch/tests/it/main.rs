//! Tests of the public interface of shallop-switch: one executable, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its bench should fail there")]

mod aqm;
mod pool;
mod port;
mod scripts;
mod support;
