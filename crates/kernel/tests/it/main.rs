//! Tests that need no kernel: bytes that a kernel may send.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod malformed;
