//! Tests of the public interface of shallop-sim: one executable, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its network should fail there")]

mod aqm;
mod expresspass;
mod middlebox;
mod prague;
mod support;
