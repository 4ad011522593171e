//! Tests of the public interface of shallop-workbench: one executable, one module per subject.

mod claims;
mod cores;
mod exports;
mod imports;
mod reuse;
mod site_networks;
mod traces;
