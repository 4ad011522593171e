//! Tests of the public interface of shallop-sim: one executable, one module per subject.

mod aqm;
mod expresspass;
mod middlebox;
