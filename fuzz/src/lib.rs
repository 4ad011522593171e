//! Shared parts of the fuzz targets: values drawn from the bytes of libFuzzer, and a driver for both ends of a flow.

pub mod draw;
pub mod flow;
