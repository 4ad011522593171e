//! Reads `[topology]`, the network of a scenario.

use super::import::{self, OwnChip};
use super::network_options::{
    AnyTopology, ChangeOptions, DownOptions, FaultOptions, FileOptions, GraphOptions, LinkOptions, NodeOptions,
};
use super::rows::{rows, unique};
use shallop_core::{BitsPerSec, Span, Time};
use shallop_options::suggest::advice;
use shallop_options::{
    EachWay, HostStack, Item, Key, KeyDoc, Options, Problem, RawValue, Section, SectionKind, TaggedSections,
    section_kind,
};
use shallop_plan::plan::{Ecmp, GraphLink, GraphNode, LinkWay, Topology};
use shallop_plan::{bounds::DAY, files::Files};
use shallop_switch::Outage;
use shallop_topology::bounds::{MAX_NODES, MAX_PORTS};
use shallop_topology::{AnyFabric, NodeKind, SwitchNames, Way};
use shallop_workload::rate_trace::{RateSteps, RateTrace};
use std::collections::BTreeMap;

/// What a topology may refer to: names of switch settings, and files.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub switches: &'a [&'a str],
    pub files: &'a dyn Files,
    pub duration: Span,
}

const FILE: SectionKind =
    section_kind::<FileOptions>("file", "a network of yours: GraphML, GML, or a CSV of links (--network FILE)");
const GRAPH: SectionKind = section_kind::<GraphOptions>("graph", "nodes and links one by one");

/// The kinds of `[topology]`, which its key `kind` chooses: fabrics, `file` and `graph`.
pub(super) const TOPOLOGY: TaggedSections = TaggedSections { tag: AnyTopology::KEY.kind.name, kinds };

fn kinds() -> Vec<SectionKind> {
    fn own() -> Vec<SectionKind> {
        [AnyFabric::kinds(), vec![FILE, GRAPH]].concat()
    }
    fn of(name: &str) -> Option<SectionKind> {
        own().into_iter().find(|kind| kind.name == name)
    }
    fn keys(name: &str) -> Vec<&'static Key> {
        [AnyTopology::keys(), of(name).map(|kind| kind.keys()).unwrap_or_default()].concat()
    }
    fn describe(name: &str, stack: HostStack) -> Vec<KeyDoc> {
        let own = of(name).map(|kind| (kind.describe)(name, stack)).unwrap_or_default();
        [AnyTopology::describe(()), own].concat()
    }
    own().into_iter().map(|kind| SectionKind { keys, describe, ..kind }).collect()
}

/// A topology as read, with its rule for equal paths.
pub(super) struct TopologyEntry {
    pub topology: Topology,
    pub ecmp: Ecmp,
    /// Switch settings with the chips that a network file names. Their indices follow those of the `[switch.NAME]`
    /// sections.
    pub chips: Vec<OwnChip>,
}

/// Reads `[topology]`; `switches` are the names of the `[switch.NAME]` sections.
pub(super) fn read(
    item: &Item, switches: &[&str], (files, duration): (&dyn Files, Span),
) -> Result<TopologyEntry, Problem> {
    let section = Section::of_kind("[topology]", &TOPOLOGY, item)?;
    let AnyTopology { ecmp, .. } = section.read(())?;
    let known = Known { switches, files, duration };
    let mut chips = Vec::new();
    let topology = if section.kind == FILE.name {
        import::read(&section, &known, &mut chips)?
    } else if section.kind == GRAPH.name {
        graph(&section, &known)?
    } else {
        let names = SwitchNames(switches.to_vec());
        let fabric = AnyFabric::read(section.kind, &section, &names);
        Topology::Fabric(fabric.ok_or_else(|| section.lacks(AnyTopology::KEY.kind))??)
    };
    let (nodes, links) = size(&topology);
    if nodes > MAX_NODES || links * 2 > MAX_PORTS {
        let message = format!("{} has {nodes} nodes and {links} links", section.name);
        let help = format!("at most {MAX_NODES} nodes and {MAX_PORTS} ports are simulated");
        return Err(section.at.problem(message).with_help(help));
    }
    Ok(TopologyEntry { topology, ecmp, chips })
}

