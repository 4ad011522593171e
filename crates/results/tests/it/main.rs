//! Tests of the crate from outside.

#![allow(
    clippy::float_cmp,
    clippy::unwrap_used,
    reason = "tests compare exact numbers, and fail where they cannot make their input"
)]

mod invented;
mod rehearsal_bound;
mod statistics;
