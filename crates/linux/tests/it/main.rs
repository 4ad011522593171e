//! Rehearsals without a machine: tapes, and what a check refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod refused;
mod tapes;