/// The number of nodes and the number of links.
pub(super) fn size(topology: &Topology) -> (u64, u64) {
    match topology {
        Topology::Fabric(fabric) => fabric.size(),
        Topology::Graph { nodes, links } => (nodes.len() as u64, links.len() as u64),
        Topology::File(imported, _) => imported.size(),
        Topology::Scaled { of, .. } => size(of),
    }
}

fn graph(section: &Section<'_>, known: &Known<'_>) -> Result<Topology, Problem> {
    let keys = GraphOptions::KEY;
    let mut nodes: Vec<GraphNode> = Vec::new();
    let mut sections = Vec::new();
    if section.item(keys.node).is_none() {
        return Err(section.lacks(keys.node));
    }
    let mut numbers = BTreeMap::new();
    for (name, item) in rows(section, keys.node)? {
        let section = Section::open::<NodeOptions>(name, item)?;
        let node = node(&section, known)?;
        let taken = numbers.get_key_value(&node.name).map(|(name, _): (&String, _)| name.as_str());
        unique(taken, &node.name, (&section, NodeOptions::KEY.name))?;
        numbers.insert(node.name.clone(), nodes.len());
        nodes.push(node);
        sections.push(section);
    }
    let (mut links, mut joined) = (Vec::new(), vec![false; nodes.len()]);
    for (name, item) in rows(section, keys.link)? {
        let link = link(&Section::open::<LinkOptions>(name, item)?, (&nodes, &numbers), known)?;
        (joined[link.between.0], joined[link.between.1]) = (true, true);
        links.push(link);
    }
    for ((node, section), joined) in nodes.iter().zip(&sections).zip(joined) {
        if node.kind == NodeKind::Host && !joined {
            let message = format!("no link leads to host \"{}\"", node.name);
            let problem = section.reject(NodeOptions::KEY.name, message);
            return Err(problem.with_help("add a [[topology.link]] with its name in `between`"));
        }
    }
    Ok(Topology::Graph { nodes, links })
}

fn node(section: &Section<'_>, known: &Known<'_>) -> Result<GraphNode, Problem> {
    let key = NodeOptions::KEY.switch;
    let NodeOptions { name, kind, switch } = section.read(())?;
    let kind = NodeKind::from(kind);
    if kind == NodeKind::Host && switch.is_some() {
        let help = "hosts' ports are set by `nic`; remove the key, or write kind = \"switch\"";
        return Err(section.reject(key, "a host is no switch").with_help(help));
    }
    let switch = like(section, key, switch.as_deref(), known)?;
    Ok(GraphNode { name, kind, switch })
}

/// The index of the `[switch.NAME]` with this name; of the default if `name` is `None`.
pub(super) fn like(
    section: &Section<'_>, key: &'static Key, name: Option<&str>, known: &Known<'_>,
) -> Result<usize, Problem> {
    let name = name.unwrap_or("default");
    known.switches.iter().position(|known| *known == name).ok_or_else(|| {
        let problem = section.reject(key, format!("there is no [switch.{name}]"));
        problem.with_help(advice(name, known.switches.iter().copied()))
    })
}

/// Reads a link of a graph; `numbers` has the index of each of `nodes` by name.
fn link(
    section: &Section<'_>, (nodes, numbers): (&[GraphNode], &BTreeMap<String, usize>), known: &Known<'_>,
) -> Result<GraphLink, Problem> {
    let options: LinkOptions = section.read(())?;
    let names = nodes.iter().map(|node| node.name.as_str());
    let joined = (LinkOptions::KEY.between, &options.between[..]);
    let between = ends(section, joined, |name| numbers.get(name).copied(), &names)?;
    let LinkOptions { rate: EachWay(rate), delay: EachWay(delay), mtu: EachWay(mtu), .. } = options;
    let ways = [0, 1].map(|way| Way { rate: rate[way], delay: delay[way], mtu: mtu[way] });
    Ok(GraphLink { between, ways: with_faults(section, ways, known)? })
}

