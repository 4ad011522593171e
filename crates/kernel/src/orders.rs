//! What the agent in a kernel is told before it starts, as a text file: a line an order.
//!
//! | line | meaning |
//! |---|---|
//! | `global PATH VALUE…` | a sysctl of the whole kernel |
//! | `each PATH VALUE…` | a sysctl of every host's network namespace |
//! | `module NAME PARAMETERS…` | a controller to load, the file `/NAME.ko`, with its parameters |
//! | `host CARD ADDRESS SEGMENTS` | a host, in a namespace of its own |
//! | `listen CARD PORT CONTROLLER` | its server, for flows with this controller |
//! | `flow CARD NUMBER START BYTES ADDRESS PORT LOCAL CONTROLLER` | a flow that it sends |
//! | `name CARD NAME` | the name of a host that runs programs |
//! | `congestion CARD CONTROLLER` | the controller of its programs |
//! | `program CARD NUMBER START FOLDER` | a program (programs.rs); its arguments are in the file `/program.NUMBER` |
//! | `console CARD START` | the card of the console (console.c), which begins then |
//! | `shell CARD NUMBER` | the program that has the console |
//! | `stop TIME` | when the agent reports its counters |
//!
//! `CARD` is the number of a host's card, `SEGMENTS` the most segments of a segmentation-offload packet (0: what the
//! kernel chooses). Times are guest times in nanoseconds; `BYTES` are of payload, 0 for a flow without end; `ADDRESS`
//! and `PORT` are the receiver's, `LOCAL` is the sender's port.

use std::fmt::Write;
use std::net::Ipv4Addr;

use shallop_hosts::{FlowOrder, addresses};

use crate::modules::Module;

/// The settings of all kernels of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The queue discipline of cards: `fq`, `fq_codel` or `pfifo_fast`.
    pub qdisc: String,
    /// The most segments of a segmentation-offload packet; `None` for what the kernel chooses.
    pub gso_max_segs: Option<u32>,
    /// The kernel's names of congestion controllers.
    pub controllers: Vec<String>,
    /// The controllers that are loaded.
    pub modules: Vec<Module>,
    /// Sysctls of each host, as `net.ipv4.tcp_timestamps`, with their values.
    pub sysctls: Vec<(String, String)>,
    /// The most bytes of a socket's send and receive buffer.
    pub socket_buffer: u64,
}

/// The orders of one kernel: its hosts (card by card), the flows that they send, and the guest time of the report.
#[must_use]
pub fn text(settings: &Settings, hosts: &[u32], flows: &[FlowOrder], stop: u64) -> String {
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
    // Pages: never a limit, or flows would depend on the memory of the kernel.
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
        line(format_args!(
            "host {card} {} {segments}",
            Ipv4Addr::from_bits(addresses::address(host))
        ));
        for (port, controller) in (addresses::FIRST_PORT..).zip(&settings.controllers) {
            line(format_args!("listen {card} {port} {controller}"));
        }
    }
    for flow in flows {
        let Some(card) = hosts.iter().position(|&host| host == flow.from) else { continue };
        let FlowOrder { number, start, size, local, .. } = flow;
        let to = Ipv4Addr::from_bits(addresses::address(flow.to));
        let port = addresses::FIRST_PORT + flow.controller;
        let controller = &settings.controllers[usize::from(flow.controller)];
        let bytes = size.unwrap_or(0);
        line(format_args!("flow {card} {number} {start} {bytes} {to} {port} {local} {controller}"));
    }
    line(format_args!("stop {stop}"));
    text
}
