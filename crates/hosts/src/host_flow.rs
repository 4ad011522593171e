//! A flow between real hosts: its protocol, addresses and ports.

use crate::{addresses, frame::SocketPair};
use shallop_core::{BitsPerSec, Bytes};
use shallop_proto::wire;
use std::net::SocketAddr;

/// The transport protocol of a flow between real hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowProtocol {
    Tcp {
        /// The congestion controller, as an index into [`HostFlows::controllers`](crate::HostFlows::controllers).
        controller: u16,
    },
    /// UDP datagrams at a constant rate.
    Udp(UdpOptions),
    /// QUIC on credits (`FlashPass`).
    Quic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// The rate on the wire, preambles and gaps included.
    pub rate: BitsPerSec,
    /// Payload bytes of a full datagram.
    pub payload: u16,
    pub ect: bool,
}

/// Bytes on the wire of a datagram, preamble and gap included. `payload` is in bytes.
pub fn udp_wire_bytes(payload: u64) -> Bytes {
    Bytes::new(u64::from(wire::frame(wire::UDP_HEADERS + payload)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFlow {
    pub number: u32,
    /// The start time, in nanoseconds of the hosts' clock.
    pub start: u64,
    /// Payload bytes; `None` if the flow has no end.
    pub size: Option<u64>,
    /// The number of the sending host among the real hosts.
    pub from: u32,
    /// The number of the receiving host among the real hosts.
    pub to: u32,
    pub source_port: u16,
    pub protocol: FlowProtocol,
}

impl HostFlow {
    pub const fn destination_port(&self) -> u16 {
        match self.protocol {
            FlowProtocol::Tcp { controller } => addresses::FIRST_TCP_PORT + controller,
            FlowProtocol::Udp(_) => addresses::UDP_PORT,
            FlowProtocol::Quic => addresses::QUIC_PORT,
        }
    }

    /// The addresses and ports of packets from the sender to the receiver.
    pub fn sockets(&self) -> SocketPair {
        SocketPair {
            from: (addresses::address(self.from), self.source_port),
            to: (addresses::address(self.to), self.destination_port()),
        }
    }

    pub fn source(&self) -> SocketAddr {
        addresses::socket(self.from, self.source_port)
    }

    pub fn destination(&self) -> SocketAddr {
        addresses::socket(self.to, self.destination_port())
    }
}
