//! Real hosts in a simulated network: their frames and addresses, the flows between them, the monitors that count their
//! packets, and hosts that run at the pace of a clock. Hosts are kernels in virtual time or namespaces of this
//! machine's own kernel; this crate knows neither.

pub mod addresses;
pub mod counters;
mod emulator;
pub mod flow_classifier;
pub mod flow_monitor;
pub mod flows;
pub mod frame;
mod host_endpoint;
mod host_flow;
mod host_packets;
pub mod ip;
pub mod offload;
mod packet_io;
pub mod parent_death;
mod programs;
mod response_time;
pub mod tape;
mod tcp_info;
#[cfg(test)]
mod test_frames;

pub use counters::Counters;
pub use emulator::{Emulator, STANDSTILL};
pub use flow_classifier::FlowClassifier;
pub use flow_monitor::{FlowMonitor, FrameHead};
pub use flows::HostFlows;
pub use host_endpoint::{Head, HostEndpoint, outgoing};
pub use host_flow::{FlowProtocol, HostFlow, UdpOptions, udp_wire_bytes};
pub use host_packets::{ArrivedPacket, HostPackets, SentPacket};
pub use packet_io::PacketIo;
pub use programs::{Program, ProgramEnd};
pub use tcp_info::TcpInfo;
