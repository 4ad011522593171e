//! Cuts a network into parts of about equal weight.

use shallop_core::{Node, Span};
use shallop_switch::PortConfig;
use shallop_topology::{Graph, NodeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A network that is cut into parts.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Part of each node.
    pub(crate) of_node: Arc<[u16]>,
    /// Number of parts.
    /// The number of parts.
    pub count: usize,
    /// The smallest delay of a link that is cut.
    pub lookahead: Span,
    /// For each part, the ports whose links lead to other parts, with the other part.
    pub(crate) ports: Vec<Vec<(u32, u16)>>,
}

impl Cut {
    fn new(graph: &Graph, of_node: Vec<u16>, count: usize) -> Self {
        let (mut ports, mut lookahead) = (vec![Vec::new(); count], Span::MAX);
        for port in 0..graph.ports() as u32 {
            let (near, far) = (of_node[graph.near(port).0 as usize], of_node[graph.far(port).0 as usize]);
            if near != far {
                ports[usize::from(near)].push((port, far));
                lookahead = lookahead.min(graph.link_of(port).delay);
            }
        }
        Self { of_node: of_node.into(), count, lookahead, ports }
    }

    /// Part of a node.
    pub fn part_of(&self, node: Node) -> usize {
        usize::from(self.of_node[node.0 as usize])
    }
}

/// Links of hosts are cut only if the cost of the best cut without them is above this many times the mean weight of a
/// part.
const EVEN: f64 = 1.1;
/// The most delays that are tried as the shortest delay of a cut link.
const MOST_DELAYS: usize = 16;
/// The cost of a window besides its events, in bits that a part could send and receive meanwhile.
const ROUND_BITS: f64 = 8e5;

/// Cuts a network into `count` parts, so that the part with the most work, and the rounds, take the least time; `None`
/// if it cannot be cut. `may_cut` tells whether a link may be cut; `weights` has the bits that each node sends and
/// receives in a second. Links without delay, or with impairments or changes, are never cut.
pub fn cut(
    graph: &Graph, ports: &[PortConfig], count: usize, may_cut: impl Fn(usize) -> bool, weights: &[f64],
) -> Option<Cut> {
    let delay = |link: usize| graph.links[link].ways[0].delay.min(graph.links[link].ways[1].delay);
    let may_cut = |link: usize| {
        let plain = |config: &PortConfig| config.impairment.is_none() && config.changes.is_empty();
        delay(link) > Span::ZERO && ports[2 * link..][..2].iter().all(plain) && may_cut(link)
    };
    let has_host = |link: usize| {
        let link = &graph.links[link];
        [link.a, link.b].map(|node| graph.kind(node)).contains(&NodeKind::Host)
    };
    let mut delays: Vec<Span> = (0..graph.links.len()).filter(|&link| may_cut(link)).map(delay).collect();
    delays.sort_unstable();
    delays.dedup();
    let delays = || delays.iter().step_by(delays.len() / MOST_DELAYS + 1);
    let ideal = weights.iter().sum::<f64>() / count as f64;
    let mut best: Option<(f64, Cut)> = None;
    for hosts in [false, true] {
        for &least in delays() {
            let atoms = atoms(graph, |link| may_cut(link) && delay(link) >= least && (hosts || !has_host(link)));
            let of_node = assign(graph, &atoms, weights, count);
            let mut sums = vec![0.0; count];
            for (node, part) in of_node.iter().enumerate() {
                sums[usize::from(*part)] += weights[node];
            }
            let cut = Cut::new(graph, of_node, count);
            let largest = sums.iter().copied().fold(0.0, f64::max);
            let cost = largest + ROUND_BITS / cut.lookahead.as_secs_f64();
            if !sums.contains(&0.0) && best.as_ref().is_none_or(|(other, _)| cost < *other) {
                best = Some((cost, cut));
            }
        }
        if best.as_ref().is_some_and(|(cost, _)| *cost < EVEN * ideal) {
            break;
        }
    }
    best.map(|(_, cut)| cut)
}

/// Joins nodes to atoms: links that may not be cut connect the nodes of an atom. Returns the first node of each node's
/// atom.
fn atoms(graph: &Graph, may_cut: impl Fn(usize) -> bool) -> Vec<usize> {
    fn root(of: &mut [usize], mut node: usize) -> usize {
        while of[node] != node {
            of[node] = of[of[node]];
            node = of[node];
        }
        node
    }
    let mut of: Vec<usize> = (0..graph.nodes.len()).collect();
    for (number, link) in graph.links.iter().enumerate() {
        if !may_cut(number) {
            let (a, b) = (root(&mut of, link.a.0 as usize), root(&mut of, link.b.0 as usize));
            of[a.max(b)] = a.min(b);
        }
    }
    (0..of.len()).map(|node| root(&mut of, node)).collect()
}

/// Assigns atoms to parts: those with hosts in their order, so that each part has about equal weight, then the others
/// where they have the most links, unless the part is full.
fn assign(graph: &Graph, atoms: &[usize], weights: &[f64], count: usize) -> Vec<u16> {
    let mut weight: BTreeMap<usize, (f64, bool)> = BTreeMap::new();
    for (node, &atom) in atoms.iter().enumerate() {
        let entry = weight.entry(atom).or_default();
        entry.0 += weights[node];
        entry.1 |= graph.nodes[node] == NodeKind::Host;
    }
    let mut of_atom: BTreeMap<usize, u16> = BTreeMap::new();
    let mut sums = vec![0.0; count];
    let with_hosts: f64 = weight.values().filter(|(_, hosts)| *hosts).map(|(weight, _)| weight).sum();
    let mut before = 0.0;
    for (&atom, &(weight, _)) in weight.iter().filter(|(_, (_, hosts))| *hosts) {
        let middle = (before + weight / 2.0) / with_hosts;
        let part = ((middle * count as f64) as usize).min(count - 1);
        of_atom.insert(atom, part as u16);
        sums[part] += weight;
        before += weight;
    }
    let ideal = weights.iter().sum::<f64>() / count as f64;
    let mut neighbours: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for link in &graph.links {
        let ends = [link.a, link.b].map(|node| atoms[node.0 as usize]);
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            neighbours.entry(from).or_default().push((to, link.ways[0].rate.get() as f64));
        }
    }
    for (&atom, &(weight, _)) in weight.iter().filter(|(_, (_, hosts))| !*hosts) {
        let mut links = vec![0.0; count];
        for (far, rate) in neighbours.get(&atom).into_iter().flatten() {
            if let Some(&part) = of_atom.get(far) {
                links[usize::from(part)] += rate;
            }
        }
        let fits = |part: &usize| sums[*part] + weight <= ideal * 1.02;
        let better = |a: &usize, b: &usize| links[*a].total_cmp(&links[*b]).then(sums[*b].total_cmp(&sums[*a]));
        let part = (0..count).filter(fits).max_by(better);
        let part = part.or_else(|| (0..count).min_by(|a, b| sums[*a].total_cmp(&sums[*b]))).unwrap_or(0);
        of_atom.insert(atom, part as u16);
        sums[part] += weight;
    }
    atoms.iter().map(|atom| of_atom[atom]).collect()
}
