//! Tests of rehearsals that need nothing of the machine: tapes, and refused scenarios.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod refused;
#[path = "../support/mod.rs"]
mod support;
mod tapes;
