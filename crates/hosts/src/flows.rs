//! The flows of a run that have real hosts at their ends: what each of them is to send, from which port, and whose the
//! packets are.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Node};
use shallop_lab::ends::{self, EndpointFactory};
use shallop_plan::ResolvedRun;
use shallop_plan::flows::Flow;
use shallop_proto::AnyEnd;

use crate::addresses;
use crate::datagrams::{DatagramEnd, DatagramOrder};
use crate::endpoint::{AnyHostEnd, KernelEnd};
use crate::frame::Ends;
use crate::host_flow::HostFlow;
use crate::pair::PairEnd;
use crate::quic::QuicEnd;

/// A flow that a real host sends to another by its own TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOrder {
    /// Its number.
    pub number: u32,
    /// When it starts, in nanoseconds of the hosts' clock.
    pub start: u64,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// The sending host, by its number among all real hosts.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The port at the sender.
    pub local: u16,
    /// The controller, an index into the run's controllers.
    pub controller: u16,
}

impl FlowOrder {
    /// The ends of the flow's connection, as its sender writes them.
    #[must_use]
    pub fn ends(&self) -> Ends {
        Ends {
            from: (addresses::address(self.from), self.local),
            to: (addresses::address(self.to), addresses::FIRST_PORT + self.controller),
        }
    }
}

/// Whose a flow is that has real hosts at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A flow of the scenario, by the number of its order.
    Order(u32),
    /// A flow of datagrams of the scenario, by its place among their orders.
    Datagrams(u32),
    /// A flow of QUIC of the scenario, by its place among their orders.
    Quic(u32),
    /// Programs' in these two hosts.
    Programs(u32, u32),
}

/// The flows between real hosts, and these hosts.
#[derive(Clone, Debug, Default)]
pub struct HostFlows {
    /// What hosts are to send.
    pub orders: Vec<FlowOrder>,
    /// What hosts are to send in datagrams.
    pub datagrams: Vec<DatagramOrder>,
    /// What hosts are to send by QUIC.
    pub quic: Vec<HostFlow>,
    /// Flows with real hosts at their ends, by the flow's number.
    pub owners: BTreeMap<u32, Owner>,
    /// The kernel's names of the congestion controllers.
    pub controllers: Vec<String>,
    /// The names of hosts, by number.
    pub names: Vec<String>,
    /// The controller that programs of a host have by default.
    pub of_programs: BTreeMap<u32, String>,
    /// The number of each host among the real ones.
    hosts: BTreeMap<Node, u32>,
    /// The flows that each host has sent so far.
    local: BTreeMap<u32, u16>,
}

impl HostFlows {
    /// The number of a host, which is new if it is seen for the first time.
    pub fn host(&mut self, setup: &ResolvedRun<'_>, node: Node) -> u32 {
        let next = self.hosts.len() as u32;
        let number = *self.hosts.entry(node).or_insert(next);
        if number == next {
            let name = setup.network.names.get(node.0 as usize).map_or("", String::as_str);
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let name = name.chars().map(|c| if fits(c) { c } else { '-' });
            self.names.push(name.collect());
        }
        number
    }

    /// The hosts, each with its number.
    #[must_use]
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (Node, u32)> {
        self.hosts.iter().map(|(&node, &number)| (node, number))
    }

