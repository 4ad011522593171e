//! Tests of the public interface of shallop-proto: one executable, one module per subject.

mod clean;
mod expresspass;
mod expresspass_aeolus;
mod expresspass_random;
mod flashpass;
mod flashpass_aeolus;
mod flashpass_random;
mod flow_state;
mod support;
mod tcp_flow;
mod tcp_marks;
mod tcp_offload;
mod tcp_pacing;
mod tcp_random;
mod tcp_receivers;
mod tcp_recovery;
mod tcp_scripts;
mod tcp_undo;
mod tcp_work;
