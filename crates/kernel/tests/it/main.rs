//! What needs no kernel: bytes that a kernel may send, and vectors of Gemini.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod gemini;
mod malformed;
