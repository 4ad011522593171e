//! The flows of a run: who sends what to whom from when, and what their paths are like.

use shallop_core::{BitsPerSec, Bytes, End, Node, Seed, Span, Time};
use shallop_proto::wire;
use shallop_sim::Paths;
use shallop_switch::Routes;

use crate::layout::Crossing;
use crate::network::Network;
use crate::plan::{Group, Plan, Starts};

/// A flow to come. Flows are numbered in the order they start.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its group, an index into [`Plan::groups`].
    pub group: usize,
    /// The host that sends.
    pub from: Node,
    /// The host that receives.
    pub to: Node,
    /// When it starts.
    pub start: Time,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// What its path is like.
    pub path: PathFacts,
}

/// What a flow's path is like.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Links on the way there, and back.
    pub hops: (u32, u32),
}

/// No path leads from a sender to its receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no path leads from host \"{from}\" to host \"{to}\" (group \"{group}\")")]
pub struct NoPath {
    /// The group.
    pub group: String,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
}

/// The flows of a plan, in the order they start; equal starts in the order of the groups.
///
/// # Errors
/// The first pair of hosts that no path joins.
pub fn flows(
    plan: &Plan,
    network: &Network,
    routes: &Routes,
    seed: Seed,
) -> Result<(Vec<Flow>, Vec<Crossing>), NoPath> {
    let mut all: Vec<(Time, usize, Node, Node)> = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        for number in 0..group.flows {
            let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
            let start = Time::after_start(start(group, index, number, seed));
            all.push((start, index, pick(&group.from), pick(&group.to)));
        }
    }
    all.sort_by_key(|&(start, group, ..)| (start, group));
    let mut crossings = vec![Crossing::default(); network.graph.ports()];
    let mut flows = Vec::with_capacity(all.len());
    for (number, (start, group, from, to)) in all.into_iter().enumerate() {
        let size = plan.groups[group].size;
        let walk = |from, to, end| Paths::walk(&network.graph, routes, from, to, end);
        let there = walk(from, to, End::receiver(number as u32));
        let back = walk(to, from, End::sender(number as u32));
        let Some(path) = facts(network, &there, &back) else {
            let name = |node: Node| network.names[node.0 as usize].clone();
            let group = plan.groups[group].name.clone();
            return Err(NoPath { group, from: name(from), to: name(to) });
        };
        for &port in &there {
            crossings[port as usize].data = true;
        }
        for &port in &back {
            crossings[port as usize].returns = true;
        }
        flows.push(Flow { group, from, to, start, size, path });
    }
    Ok((flows, crossings))
}

fn start(group: &Group, index: usize, number: usize, seed: Seed) -> Span {
    match group.start {
        Starts::At(at) => at,
        Starts::Every(first, gap) => first + gap * number as u64,
        Starts::Drawn(low, high) => {
            let id = (index as u64) << 32 | number as u64;
            low + (high - low).scale(seed.stream("start", id).unit())
        }
    }
}

/// What a path there and back is like; `None` if there is none.
fn facts(network: &Network, there: &[u32], back: &[u32]) -> Option<PathFacts> {
    let graph = &network.graph;
    let (&sender_nic, &receiver_nic) = (there.first()?, back.first()?);
    let mtu = there.iter().map(|&port| graph.link_of(port).mtu).min()?;
    let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
    Some(PathFacts {
        payload: mtu.get().saturating_sub(wire::HEADERS).min(wire::MAX_PAYLOAD) as u16,
        nics: (sender_nic, receiver_nic),
        receiver_link: graph.link_of(receiver_nic).rate,
        base_rtt: network.longest_transit(there, smallest)
            + network.longest_transit(back, smallest),
        hops: (there.len() as u32, back.len() as u32),
    })
}