    /// The index of a controller, which is added if it is new.
    pub fn controller(&mut self, name: &str) -> u16 {
        let known = self.controllers.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.controllers.push(name.to_owned());
            self.controllers.len() - 1
        }) as u16
    }

    /// Programs in these hosts have this controller by default.
    ///
    /// # Errors
    /// If a host's programs have another one already; in words.
    pub fn add_program_controller(&mut self, hosts: [u32; 2], name: &str) -> Result<(), String> {
        for host in hosts {
            let known = self.of_programs.entry(host).or_insert_with(|| name.to_owned());
            if known != name {
                let of = &self.names[host as usize];
                return Err(format!(
                    "programs in host \"{of}\" would have both {known} and {name}: give their groups one transport"
                ));
            }
        }
        Ok(())
    }

    /// The next free port of a host that sends.
    fn next_port(&mut self, host: u32) -> Result<u16, usize> {
        let used = self.local.entry(host).or_insert(0);
        if usize::from(*used) >= addresses::MAX_FLOWS_OF_HOST {
            return Err(addresses::MAX_FLOWS_OF_HOST);
        }
        *used += 1;
        Ok(addresses::FIRST_LOCAL_PORT + *used - 1)
    }

    /// Adds a flow that these hosts make themselves, from `start` of their clock on.
    ///
    /// # Errors
    /// If the host has no ports left; the most flows that it may send.
    pub fn add(
        &mut self,
        flow: &Flow,
        (from, to): (u32, u32),
        controller: &str,
        start: u64,
    ) -> Result<(), usize> {
        let local = self.next_port(from)?;
        let (number, controller) = (self.orders.len() as u32, self.controller(controller));
        self.orders.push(FlowOrder { number, start, size: flow.size, from, to, local, controller });
        self.owners.insert(flow.number, Owner::Order(number));
        Ok(())
    }

    /// The flow between these hosts, with a port of its own at the sender.
    fn host_flow(
        &mut self,
        flow: &Flow,
        (from, to): (u32, u32),
        start: u64,
    ) -> Result<HostFlow, usize> {
        let local = self.next_port(from)?;
        Ok(HostFlow { number: flow.number, start, size: flow.size, from, to, local })
    }

    /// Adds a flow of datagrams at this rate on the wire, which may be ECN-capable.
    ///
    /// # Errors
    /// As [`HostFlows::add`].
    pub fn add_datagrams(
        &mut self,
        flow: &Flow,
        hosts: (u32, u32),
        (rate, ect): (BitsPerSec, bool),
        start: u64,
    ) -> Result<(), usize> {
        let payload = flow.path.payload;
        let of = self.host_flow(flow, hosts, start)?;
        self.owners.insert(flow.number, Owner::Datagrams(self.datagrams.len() as u32));
        self.datagrams.push(DatagramOrder { flow: of, rate, payload, ect });
        Ok(())
    }

    /// Adds a flow by QUIC.
    ///
    /// # Errors
    /// As [`HostFlows::add`].
    pub fn add_quic(&mut self, flow: &Flow, hosts: (u32, u32), start: u64) -> Result<(), usize> {
        let of = self.host_flow(flow, hosts, start)?;
        self.owners.insert(flow.number, Owner::Quic(self.quic.len() as u32));
        self.quic.push(of);
        Ok(())
    }
}

/// The endpoints of flows between real hosts, and of others.
pub struct HostEnds<'a, S> {
    /// The run.
    pub setup: &'a ResolvedRun<'a>,
    /// The endpoints of simulated flows.
    pub simulated: S,
    /// The flows between real hosts.
    pub flows: &'a HostFlows,
}

impl<S: EndpointFactory<End = AnyEnd>> EndpointFactory for HostEnds<'_, S> {
    type End = AnyHostEnd<AnyEnd>;

    fn flow(&self, flow: &Flow) -> shallop_sim::Flow<Self::End> {
        let ends = match self.flows.owners.get(&flow.number) {
            None => {
                let shallop_sim::Flow { start, from, to, sender, receiver, facts, connections } =
                    self.simulated.flow(flow);
                let [sender, receiver] = [sender, receiver].map(AnyHostEnd::Simulated);
                return shallop_sim::Flow { start, from, to, sender, receiver, facts, connections };
            }
            Some(&Owner::Order(order)) => {
                KernelEnd::pair(order, flow.size).map(|end| AnyHostEnd::Kernel(Box::new(end)))
            }
            Some(&Owner::Datagrams(order)) => {
                DatagramEnd::pair(&self.flows.datagrams[order as usize]).map(AnyHostEnd::Datagrams)
            }
            Some(&Owner::Quic(order)) => {
                QuicEnd::pair(&self.flows.quic[order as usize]).map(AnyHostEnd::Quic)
            }
            Some(&Owner::Programs(from, to)) => {
                PairEnd::pair((from, to)).map(|end| AnyHostEnd::Pair(Box::new(end)))
            }
        };
        let with_ends = ends::flow(self.setup, flow, ends);
        // A real host opens a connection for each flow.
        shallop_sim::Flow { connections: None, ..with_ends }
    }
}
