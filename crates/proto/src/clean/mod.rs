//! CLEAN: a proxy that responds to ECN marks for senders without ECN. Where packets enter its network, it makes them
//! ECN-capable. At the last hop, behind the queue, it counts CE marks, clears them, and reduces the receive window in
//! acknowledgements to the window of its control law ([`shallop_control::clean`]). The endpoints' TCP is unchanged.
//! State: a bounded flow cache ([`flow_cache`]). Source: clean-campus; docs/clean.md for what the paper leaves open.

pub mod flow;
pub mod flow_cache;

use crate::tcp::{Flags, Head};
use crate::{any::AnyHead, middlebox::Middlebox};
use crate::{expresspass, flashpass, udp, wire};
use flow_cache::FlowCache;
use shallop_control::{clean as law, options::LONGEST};
use shallop_core::{Ecn, Packet, Span, Time};
use shallop_options::Options;
use std::marker::PhantomData;

/// A packet header that may be a TCP header, so that the proxy can read it.
pub trait AsTcp {
    fn as_tcp_mut(&mut self) -> Option<&mut Head>;
}

impl AsTcp for Head {
    fn as_tcp_mut(&mut self) -> Option<&mut Head> {
        Some(self)
    }
}

impl AsTcp for AnyHead {
    fn as_tcp_mut(&mut self) -> Option<&mut Head> {
        if let Self::Tcp(head) = self { Some(head) } else { None }
    }
}

macro_rules! not_tcp {
    ($($head:ty),*) => {$(
        impl AsTcp for $head {
            fn as_tcp_mut(&mut self) -> Option<&mut Head> {
                None
            }
        }
    )*};
}
not_tcp!(expresspass::Head, flashpass::Head, udp::Head);

/// Options of a CLEAN proxy, which scenarios write under `clean`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(defaults)]
pub struct Config {
    #[part]
    pub law: law::Config,
    /// The maximum segment size of a flow before its first data.
    #[fixed((wire::MTU - wire::HEADERS) as u16)]
    pub segment: u16,
    /// A flow without packets for this long expires; its next packets start a new flow.
    #[key(Time(Span::from_us(1), LONGEST), default = Span::from_secs(10))]
    pub idle: Span,
    /// The size of the flow cache. Packets of other flows keep the window that their receiver offers.
    #[key(Integer(1, 1_000_000), default = 65_536)]
    pub flows: u32,
    /// Whether the growth of a window is bounded by its use: to four times the data of a round trip.
    #[key(default = true)]
    pub validate: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyCounters {
    /// Packets that the proxy made ECN-capable.
    pub made_ect: u64,
    /// The number of data packets that passed the last hop.
    pub data: u64,
    /// The number of data packets with a CE mark that passed the last hop.
    pub marked: u64,
    /// The number of acknowledgements in which the proxy reduced the window.
    pub reduced_windows: u64,
    /// Packets whose flow did not fit the flow cache.
    pub cache_full: u64,
}

/// The CLEAN proxy at one node: an entrance to the proxy's network, a last hop, or both.
#[derive(Clone, Debug)]
pub struct Proxy<H> {
    config: Config,
    /// Ports of neighbours that lead to this node and by which packets enter the proxy's network.
    edge_ports: Vec<u32>,
    /// Ports of this node that lead to receivers; the proxy works behind their queues.
    last_hop_ports: Vec<u32>,
    /// Data packets of known flows that have passed each of these ports, and how many carried CE; modulo 2^32.
    port_marks: Vec<(u32, u32)>,
    flows: FlowCache,
    counters: ProxyCounters,
    head: PhantomData<H>,
}

impl<H> Proxy<H> {
    /// Makes the proxy of a node. `edge_ports` are ports of neighbours by which packets enter the proxy's network at
    /// this node; `last_hop_ports` are ports of this node that lead to receivers.
    pub fn new(config: &Config, edge_ports: Vec<u32>, last_hop_ports: Vec<u32>) -> Self {
        let flows = FlowCache::new(config.flows, config.idle);
        let (config, counters, port_marks) = (*config, ProxyCounters::default(), vec![(0, 0); last_hop_ports.len()]);
        Self { config, edge_ports, last_hop_ports, port_marks, flows, counters, head: PhantomData }
    }

    pub const fn counters(&self) -> ProxyCounters {
        self.counters
    }

    pub const fn flows(&self) -> &FlowCache {
        &self.flows
    }
}

impl<H: AsTcp> Middlebox for Proxy<H> {
    type Head = H;

    const HAS_EGRESS: bool = true;

    fn on_ingress(&mut self, now: Time, port: u32, packet: &mut Packet<H>) {
        let Some(head) = packet.cargo.as_tcp_mut() else { return };
        if packet.envelope.ecn == Ecn::NotEct && self.edge_ports.contains(&port) {
            packet.envelope.ecn = Ecn::Ect;
            self.counters.made_ect += 1;
        }
        let end = packet.envelope.end;
        if end.is_sender() && head.flags.has(Flags::ACK) && self.last_hop_ports.contains(&(port ^ 1)) {
            let next = head.ack as u32;
            match self.flows.find(&self.config, now, end.flow(), next) {
                Some(flow) => {
                    self.counters.reduced_windows += u64::from(flow.on_ack(&self.config, now, head));
                }
                None => self.counters.cache_full += 1,
            }
        }
    }

    fn on_egress(&mut self, now: Time, port: u32, packet: &mut Packet<H>) {
        let Some(head) = packet.cargo.as_tcp_mut() else { return };
        let Some(at) = self.last_hop_ports.iter().position(|of| *of == port) else { return };
        let marked = packet.envelope.ecn == Ecn::Ce;
        packet.envelope.ecn = Ecn::NotEct;
        let end = packet.envelope.end;
        let is_syn = head.flags.has(Flags::SYN);
        if end.is_sender() || head.len == 0 && !is_syn {
            return;
        }
        let flow = self.flows.find(&self.config, now, end.flow(), head.seq as u32);
        if head.len == 0 {
            if let Some(flow) = flow {
                flow.on_syn(now);
            }
            return;
        }
        self.counters.data += 1;
        self.counters.marked += u64::from(marked);
        let Some(flow) = flow else {
            self.counters.cache_full += 1;
            return;
        };
        if !flow.accepts(head.seq.saturating_add(head.len.into())) {
            return;
        }
        let port = &mut self.port_marks[at];
        *port = (port.0.wrapping_add(1), port.1.wrapping_add(marked.into()));
        flow.on_data(&self.config, now, head, (marked, *port));
    }
}
