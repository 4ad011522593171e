//! Devices as text of operating systems, and back.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod tc;
