//! Tests of the public interface of shallop-workload: one executable, one module per subject.

mod trace;