/// The indices of the two nodes that a link joins. `names` has the names of all nodes, and `find` the index of each.
pub(super) fn ends<'n>(
    section: &Section<'_>, (key, between): (&'static Key, &[String]), find: impl Fn(&str) -> Option<usize>,
    names: &(impl Iterator<Item = &'n str> + Clone),
) -> Result<(usize, usize), Problem> {
    let [a, b] = between else {
        let problem = section.reject(key, format!("number of names: {}", between.len()));
        return Err(problem.with_help("a link joins two nodes"));
    };
    let find = |name: &String| {
        find(name).ok_or_else(|| {
            let problem = section.reject(key, format!("no node is named \"{name}\""));
            problem.with_help(advice(name, names.clone()))
        })
    };
    if a == b {
        let problem = section.reject(key, format!("\"{a}\" is linked to itself"));
        return Err(problem.with_help("a link joins two different nodes"));
    }
    Ok((find(a)?, find(b)?))
}

/// The entries of `down` or `changes`, each with its name in errors. A list may be empty, so that a sweep can compare a
/// link with and without faults.
fn entries<'a>(section: &Section<'a>, key: &'static Key) -> Result<Vec<(String, &'a Item)>, Problem> {
    if section.item(key).is_some_and(|item| matches!(&item.value, RawValue::List(rows) if rows.is_empty())) {
        return Ok(Vec::new());
    }
    let entries = rows(section, key)?.into_iter().enumerate();
    let named = |(index, (_, item))| (format!("`{}` number {} in {}", key.name, index + 1, section.name), item);
    Ok(entries.map(named).collect())
}

/// The two directions of a link with the faults in its section. The first direction is the one from the first node of
/// its `between`.
pub(super) fn with_faults(section: &Section<'_>, ways: [Way; 2], known: &Known<'_>) -> Result<[LinkWay; 2], Problem> {
    let FaultOptions { loss, loss_burst, jitter, reordering, reordering_delay, duplicates, .. } = section.read(())?;
    for (loss, burst) in loss_burst.into_iter().flat_map(|burst| loss.0.into_iter().zip(burst.0)) {
        let most = burst / (burst + 1.0);
        if loss > most || !section.is_written(FaultOptions::KEY.loss) {
            let message = format!("bursts of {burst} packets do not make a `loss` of {loss}");
            let help = format!("a `loss` beside it, up to {most:.4}: a packet or more passes between two bursts");
            return Err(section.reject(FaultOptions::KEY.loss_burst, message).with_help(help));
        }
    }
    let (down, changes) = (down(section)?, changes(section)?);
    let traced = traced(section, known)?;
    let plain = [0, 1].map(|way| LinkWay {
        loss: loss.0[way],
        loss_burst: loss_burst.map(|burst| burst.0[way]),
        jitter: jitter.0[way],
        reordering: (reordering.0[way], reordering_delay.0[way]),
        duplicates: duplicates.0[way],
        down: [&down[..], &pauses(&changes, way)].concat(),
        changes: changed(&changes, way),
        ..LinkWay::without_faults(ways[way])
    });
    let Some(traced) = traced else { return Ok(plain) };
    if changes.iter().any(|change| change.rate.is_some()) {
        let problem = section.reject(FaultOptions::KEY.rate_trace, "`changes` has rates as well");
        return Err(problem.with_help("write one of the two"));
    }
    let mut ways = plain;
    for (way, RateSteps { rates, pauses }) in ways.iter_mut().zip(traced) {
        way.changes.extend(rates.into_iter().map(|(at, rate)| (at, Some(rate), None)));
        way.changes.sort_by_key(|change| change.0);
        way.pauses = pauses;
    }
    Ok(ways)
}

