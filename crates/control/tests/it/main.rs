//! Tests of the public interface of shallop-control: one executable, one module per subject.

mod bbr;
mod clean;
mod copa;
mod dctcp;
mod event_script;
mod flashpass;
mod gemini;
mod loss_based;
mod options;
mod page;
mod prague;
mod support;
mod vegas;
