//! Real hosts in a simulated network: what a switch reads of their frames and marks, whose a frame is, what the hosts
//! are to send, and the ends of flows that count it. Hosts may be kernels in virtual time or namespaces of this
//! machine's own kernel; neither is known here.

pub mod addresses;
pub mod datagrams;
pub mod endpoint;
pub mod flows;
pub mod frame;
mod frames;
pub mod host_flow;
pub mod ip;
pub mod lifeline;
pub mod owners;
pub mod pair;
pub mod quic;

pub use endpoint::{AnyHostEnd, FrameHead, Head, KernelEnd};
pub use flows::FlowOrder;
pub use frames::Frames;
pub use host_flow::HostFlow;
pub use owners::{Owned, Owners};
pub use pair::PairEnd;
