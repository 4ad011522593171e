//! The orders for the agent in a kernel: a text file with an order in each line.
//!
//! | line | meaning |
//! |---|---|
//! | `global PATH VALUE…` | a sysctl of the whole kernel |
//! | `each PATH VALUE…` | a sysctl of every host's network namespace |
//! | `module NAME PARAMETERS…` | a controller to load, the file `/NAME.ko`, with its parameters |
//! | `host CARD ADDRESS SEGMENTS` | a host, in its own network namespace |
//! | `listen CARD PORT CONTROLLER` | a server in the host, for flows with this controller |
//! | `flow CARD NUMBER START BYTES ADDRESS PORT LOCAL CONTROLLER` | a flow that the host sends |
//! | `name CARD NAME` | the name of a host that runs programs |
//! | `congestion CARD CONTROLLER` | the default controller of the host's programs |
//! | `program CARD NUMBER START FOLDER` | a program; the file `/program.NUMBER` has its arguments |
//! | `console CARD START` | the card and the start time of the console (console.c) |
//! | `shell CARD NUMBER` | the program at the console |
//! | `record START INTERVAL` | the states of connections are sampled at each interval (record.c) |
//! | `stop TIME` | when the agent reports its counters |
//!
//! `CARD` is the number of a host's card, `SEGMENTS` the most segments of a segmentation-offload packet (0: the
//! kernel's default). Times are guest times in nanoseconds; `BYTES` are of payload, 0 for a flow without end; `ADDRESS`
//! and `PORT` are the receiver's, `LOCAL` is the sender's port.

use crate::{clock::BOOTED, modules::Module};
use shallop_hosts::{HostFlow, HostFlows, addresses};
use std::{fmt::Write, net::Ipv4Addr};

/// The settings of all kernels of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The queue discipline of all network cards: `fq`, `fq_codel` or `pfifo_fast`.
    pub qdisc: String,
    /// The most segments of a segmentation-offload packet; `None` for the kernel's default.
    pub gso_max_segs: Option<u32>,
    /// The kernel modules of congestion controllers to load.
    pub modules: Vec<Module>,
    /// Sysctls of each host, as `net.ipv4.tcp_timestamps`, with their values.
    pub sysctls: Vec<(String, String)>,
    /// The most bytes of a socket's send and receive buffer.
    pub socket_buffer: u64,
    /// The interval of samples of connections' states in nanoseconds, if they are recorded.
    pub record: Option<u64>,
}

/// The orders for one kernel: its hosts (card by card), the flows that they send, and the guest time of the report.
pub fn text(settings: &Settings, hosts: &[u32], flows: &HostFlows, stop: u64) -> String {
    let mut text = String::new();
    let mut line = |words: std::fmt::Arguments<'_>| {
        // A string takes everything.
        let _ = writeln!(text, "{words}");
    };
    let buffer = settings.socket_buffer;
    for (path, value) in [("rmem_max", buffer), ("wmem_max", buffer)] {
        line(format_args!("global net/core/{path} {value}"));
    }
    line(format_args!("global net/core/default_qdisc {}", settings.qdisc));
    // In pages, and beyond all use: otherwise flows would depend on the memory of the kernel.
    line(format_args!("global net/ipv4/tcp_mem 4000000 8000000 16000000"));
    for path in ["tcp_rmem", "tcp_wmem"] {
        line(format_args!("each net/ipv4/{path} 4096 131072 {buffer}"));
    }
    line(format_args!("each net/ipv4/tcp_no_metrics_save 1"));
    for Module { name, parameters } in &settings.modules {
        line(format_args!("module {name} {parameters}"));
    }
    for (path, value) in &settings.sysctls {
        line(format_args!("each {} {value}", path.replace('.', "/")));
    }
    for (card, &host) in hosts.iter().enumerate() {
        let segments = settings.gso_max_segs.unwrap_or(0);
        line(format_args!("host {card} {} {segments}", Ipv4Addr::from_bits(addresses::address(host))));
        for (port, controller) in (addresses::FIRST_TCP_PORT..).zip(&flows.controllers) {
            line(format_args!("listen {card} {port} {controller}"));
        }
    }
    for (number, (flow, controller)) in flows.tcp().enumerate() {
        let Some(card) = hosts.iter().position(|&host| host == flow.from) else { continue };
        let HostFlow { start, size, source_port, .. } = flow;
        let to = Ipv4Addr::from_bits(addresses::address(flow.to));
        let (port, bytes) = (flow.destination_port(), size.unwrap_or(0));
        let controller = &flows.controllers[usize::from(controller)];
        line(format_args!("flow {card} {number} {start} {bytes} {to} {port} {source_port} {controller}"));
    }
    if let Some(interval) = settings.record {
        line(format_args!("record {BOOTED} {interval}"));
    }
    line(format_args!("stop {stop}"));
    text
}
