//! Tests of the public interface of shallop-switch: one executable, one module per subject.

mod aggregate;
mod aqm;
mod causes;
mod pool;
mod port;
mod support;
