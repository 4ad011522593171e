//! The flows of a run: who sends what to whom from when, and what their paths are like. They are drawn as they come: a
//! run of a million flows keeps none of those that have not started.

use std::iter::Peekable;

use shallop_core::{BitsPerSec, Bytes, End, Node, Span, Time};
use shallop_proto::wire;
use shallop_sim::Paths;
use shallop_switch::Routes;

use crate::network::Network;
use crate::run::Setup;
use crate::sources::{self, Source};

/// A flow to come. Flows are numbered in the order they start.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its number.
    pub number: u32,
    /// Its group, an index into [`crate::Plan::groups`].
    pub group: usize,
    /// The host that sends.
    pub from: Node,
    /// The host that receives.
    pub to: Node,
    /// When it starts.
    pub start: Time,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// False if it starts in its group's warm-up or cool-down.
    pub counted: bool,
    /// What its path is like.
    pub path: PathFacts,
}

/// What a flow's path is like.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFacts {
    /// Payload of a full data packet: the smallest MTU on the way, less headers.
    pub payload: u16,
    /// The sender's and the receiver's port.
    pub nics: (u32, u32),
    /// Rate of the receiver's link.
    pub receiver_link: BitsPerSec,
    /// Time for a smallest frame to go and one to come back, when nothing else is there; the longest of all times if
    /// the links have jitter or change.
    pub base_rtt: Span,
    /// The ports on the way there.
    pub there: Vec<u32>,
}

/// No path leads from a sender to its receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no path leads from host \"{from}\" to host \"{to}\"")]
pub struct NoPath {
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
}

/// The flows of a run, in the order they start; equal starts in the order of the groups.
pub struct Coming<'a> {
    network: &'a Network,
    routes: &'a Routes,
    groups: Vec<Peekable<Source<'a>>>,
    next: u32,
}

impl<'a> Coming<'a> {
    /// All of them.
    #[must_use]
    pub fn new(setup: &'a Setup<'_>) -> Self {
        let groups = (0..setup.plan.groups.len()).map(|group| sources::of(setup, group).peekable());
        let (network, routes) = (&setup.network, &setup.routes);
        Self { network, routes, groups: groups.collect(), next: 0 }
    }
}

impl Iterator for Coming<'_> {
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
            // Everybody who may be drawn was checked before.
            path: facts(self.network, there, &back)?,
        })
    }
}

/// What a path there and back is like; `None` if there is none.
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

/// So many flows are looked at one by one.
pub(crate) const LOOKED_AT: usize = 10_000;

/// Of the first flows, how many count, and how many of these return over the links they went by.
pub(crate) fn same_way(setup: &Setup<'_>, counts: impl Fn(&Flow) -> bool) -> (usize, usize) {
    let graph = &setup.network.graph;
    let same = |flow: &Flow| {
        let end = End::sender(flow.number);
        let mut back = Paths::walk(graph, &setup.routes, flow.to, flow.from, end);
        back.reverse();
        back.iter().map(|port| port ^ 1).eq(flow.path.there.iter().copied())
    };
    let looked = setup.coming().take(LOOKED_AT).filter(counts);
    looked.fold((0, 0), |(looked, alike), flow| (looked + 1, alike + usize::from(same(&flow))))
}
