//! Tests of the public interface of shallop-switch: one executable, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its bench should fail there")]

mod aggregate;
mod aqm;
mod causes;
mod pool;
mod port;
mod support;
