//! The flows of a run: sender, receiver, size, start and path. They are generated one by one, so that a run with a
//! million flows stores none that has not started.

use crate::sources::{ArrivalIter, arrivals};
use crate::transport::FlowContext;
use crate::{ideal::ideal_fct, network::Network, resolved::ResolvedRun};
use shallop_core::{BitsPerSec, Bytes, End, Node, Span, Time};
use shallop_proto::wire;
use shallop_switch::Routes;
use shallop_topology::Paths;
use std::iter::Peekable;

#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Number of the flow in its run, from 0, in order of start.
    pub number: u32,
    /// Index of the flow's group in [`crate::plan::Plan::groups`].
    pub group: usize,
    pub from: Node,
    pub to: Node,
    pub start: Time,
    /// Payload of the flow in bytes; `None` for a flow without end.
    pub size: Option<u64>,
    /// Whether results include the flow; false if it starts in the warm-up or cool-down of its group.
    pub counted: bool,
    pub path: PathFacts,
}

impl Flow {
    /// The completion time of the flow alone in an empty network; zero for a flow without end.
    pub fn ideal(&self, run: &ResolvedRun<'_>) -> Span {
        let Some(size) = self.size else { return Span::ZERO };
        let graph = &run.network.graph;
        let links = self.path.there.iter().map(|&port| graph.link_of(port));
        let links = links.map(|link| (link.rate, link.delay));
        ideal_fct(links, u64::from(self.path.payload), size)
    }

    /// The time by which the flow's first request for credits precedes its data; zero for most transports.
    pub fn request_lead(&self, run: &ResolvedRun<'_>) -> Span {
        let transport = &run.plan.transport(run.scheme, self.group).transport;
        transport.request_lead(self.path.base_rtt)
    }

    /// Collects what the flow's endpoints are configured from. `wait` is the waiting time of `FlashPass` in the flow's
    /// group.
    pub fn context(&self, run: &ResolvedRun<'_>, wait: Span) -> FlowContext {
        let (sender, receiver) = self.path.nics;
        let share = |nic: u32| run.layout.shares[nic as usize].metered;
        FlowContext {
            number: self.number,
            size: self.size,
            payload: self.path.payload,
            base_rtt: self.path.base_rtt,
            wait,
            application: run.plan.groups[self.group].application,
            lasts: run.plan.groups[self.group].lasts,
            sender_link: run.network.graph.link_of(sender).rate,
            receiver_link: self.path.receiver_link,
            sender_share: share(sender),
            receiver_share: share(receiver),
            seed: run.root(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PathFacts {
    /// Payload bytes of a full data packet: the smallest MTU on the path less headers.
    pub payload: u16,
    /// The ports of sender and receiver: each is the host's end of its link.
    pub nics: (u32, u32),
    pub receiver_link: BitsPerSec,
    /// Round-trip time of a smallest frame in an empty network; the longest possible one if links have jitter or
    /// change.
    pub base_rtt: Span,
    /// The ports that data crosses from sender to receiver, in order.
    pub there: Vec<u32>,
}

/// Generates the flows of a run in order of start; at equal times, in the order of groups.
pub struct FlowGenerator<'a> {
    network: &'a Network,
    routes: &'a Routes,
    groups: Vec<Peekable<ArrivalIter<'a>>>,
    next: u32,
}

impl<'a> FlowGenerator<'a> {
    pub fn new(run: &'a ResolvedRun<'_>) -> Self {
        let groups = (0..run.plan.groups.len()).map(|group| arrivals(run, group).peekable());
        let (network, routes) = (&run.network, &run.routes);
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

/// Properties of the path between two hosts, from the ports that packets pass in each direction; `None` if no path
/// connects them.
fn facts(network: &Network, there: Vec<u32>, back: &[u32]) -> Option<PathFacts> {
    let graph = &network.graph;
    let (&sender_nic, &receiver_nic) = (there.first()?, back.first()?);
    let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
    let mtu = there.iter().map(|&port| graph.link_of(port).mtu).min()?;
    Some(PathFacts {
        payload: mtu.get().saturating_sub(wire::HEADERS).min(wire::MAX_PAYLOAD) as u16,
        nics: (sender_nic, receiver_nic),
        receiver_link: graph.link_of(receiver_nic).rate,
        base_rtt: network.longest_transit(&there, smallest) + network.longest_transit(back, smallest),
        there,
    })
}

/// The number of flows, from the start of a run, that are checked for symmetric routes.
pub const COMPARED_FLOWS: usize = 10_000;

/// Returns two counts over the first [`COMPARED_FLOWS`] flows: the flows that `counts` selects, and among these the
/// flows whose packets return over the links that they came by.
pub fn symmetric_flows(run: &ResolvedRun<'_>, counts: impl Fn(&Flow) -> bool) -> (usize, usize) {
    let graph = &run.network.graph;
    let same = |flow: &Flow| {
        let end = End::sender(flow.number);
        let mut back = Paths::walk(graph, &run.routes, flow.to, flow.from, end);
        back.reverse();
        back.iter().map(|port| port ^ 1).eq(flow.path.there.iter().copied())
    };
    let compared = FlowGenerator::new(run).take(COMPARED_FLOWS).filter(counts);
    compared.fold((0, 0), |(all, symmetric), flow| (all + 1, symmetric + usize::from(same(&flow))))
}
