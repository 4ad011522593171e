//! Tests of the public interface of shallop-scenario: one executable, one module per subject.

mod advice;
mod buffers;
mod changes;
mod claims;
mod commands;
mod docs;
mod ineffective;
mod keys;
mod malformed;
mod network_files;
mod paths;
mod planted;
mod scenario;
mod topologies;
mod vary;
