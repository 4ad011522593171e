//! The flows of a run: sender, receiver, size, start and path. They are generated one by one, so that a run with a
//! million flows stores none that has not started.

use std::iter::Peekable;

use shallop_core::{BitsPerSec, Bytes, End, Node, Span, Time};
use shallop_proto::wire;
use shallop_switch::Routes;
use shallop_topology::Paths;

use crate::ideal::ideal_fct;
use crate::network::Network;
use crate::resolved::ResolvedRun;
use crate::sources::{ArrivalIter, arrivals};
use crate::transport::FlowContext;

/// A flow. Flows are numbered in order of start.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The number.
    pub number: u32,
    /// The group, an index into [`crate::plan::Plan::groups`].
    pub group: usize,
    /// The host of the sender.
    pub from: Node,
    /// The host of the receiver.
    pub to: Node,
    /// The start time.
    pub start: Time,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// False if it starts in the warm-up or cool-down of its group.
    pub counted: bool,
    /// The path.
    pub path: PathFacts,
}

impl Flow {
    /// The completion time of the flow in an empty network; zero for a flow without end.
    pub fn ideal(&self, setup: &ResolvedRun<'_>) -> Span {
        let Some(size) = self.size else { return Span::ZERO };
        let graph = &setup.network.graph;
        let links = self.path.there.iter().map(|&port| graph.link_of(port));
        let links = links.map(|link| (link.rate, link.delay));
        ideal_fct(links, u64::from(self.path.payload), size)
    }

    /// How long before its data is available the flow requests credits.
    pub fn request_lead(&self, setup: &ResolvedRun<'_>) -> Span {
        let transport = &setup.plan.transport(setup.scheme, self.group).transport;
        transport.request_lead(self.path.base_rtt)
    }

    /// The context from which its endpoints are configured, given the waiting time of its group.
    pub fn context(&self, setup: &ResolvedRun<'_>, wait: Span) -> FlowContext {
        let (sender, receiver) = self.path.nics;
        let share = |nic: u32| setup.layout.shares[nic as usize].metered;
        FlowContext {
            number: self.number,
            size: self.size,
            payload: self.path.payload,
            base_rtt: self.path.base_rtt,
            wait,
            sender_link: setup.network.graph.link_of(sender).rate,
            receiver_link: self.path.receiver_link,
            sender_share: share(sender),
            receiver_share: share(receiver),
            seed: setup.root(),
        }
    }
}

/// The properties of the path of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFacts {
    /// The payload of a full data packet: the smallest MTU on the path, less headers.
    pub payload: u16,
    /// The sender's and the receiver's port.
    pub nics: (u32, u32),
    /// Rate of the receiver's link.
    pub receiver_link: BitsPerSec,
    /// The round-trip time of a smallest frame in an empty network; the longest possible one if links have jitter or
    /// change.
    pub base_rtt: Span,
    /// The ports on the path to the receiver.
    pub there: Vec<u32>,
}

/// The flows of a run in order of start, and at equal times in the order of the groups.
pub struct FlowGenerator<'a> {
    network: &'a Network,
    routes: &'a Routes,
    groups: Vec<Peekable<ArrivalIter<'a>>>,
    next: u32,
}

impl<'a> FlowGenerator<'a> {
    /// All flows of this run.
    pub fn new(setup: &'a ResolvedRun<'_>) -> Self {
        let groups = (0..setup.plan.groups.len()).map(|group| arrivals(setup, group).peekable());
        let (network, routes) = (&setup.network, &setup.routes);
        Self { network, routes, groups: groups.collect(), next: 0 }
    }
}

impl Iterator for FlowGenerator<'_> {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let starts = self.groups.iter_mut().enumerate();
        let starts = starts.filter_map(|(group, source)| Some((source.peek()?.start, group)));
        let (_, group) = starts.min()?;
        let arrival = self.groups[group].next()?;
        let number = self.next;
        self.next += 1;
        let walk = |from, to, end| Paths::walk(&self.network.graph, self.routes, from, to, end);
        let there = walk(arrival.from, arrival.to, End::receiver(number));
        let back = walk(arrival.to, arrival.from, End::sender(number));
        Some(Flow {
            number,
            group,
            from: arrival.from,
            to: arrival.to,
            start: arrival.start,
            size: arrival.size,
            counted: arrival.counted,
            // All pairs were checked when the run was set up.
            path: facts(self.network, there, &back)?,
        })
    }
}

/// The properties of a path and its reverse path; `None` if there is no path.
fn facts(network: &Network, there: Vec<u32>, back: &[u32]) -> Option<PathFacts> {
    let graph = &network.graph;
    let (&sender_nic, &receiver_nic) = (there.first()?, back.first()?);
    let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
    let mtu = there.iter().map(|&port| graph.link_of(port).mtu).min()?;
    Some(PathFacts {
        payload: mtu.get().saturating_sub(wire::HEADERS).min(wire::MAX_PAYLOAD) as u16,
        nics: (sender_nic, receiver_nic),
        receiver_link: graph.link_of(receiver_nic).rate,
        base_rtt: network.longest_transit(&there, smallest)
            + network.longest_transit(back, smallest),
        there,
    })
}

/// The number of flows whose reverse paths are compared.
pub const COMPARED_FLOWS: usize = 10_000;

/// Among the first flows: how many there are for which `counts` holds, and how many of these have a reverse path over
/// the same links.
pub fn symmetric_flows(setup: &ResolvedRun<'_>, counts: impl Fn(&Flow) -> bool) -> (usize, usize) {
    let graph = &setup.network.graph;
    let same = |flow: &Flow| {
        let end = End::sender(flow.number);
        let mut back = Paths::walk(graph, &setup.routes, flow.to, flow.from, end);
        back.reverse();
        back.iter().map(|port| port ^ 1).eq(flow.path.there.iter().copied())
    };
    let compared = FlowGenerator::new(setup).take(COMPARED_FLOWS).filter(counts);
    compared.fold((0, 0), |(all, symmetric), flow| (all + 1, symmetric + usize::from(same(&flow))))
}
