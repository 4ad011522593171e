//! What the fuzz targets share: values drawn from the bytes of libFuzzer, and a driver for the two ends of a flow.

pub mod draw;
pub mod flow;
