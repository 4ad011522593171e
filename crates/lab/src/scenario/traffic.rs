//! The traffic of a scenario.

use std::collections::BTreeSet;

use shallop_core::{Bytes, Node, Span};
use shallop_sim::NodeKind;

use super::format::{EVERY, GROUP, MOST_FLOWS};
use super::problem::{Problem, advice};
use super::schemes;
use super::section::{Section, Times, rows, unique};
use super::tree::Item;
use crate::network::Network;
use crate::plan::{Group, Starts};

/// Reads every `[[group]]`; hosts are those of this network.
pub(super) fn read(
    top: &Section<'_>,
    network: &Network,
    duration: Span,
) -> Result<Vec<Group>, Problem> {
    let mut groups: Vec<Group> = Vec::new();
    let rows = rows(top, "group")?;
    if rows.is_empty() {
        let problem = top.lacks("group");
        return Err(problem.with_help("add a [[group]]: who sends what to whom, and from when"));
    }
    let reach = Reach::of(network);
    for (name, item) in rows {
        let section = Section::open(name, GROUP, item)?;
        let group = group(&section, network, duration, top.or("stack", "linux")?)?;
        unique(groups.iter().map(|other| other.name.as_str()), &group.name, &section)?;
        paths(&section, &group, network, &reach)?;
        groups.push(group);
        let flows: u64 = groups.iter().map(|group| group.flows as u64).sum();
        if flows > MOST_FLOWS {
            let problem = section.reject("flows", format!("{flows} flows with this group"));
            return Err(problem.with_help(format!("at most {MOST_FLOWS} in a scenario")));
        }
    }
    Ok(groups)
}

fn group(
    section: &Section<'_>,
    network: &Network,
    duration: Span,
    stack: &str,
) -> Result<Group, Problem> {
    let from = hosts(section, "from", "left", network)?;
    let to = hosts(section, "to", "right", network)?;
    let flows = section.or("flows", from.len())?;
    Ok(Group {
        name: section.must("name")?,
        flows,
        from,
        to,
        size: section.get::<Bytes>("size")?.map(Bytes::get),
        start: start(section, flows, duration)?,
        transport: schemes::own(&section.name, section.item("transport"), stack)?,
    })
}

/// The hosts a key names, one by one or as a set; `default` is the set where it is left out.
fn hosts(
    section: &Section<'_>,
    key: &str,
    default: &str,
    network: &Network,
) -> Result<Vec<u32>, Problem> {
    let names = match section.item(key) {
        Some(item) if item.text().is_some() => vec![section.must::<String>(key)?],
        Some(_) => section.must::<Vec<String>>(key)?,
        None if network.sets.contains_key(default) => vec![default.to_owned()],
        None => return Err(section.lacks(key)),
    };
    let mut hosts = Vec::new();
    for name in names {
        let Some(set) = network.sets.get(&name) else {
            let node = network.names.contains(&name);
            let what = if node { "is a switch" } else { "is not there" };
            let problem = section.reject(key, format!("\"{name}\" {what}"));
            let help = advice(&name, network.sets.keys().map(String::as_str));
            return Err(problem.with_help(format!("name hosts or sets of them; {help}")));
        };
        hosts.extend(set.iter().map(|node| node.0));
    }
    Ok(hosts)
}

fn start(section: &Section<'_>, flows: usize, duration: Span) -> Result<Starts, Problem> {
    let (starts, last) = match section.item("start") {
        Some(item) if item.table().is_some() => every(section, item, flows)?,
        _ => match section.or("start", Times::One(Span::ZERO))? {
            Times::One(at) => (Starts::At(at), at),
            Times::Drawn(low, high) => (Starts::Drawn(low, high), high),
        },
    };
    if last >= duration {
        let message = format!("the last flow starts at {last}, and the run ends at {duration}");
        let help = format!("flows start before `duration`, which is {duration}");
        return Err(section.reject("start", message).with_help(help));
    }
    Ok(starts)
}

fn every(section: &Section<'_>, item: &Item, flows: usize) -> Result<(Starts, Span), Problem> {
    let start = Section::open(format!("`start` in {}", section.name), EVERY, item)?;
    let (first, every): (Span, Span) = (start.or("first", Span::ZERO)?, start.must("every")?);
    // Bounds of both keys keep the product within 128 bits.
    let last = u128::from(every.as_ps()) * (flows as u128 - 1) + u128::from(first.as_ps());
    let last = Span::from_ps(u64::try_from(last).unwrap_or(u64::MAX));
    Ok((Starts::Every(first, every), last))
}

/// Which hosts can reach which: those on one side of what switches do not join cannot reach the other.
struct Reach {
    /// For each node the parts of the network it belongs to or borders on. Hosts pass nothing on, so a host may border
    /// on several.
    parts: Vec<Vec<usize>>,
    /// Hosts that are linked to each other.
    pairs: BTreeSet<(Node, Node)>,
}

impl Reach {
    fn of(network: &Network) -> Self {
        let graph = &network.graph;
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        let mut part_of = vec![None; graph.nodes.len()];
        for first in 0..graph.nodes.len() {
            let mut open = vec![first];
            while let Some(node) = open.pop() {
                if part_of[node].is_some() || graph.nodes[node] == NodeKind::Host {
                    continue;
                }
                part_of[node] = Some(first);
                open.extend(ports[node].iter().map(|&port| graph.far(port).0 as usize));
            }
        }
        let border = |ports: &Vec<u32>| {
            let far = ports.iter().map(|&port| graph.far(port));
            far.filter_map(|node| part_of[node.0 as usize]).collect()
        };
        let borders = ports.iter().map(border).collect();
        let linked = (0..graph.ports() as u32).map(|port| (graph.near(port), graph.far(port)));
        let hosts = |node| graph.kind(node) == NodeKind::Host;
        let pairs = linked.filter(|(a, b)| hosts(*a) && hosts(*b)).collect();
        Self { parts: borders, pairs }
    }

    fn joins(&self, from: u32, to: u32) -> bool {
        let (near, far) = (&self.parts[from as usize], &self.parts[to as usize]);
        near.iter().any(|part| far.contains(part)) || self.pairs.contains(&(Node(from), Node(to)))
    }
}

/// That every flow has somebody else to send to, and a way.
fn paths(
    section: &Section<'_>,
    group: &Group,
    network: &Network,
    reach: &Reach,
) -> Result<(), Problem> {
    for flow in 0..group.flows {
        let (from, to) = (group.from[flow % group.from.len()], group.to[flow % group.to.len()]);
        let name = |node: u32| network.names[node as usize].as_str();
        if from == to {
            let message = format!("flow {flow} goes from host \"{}\" to itself", name(from));
            let help = "flows take the hosts of `from` and of `to` in turn; leave it out of one";
            return Err(section.reject("to", message).with_help(help));
        }
        if !reach.joins(from, to) {
            let (from, to) = (name(from), name(to));
            let message = format!("no path leads from host \"{from}\" to host \"{to}\"");
            let help = "hosts pass nothing on: links and switches must join the two";
            return Err(section.reject("to", message).with_help(help));
        }
    }
    Ok(())
}
