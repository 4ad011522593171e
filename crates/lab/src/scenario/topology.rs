//! The network of a scenario.

use shallop_core::form::Keys;
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_proto::wire;
use shallop_sim::NodeKind;

use super::format::{MOST_NODES, MOST_PORTS};
use super::problem::{Problem, advice};
use super::section::{Section, Times, rows, unique};
use super::shapes::{CHANGE, LINK, NODE, TOPOLOGY};
use super::tree::Item;
use super::{fabrics, import};
use crate::files::Files;
use crate::plan::{Delays, GraphLink, GraphNode, Topology};

/// What is read of a topology.
pub(super) struct Read {
    pub topology: Topology,
    /// Whether both directions of a flow choose alike.
    pub symmetric: bool,
}

/// Reads `[topology]`; `switches` are the names that nodes may refer to.
pub(super) fn read(item: &Item, switches: &[&str], files: &dyn Files) -> Result<Read, Problem> {
    let section = Section::of_kind("[topology]", &TOPOLOGY, item)?;
    let symmetric = section.or("ecmp", "symmetric")? == "symmetric";
    let topology = match section.must::<&str>("kind")? {
        "dumbbell" => dumbbell(&section)?,
        "parking-lot" => parking_lot(&section)?,
        "three-dc" => fabrics::three_dc(&section, switches)?,
        "leaf-spine" => fabrics::leaf_spine(&section, switches)?,
        "fat-tree" => fabrics::fat_tree(&section, switches)?,
        "cross-dc" => fabrics::cross_dc(&section, switches)?,
        "campus" => fabrics::campus(&section, switches)?,
        "file" => import::read(&section, switches, files)?,
        _ => graph(&section, switches)?,
    };
    let (nodes, links) = size(&topology);
    if nodes > MOST_NODES || links * 2 > MOST_PORTS {
        let message = format!("{} has {nodes} nodes and {links} links", section.name);
        let help = format!("at most {MOST_NODES} nodes and {MOST_PORTS} ports are simulated");
        return Err(section.at.problem(message).with_help(help));
    }
    Ok(Read { topology, symmetric })
}

/// How many nodes and links there will be.
pub(super) fn size(topology: &Topology) -> (u64, u64) {
    match topology {
        Topology::Dumbbell { senders, receivers, .. } => {
            // A lone receiver stands in the place of the second switch.
            let right = if *receivers > 1 { *receivers as u64 } else { 0 };
            let links = senders.count() as u64 + right + 1;
            (links + 1, links)
        }
        Topology::ParkingLot { hops, hosts, .. } => {
            let hosts = (*hops as u64 + 1).saturating_mul(*hosts as u64);
            (hosts + *hops as u64 + 1, hosts + *hops as u64)
        }
        Topology::Graph { nodes, links } => (nodes.len() as u64, links.len() as u64),
        Topology::ThreeDc(three) => three.size(),
        Topology::LeafSpine(fabric) => fabric.size(),
        Topology::FatTree(tree) => tree.size(),
        Topology::CrossDc(pair) => pair.size(),
        Topology::Campus(campus) => campus.size(),
        Topology::File(imported) => imported.size(),
    }
}

/// Rates of the trunk and of the links to hosts.
fn rates(section: &Section<'_>) -> Result<(BitsPerSec, BitsPerSec), Problem> {
    let rate = section.must("rate")?;
    Ok((rate, section.or("access_rate", rate)?))
}

fn dumbbell(section: &Section<'_>) -> Result<Topology, Problem> {
    let count: usize = section.must("senders")?;
    let written = section.item("sender_delay");
    let senders = if written.is_some_and(|item| !item.items().is_empty()) {
        let delays: Vec<Span> = section.must("sender_delay")?;
        if delays.len() != count {
            let message = format!("{} delays for {count} senders", delays.len());
            return Err(section.reject("sender_delay", message).with_help("one for each sender"));
        }
        Delays::Each(delays)
    } else {
        match section.or("sender_delay", Times::One(Span::ZERO))? {
            Times::One(delay) => Delays::Each(vec![delay; count]),
            Times::Drawn(low, high) => Delays::Drawn(count, low, high),
        }
    };
    Ok(Topology::Dumbbell {
        rate: rates(section)?,
        delay: section.must("delay")?,
        senders,
        receivers: section.or("receivers", 1)?,
        mtu: section.or("mtu", Bytes::new(wire::MTU))?,
    })
}

fn parking_lot(section: &Section<'_>) -> Result<Topology, Problem> {
    Ok(Topology::ParkingLot {
        rate: rates(section)?,
        delay: (section.must("delay")?, section.or("access_delay", Span::ZERO)?),
        hops: section.must("hops")?,
        hosts: section.must("hosts")?,
        mtu: section.or("mtu", Bytes::new(wire::MTU))?,
    })
}

