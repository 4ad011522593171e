//! Tests of the public interface of shallop-workbench: one executable, one module per subject.

mod imports;
mod reuse;
mod site_networks;
mod traces;
