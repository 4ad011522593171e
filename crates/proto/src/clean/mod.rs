//! CLEAN: a proxy that answers congestion marks for senders that know nothing of them. At the edge of its network it
//! makes what enters ECN-capable; at the last hop, behind the queue there, it counts the marks, clears them, and lowers
//! the window that receivers offer to what its own law allows ([`shallop_control::clean`]). The ends' TCP stays as it
//! is. State: a bounded table of flows ([`table`]). Source: clean-campus; docs/clean.md for what the paper leaves open.

pub mod flow;
pub mod table;

use std::marker::PhantomData;

use shallop_control::clean as law;
use shallop_core::{Ecn, Packet, Span, Time};

use crate::any::AnyHead;
use crate::middlebox::Middlebox;
use crate::tcp::{Flags, Head};
use crate::{expresspass, flashpass, udp, wire};
use table::Table;

/// A head that may be TCP's.
pub trait Look {
    /// TCP's head, if it is one.
    fn tcp(&mut self) -> Option<&mut Head>;
}

impl Look for Head {
    fn tcp(&mut self) -> Option<&mut Head> {
        Some(self)
    }
}

impl Look for AnyHead {
    fn tcp(&mut self) -> Option<&mut Head> {
        if let Self::Tcp(head) = self { Some(head) } else { None }
    }
}

/// Others are none.
macro_rules! never_tcp {
    ($($head:ty),*) => {$(
        impl Look for $head {
            fn tcp(&mut self) -> Option<&mut Head> {
                None
            }
        }
    )*};
}
never_tcp!(expresspass::Head, flashpass::Head, udp::Head);

/// How a proxy is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The law of each flow.
    pub law: law::Config,
    /// Payload of a full segment, until one was seen.
    pub segment: u16,
    /// A flow of which nothing passes for so long is forgotten; what it sends then is a new flow.
    pub idle: Span,
    /// At most so many flows are known; others keep the windows their receivers offer.
    pub flows: u32,
    /// Windows do not grow beyond four times what passes in a round trip (docs/clean.md, "Growth that nobody uses").
    pub validate: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            law: law::Config::default(),
            segment: (wire::MTU - wire::HEADERS) as u16,
            idle: Span::from_secs(10),
            flows: 65_536,
            validate: true,
        }
    }
}

/// What a proxy has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that became ECN-capable.
    pub enabled: u64,
    /// Segments of data that were counted, and those of them that were marked.
    pub data: u64,
    /// Of these the marked ones.
    pub marked: u64,
    /// Acknowledgements whose window was lowered.
    pub lowered: u64,
    /// Packets of flows for which there was no room in the table.
    pub refused: u64,
}

/// The proxy's part at one node: an edge of its network, a last hop, or both.
#[derive(Clone, Debug)]
pub struct Proxy<H> {
    config: Config,
    /// Ports elsewhere by whose wires packets come in from outside.
    outside: Vec<u32>,
    /// Ports of this node that lead to the receivers.
    inside: Vec<u32>,
    table: Table,
    counts: Counts,
    head: PhantomData<H>,
}

impl<H> Proxy<H> {
    /// A proxy at a node: `outside` are the ports of other nodes from which packets enter its network here, `inside`
    /// the ports of the node itself that are the last hop.
    #[must_use]
    pub fn new(config: &Config, outside: Vec<u32>, inside: Vec<u32>) -> Self {
        let table = Table::new(config.flows, config.idle);
        let (config, counts) = (*config, Counts::default());
        Self { config, outside, inside, table, counts, head: PhantomData }
    }

    /// What it has done.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The flows it knows.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }
}

impl<H: Look> Middlebox for Proxy<H> {
    type Head = H;

    const LEAVES: bool = true;

    fn pass(&mut self, now: Time, port: u32, packet: &mut Packet<H>) {
        let Some(head) = packet.cargo.tcp() else { return };
        if packet.envelope.ecn == Ecn::NotEct && self.outside.contains(&port) {
            packet.envelope.ecn = Ecn::Ect;
            self.counts.enabled += 1;
        }
        let end = packet.envelope.end;
        if end.is_sender() && head.flags.has(Flags::ACK) && self.inside.contains(&(port ^ 1)) {
            let next = head.ack as u32;
            match self.table.find(&self.config, now, end.flow(), next) {
                Some(flow) => {
                    self.counts.lowered += u64::from(flow.on_ack(&self.config, now, head));
                }
                None => self.counts.refused += 1,
            }
        }
    }

    fn leave(&mut self, now: Time, port: u32, packet: &mut Packet<H>) {
        let Some(head) = packet.cargo.tcp() else { return };
        if !self.inside.contains(&port) {
            return;
        }
        let marked = packet.envelope.ecn == Ecn::Ce;
        packet.envelope.ecn = Ecn::NotEct;
        let end = packet.envelope.end;
        if end.is_sender() || head.len == 0 {
            return;
        }
        self.counts.data += 1;
        self.counts.marked += u64::from(marked);
        match self.table.find(&self.config, now, end.flow(), head.seq as u32) {
            Some(flow) => flow.on_data(&self.config, now, head, marked),
            None => self.counts.refused += 1,
        }
    }
}