fn open<'a>(name: &str, keys: Keys, item: &'a Item) -> Result<Section<'a>, Problem> {
    Section::open(name, keys, item)
}

fn graph(section: &Section<'_>, switches: &[&str]) -> Result<Topology, Problem> {
    let mut nodes: Vec<GraphNode> = Vec::new();
    let mut sections = Vec::new();
    if section.item("node").is_none() {
        return Err(section.lacks("node"));
    }
    for (name, item) in rows(section, "node")? {
        let section = open(&name, NODE, item)?;
        let node = node(&section, switches)?;
        unique(nodes.iter().map(|other| other.name.as_str()), &node.name, &section)?;
        nodes.push(node);
        sections.push(section);
    }
    let mut links = Vec::new();
    for (name, item) in rows(section, "link")? {
        links.push(link(&open(&name, LINK, item)?, &nodes)?);
    }
    for (index, (node, section)) in nodes.iter().zip(&sections).enumerate() {
        let joined = links.iter().any(|link| link.between.0 == index || link.between.1 == index);
        if node.kind == NodeKind::Host && !joined {
            let problem =
                section.reject("name", format!("no link leads to host \"{}\"", node.name));
            return Err(problem.with_help("add a [[topology.link]] with its name in `between`"));
        }
    }
    Ok(Topology::Graph { nodes, links })
}

fn node(section: &Section<'_>, switches: &[&str]) -> Result<GraphNode, Problem> {
    let kind = match section.must::<&str>("kind")? {
        "host" => NodeKind::Host,
        _ => NodeKind::Switch,
    };
    let written: Option<String> = section.get("switch")?;
    if kind == NodeKind::Host && written.is_some() {
        let help = "hosts' ports are set by `nic`; remove the key, or write kind = \"switch\"";
        return Err(section.reject("switch", "a host is no switch").with_help(help));
    }
    let switch = like(section, "switch", switches)?;
    Ok(GraphNode { name: section.must("name")?, kind, switch })
}

/// Which switch a key names; the default where it is left out.
pub(super) fn like(section: &Section<'_>, key: &str, known: &[&str]) -> Result<usize, Problem> {
    let written: Option<String> = section.get(key)?;
    let name = written.as_deref().unwrap_or("default");
    known.iter().position(|known| *known == name).ok_or_else(|| {
        let problem = section.reject(key, format!("there is no [switch.{name}]"));
        problem.with_help(advice(name, known.iter().copied()))
    })
}

fn link(section: &Section<'_>, nodes: &[GraphNode]) -> Result<GraphLink, Problem> {
    let between: Vec<String> = section.must("between")?;
    let [a, b] = &between[..] else {
        let problem = section.reject("between", format!("{} names", between.len()));
        return Err(problem.with_help("a link joins two nodes"));
    };
    let find = |name: &String| {
        nodes.iter().position(|node| node.name == *name).ok_or_else(|| {
            let problem = section.reject("between", format!("there is no node \"{name}\""));
            problem.with_help(advice(name, nodes.iter().map(|node| node.name.as_str())))
        })
    };
    let between = (find(a)?, find(b)?);
    if between.0 == between.1 {
        let problem = section.reject("between", format!("\"{a}\" is linked to itself"));
        return Err(problem.with_help("a link joins two different nodes"));
    }
    Ok(GraphLink {
        between,
        rate: section.must("rate")?,
        delay: section.must("delay")?,
        mtu: section.or("mtu", Bytes::new(wire::MTU))?,
        loss: section.or("loss", 0.0)?,
        jitter: section.or("jitter", Span::ZERO)?,
        changes: changes(section)?,
    })
}

/// From when on, and the rate and delay from then on.
type Change = (Span, Option<BitsPerSec>, Option<Span>);

fn changes(section: &Section<'_>) -> Result<Vec<Change>, Problem> {
    let mut changes: Vec<Change> = Vec::new();
    for (index, (_, item)) in rows(section, "changes")?.into_iter().enumerate() {
        let change = open(&format!("`changes` {index} in {}", section.name), CHANGE, item)?;
        let (at, rate, delay) = (change.must("at")?, change.get("rate")?, change.get("delay")?);
        if rate.is_none() && delay.is_none() {
            let help = "write a `rate`, a `delay` or both";
            return Err(item.problem("this changes nothing").with_help(help));
        }
        if changes.last().is_some_and(|last| last.0 >= at) {
            let problem = change.reject("at", "not later than the change before");
            return Err(problem.with_help("changes come in the order of time"));
        }
        changes.push((at, rate, delay));
    }
    Ok(changes)
}