/// Reads `rate_trace`, the file or files with the rate of a link.
fn traced(section: &Section<'_>, known: &Known<'_>) -> Result<Option<[RateSteps; 2]>, Problem> {
    const MAX_TRACE: u64 = 1 << 26;
    let key = FaultOptions::KEY.rate_trace;
    let Some(item) = section.item(key) else { return Ok(None) };
    let files = match &item.value {
        RawValue::List(items) => items.iter().map(Item::text).collect::<Option<Vec<_>>>(),
        _ => item.text().map(|file| vec![file; 2]),
    };
    let two = files.and_then(|files| <[&str; 2]>::try_from(files).ok());
    let [forth, back] = two.ok_or_else(|| {
        let help = "the name of a file, or two, the first for the way from the first node to the second";
        section.reject(key, "no file, nor a file for each direction").with_help(help)
    })?;
    let read = |file: &str| {
        let text = known.files.text(file, MAX_TRACE);
        let steps = text.and_then(|text| RateTrace::parse(&text)?.steps(known.duration));
        steps.map_err(|why| section.reject(key, format!("\"{file}\": {why}")))
    };
    Ok(Some([read(forth)?, read(back)?]))
}

/// Reads `down`, the outages of a link.
fn down(section: &Section<'_>) -> Result<Vec<Outage>, Problem> {
    let mut down = Vec::new();
    for (name, item) in entries(section, FaultOptions::KEY.down)? {
        let outage = Section::open::<DownOptions>(name, item)?;
        let DownOptions { at, lasts, every } = outage.read(())?;
        if every.is_some_and(|every| every <= lasts) {
            let problem = outage.reject(DownOptions::KEY.every, "not longer than it lasts");
            return Err(problem.with_help("a link that is never up again is down without `every`"));
        }
        down.push(Outage { from: Time::after_start(at), lasts, every });
    }
    Ok(down)
}

/// Reads `changes` of the rate and delay of a link.
fn changes(section: &Section<'_>) -> Result<Vec<ChangeOptions>, Problem> {
    let mut changes: Vec<ChangeOptions> = Vec::new();
    for (name, item) in entries(section, FaultOptions::KEY.changes)? {
        let change = Section::open::<ChangeOptions>(name, item)?;
        let options: ChangeOptions = change.read(())?;
        if options.rate.is_none() && options.delay.is_none() {
            let help = "write a `rate`, a `delay` or both";
            return Err(item.problem("this changes nothing").with_help(help));
        }
        if changes.last().is_some_and(|last| last.at >= options.at) {
            let problem = change.reject(ChangeOptions::KEY.at, "not later than the change before");
            return Err(problem.with_help("changes come in the order of time"));
        }
        changes.push(options);
    }
    Ok(changes)
}

/// The changes of one direction of a link: the time, the new rate and the new delay.
fn changed(changes: &[ChangeOptions], way: usize) -> Vec<(Span, Option<BitsPerSec>, Option<Span>)> {
    let of = |change: &ChangeOptions| {
        let rate = change.rate.and_then(|rate| rate.0[way].0);
        let delay = change.delay.map(|delay| delay.0[way]);
        (rate.is_some() || delay.is_some()).then_some((change.at, rate, delay))
    };
    changes.iter().filter_map(of).collect()
}

/// The outages of one direction of a link in which its rate is zero.
fn pauses(changes: &[ChangeOptions], way: usize) -> Vec<Outage> {
    let rates = changes.iter().filter_map(|change| Some((change.at, change.rate?.0[way].0)));
    let rates: Vec<(Span, Option<BitsPerSec>)> = rates.collect();
    let end = |from: usize| rates[from..].iter().find(|(_, rate)| rate.is_some()).map_or(DAY, |(at, _)| *at);
    let paused = rates.iter().enumerate().filter(|(_, (_, rate))| rate.is_none());
    paused
        .map(|(from, &(at, _))| Outage {
            from: Time::after_start(at),
            lasts: end(from).saturating_sub(at),
            every: None,
        })
        .collect()
}
