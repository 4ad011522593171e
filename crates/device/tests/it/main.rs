//! Tests of configurations: samples as operators have them, damaged ones, and round trips.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read their samples, and fail where they cannot make their input"
)]

mod round_trip;
mod samples;
