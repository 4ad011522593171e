//! The traffic of a scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallop_core::form::all;
use shallop_core::seed::hash;
use shallop_core::{Bytes, Node, Seed, Span};
use shallop_sim::{NodeKind, Paths};

use super::format::{ARRIVALS, CLASSES, EVERY, GROUP, MATRIX, MOST_FLOWS};
use super::problem::{Problem, advice, list};
use super::schemes;
use super::section::{Section, Times, rows, unique};
use super::tree::Item;
use crate::files::Files;
use crate::load::Offered;
use crate::network::Network;
use crate::plan::{Entry, Group, Intensity, Pattern, Scheme, Starts, Trace};
use crate::sources::{intensity, pairs};
use crate::tally::Classes;
use crate::workload::{Sizes, TraceReader, builtin};

/// Reads every `[[group]]`; hosts are those of this network.
pub(super) fn read(
    top: &Section<'_>,
    network: &Network,
    duration: Span,
    files: &Arc<dyn Files>,
) -> Result<Vec<Group>, Problem> {
    let mut groups: Vec<Group> = Vec::new();
    let rows = rows(top, "group")?;
    if rows.is_empty() {
        let problem = top.lacks("group");
        return Err(problem.with_help("add a [[group]]: who sends what to whom, and from when"));
    }
    let reach = Reach::of(network);
    let stack = top.or("stack", "linux")?;
    for (index, (name, item)) in rows.into_iter().enumerate() {
        let section = Section::open(name, GROUP, item)?;
        let group = Reader { section: &section, network, duration, files, stack }.group()?;
        unique(groups.iter().map(|other| other.name.as_str()), &group.name, &section)?;
        paths(&section, (index, &group), network, &reach)?;
        groups.push(group);
        let flows: u64 = groups.iter().map(|group| group.flows as u64).sum();
        if flows > MOST_FLOWS {
            let problem = section.reject("flows", format!("{flows} flows with this group"));
            return Err(problem.with_help(format!("at most {MOST_FLOWS} in a scenario")));
        }
    }
    Ok(groups)
}

/// Reads `[classes]`.
pub(super) fn classes(top: &Section<'_>) -> Result<Option<Classes>, Problem> {
    let Some(item) = top.item("classes") else { return Ok(None) };
    let section = Section::open("[classes]", CLASSES, item)?;
    let small = section.must("small")?;
    let large = section.or("large", small)?;
    if large < small {
        let problem = section.reject("large", format!("{large} is less than `small`, {small}"));
        return Err(problem.with_help("flows between the two are medium"));
    }
    Ok(Some(Classes { small, large }))
}

/// What a group is read with.
struct Reader<'a, 'b> {
    section: &'a Section<'b>,
    network: &'a Network,
    duration: Span,
    files: &'a Arc<dyn Files>,
    /// Whose TCP the hosts have.
    stack: &'a str,
}

impl Reader<'_, '_> {
    fn group(&self) -> Result<Group, Problem> {
        let section = self.section;
        if section.item("trace").is_some() {
            return self.traced();
        }
        let from = hosts(section, "from", "left", self.network)?;
        let to = hosts(section, "to", "right", self.network)?;
        let flows = section.or("flows", from.len())?;
        let sizes = self.sizes()?;
        let start = self.start(flows, sizes.is_some())?;
        Ok(Group {
            name: section.must("name")?,
            flows,
            pattern: self.pattern(from.len())?,
            from,
            to,
            sizes,
            start,
            transport: self.transport()?,
            edges: self.edges(flows)?,
            keeps: self.keeps()?,
        })
    }

    /// Whether its flows keep their connections for later ones.
    fn keeps(&self) -> Result<bool, Problem> {
        Ok(self.section.or("connections", "new")? == "kept")
    }

    /// Its transport, if that is not the one of the scheme.
    fn transport(&self) -> Result<Option<Scheme>, Problem> {
        schemes::own(&self.section.name, self.section.item("transport"), self.stack)
    }

    /// How many flows are not judged, at the beginning and at the end.
    fn edges(&self, flows: usize) -> Result<(usize, usize), Problem> {
        let section = self.section;
        let edges: (usize, usize) = (section.or("warm_up", 0)?, section.or("cool_down", 0)?);
        if edges != (0, 0) && edges.0 + edges.1 >= flows {
            let key = if edges.0 > 0 { "warm_up" } else { "cool_down" };
            let problem = section.reject(key, format!("it leaves none of {flows} flows"));
            return Err(problem.with_help("fewer, or more `flows`"));
        }
        Ok(edges)
    }

    /// A group that a file describes.
    fn traced(&self) -> Result<Group, Problem> {
        let section = self.section;
        let own = ["name", "trace", "transport", "connections", "warm_up", "cool_down"];
        let vain = all(GROUP)
            .map(|key| key.name)
            .find(|key| !own.contains(key) && section.item(key).is_some());
        if let Some(key) = vain {
            let problem =
                section.reject(key, "the trace says who sends how much to whom, and when");
            return Err(problem.with_help(format!("keys beside `trace`: {}", list(own))));
        }
        let name: String = section.must("trace")?;
        let text = self.files.open(&name);
        let text = text.map_err(|why| section.reject("trace", format!("\"{name}\": {why}")))?;
        let (mut flows, mut pairs, mut digest) = (0, BTreeSet::new(), 0);
        for row in TraceReader::new(&name, text, self.network.hosts()) {
            let row =
                row.map_err(|why| section.reject("trace", why.to_string()).with_help(why.help))?;
            flows += 1;
            pairs.insert((row.from.0, row.to.0));
            let hosts = u64::from(row.from.0) << 32 | u64::from(row.to.0);
            for value in [row.start.as_ps(), hosts, row.bytes] {
                digest = hash(digest ^ value);
            }
        }
        if flows == 0 {
            return Err(section.reject("trace", format!("\"{name}\" has no flows")));
        }
        let start = Starts::Trace(Trace { name, files: self.files.clone(), pairs, digest });
        Ok(Group {
            name: section.must("name")?,
            flows,
            from: vec![],
            to: vec![],
            pattern: Pattern::Turn,
            sizes: None,
            start,
            transport: self.transport()?,
            edges: self.edges(flows)?,
            keeps: self.keeps()?,
        })
    }

    fn pattern(&self, senders: usize) -> Result<Pattern, Problem> {
        let section = self.section;
        let pattern = section.or("pattern", "turn")?;
        for (key, of) in [("at_once", "incast"), ("matrix", "matrix")] {
            if section.item(key).is_some() && pattern != of {
                let problem = section.reject(key, format!("it belongs to pattern = \"{of}\""));
                return Err(problem.with_help(format!("the pattern is \"{pattern}\"")));
            }
        }
        Ok(match pattern {
            "uniform" => Pattern::Uniform,
            "other-site" => Pattern::OtherSite,
            "permutation" => Pattern::Permutation,
            "all-to-all" => Pattern::AllToAll,
            "incast" => Pattern::Incast(section.or("at_once", senders)?),
            "matrix" => Pattern::Matrix(self.matrix()?),
            _ => Pattern::Turn,
        })
    }

    fn matrix(&self) -> Result<Vec<Entry>, Problem> {
        let entries = rows(self.section, "matrix")?;
        if entries.is_empty() {
            return Err(self.section.lacks("matrix"));
        }
        let entry = |(index, (_, item)): (usize, (String, _))| {
            let name = format!("`matrix` {index} in {}", self.section.name);
            let section = Section::open(name, MATRIX, item)?;
            let set = |key| hosts(&section, key, "", self.network);
            Ok((set("from")?, set("to")?, section.must("weight")?))
        };
        entries.into_iter().enumerate().map(entry).collect()
    }

    fn sizes(&self) -> Result<Option<Sizes>, Problem> {
        let section = self.section;
        let fixed = section.get::<Bytes>("size")?.map(|size| Sizes::fixed(size.get()));
        let Some(name) = section.get::<String>("sizes")? else { return Ok(fixed) };
        if fixed.is_some() {
            let problem = section.reject("size", "there are `sizes` as well");
            return Err(problem.with_help("write one of the two"));
        }
        if let Some(table) = builtin::named(&name) {
            return Ok(Some(table));
        }
        let text = self.files.text(&name, MOST_TABLE).map_err(|why| {
            let problem = section.reject("sizes", format!("\"{name}\": {why}"));
            problem.with_help(format!("a file, or a table: {}", advice(&name, builtin::names())))
        })?;
        let table = Sizes::parse(name.clone(), &text);
        table.map(Some).map_err(|why| section.reject("sizes", format!("\"{name}\": {why}")))
    }

    fn start(&self, flows: usize, finite: bool) -> Result<Starts, Problem> {
        let section = self.section;
        if let Some(item) = section.item("arrivals") {
            if section.item("start").is_some() {
                let problem = section.reject("start", "there are `arrivals` as well");
                return Err(problem.with_help("write one of the two"));
            }
            if section.item("flows").is_none() {
                return Err(section.lacks("flows"));
            }
            return self.arrivals(item, finite);
        }
        start(section, flows, self.duration)
    }

    fn arrivals(&self, item: &Item, finite: bool) -> Result<Starts, Problem> {
        let name = format!("`arrivals` in {}", self.section.name);
        let section = Section::open(name, ARRIVALS, item)?;
        let begin = section.or("begin", Span::ZERO)?;
        if begin >= self.duration {
            let problem = section.reject("begin", format!("{begin} is after the end of the run"));
            return Err(problem.with_help(format!("`duration` is {}", self.duration)));
        }
        let kinds = ["load", "per_second", "every"];
        let kind = one_of(&section, &kinds)?;
        let foreign = match kind {
            "load" => &["at_once"][..],
            "per_second" => &["at_once", "of"],
            _ => &["of", "on", "off"],
        };
        if let Some(key) = foreign.iter().find(|key| section.item(key).is_some()) {
            return Err(section.reject(key, format!("it does not go with `{kind}`")));
        }
        let intensity = match kind {
            "every" => {
                return Ok(Starts::Bursts(section.must("at_once")?, begin, section.must("every")?));
            }
            "load" => self.load(&section, finite)?,
            _ => Intensity::PerSecond(section.must("per_second")?),
        };
        Ok(match (section.get("on")?, section.get("off")?) {
            (None, None) => Starts::Poisson(intensity, begin),
            (Some(on), Some(off)) => Starts::OnOff(intensity, begin, (on, off)),
            (on, _) => return Err(section.lacks(if on.is_none() { "on" } else { "off" })),
        })
    }

    fn load(&self, section: &Section<'_>, finite: bool) -> Result<Intensity, Problem> {
        if !finite {
            let problem = section.reject("load", "flows without end make no load to speak of");
            return Err(problem.with_help("give the group a `size` or `sizes`"));
        }
        let of = section.or("of", "all".to_owned())?;
        if !self.network.links.contains_key(&of) {
            let problem = section.reject("of", format!("there is no set of links \"{of}\""));
            return Err(
                problem.with_help(advice(&of, self.network.links.keys().map(String::as_str)))
            );
        }
        Ok(Intensity::Load(section.must("load")?, of))
    }
}

/// The one of these keys that is there.
fn one_of(section: &Section<'_>, keys: &[&'static str]) -> Result<&'static str, Problem> {
    let mut there = keys.iter().filter(|key| section.item(key).is_some());
    let Some(&first) = there.next() else {
        let problem = section.at.problem(format!("{} says nothing of when", section.name));
        return Err(problem.with_help(format!("one of {}", list(keys.iter().copied()))));
    };
    match there.next() {
        None => Ok(first),
        Some(second) => {
            let problem = section.reject(second, format!("there is `{first}` as well"));
            Err(problem.with_help("write one of the two"))
        }
    }
}

/// A table of flow sizes is no longer than this.
const MOST_TABLE: u64 = 10_000_000;

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

/// So many pairs are looked at before anything runs; those beyond are found out when the run is set up.
const MOST_PAIRS: usize = 200_000;

/// That every flow has somebody else to send to, and a way.
fn paths(
    section: &Section<'_>,
    (index, group): (usize, &Group),
    network: &Network,
    reach: &Reach,
) -> Result<(), Problem> {
    let name = |node: u32| network.names[node as usize].as_str();
    let key = if section.item("trace").is_some() { "trace" } else { "to" };
    let joined = |from: u32, to: u32| {
        if reach.joins(from, to) {
            return Ok(());
        }
        let message =
            format!("no path leads from host \"{}\" to host \"{}\"", name(from), name(to));
        let help = "hosts pass nothing on: links and switches must join the two";
        Err(section.reject(key, message).with_help(help))
    };
    if let Starts::Trace(trace) = &group.start {
        return trace.pairs.iter().try_for_each(|&(from, to)| joined(from, to));
    }
    if group.pattern == Pattern::Turn {
        for flow in 0..group.flows.min(MOST_PAIRS) {
            let (from, to) = (group.from[flow % group.from.len()], group.to[flow % group.to.len()]);
            if from == to {
                let message = format!("flow {flow} goes from host \"{}\" to itself", name(from));
                let help =
                    "flows take the hosts of `from` and of `to` in turn; leave it out of one";
                return Err(section.reject("to", message).with_help(help));
            }
            joined(from, to)?;
        }
        return Ok(());
    }
    let pairs = pairs(group, index, network, Seed::new(1)).map_err(|why| {
        section
            .reject("pattern", why)
            .with_help("see docs/workloads.md for what each pattern needs")
    })?;
    let mut weights = pairs.weights().take(MOST_PAIRS);
    weights.try_for_each(|((from, to), _)| joined(from.0, to.0))?;
    if let Some(Intensity::Load(_, links)) = intensity(group) {
        let paths = Paths::of(&network.graph);
        if Offered::of((group, index), network, &paths, links, Seed::new(1)).is_none() {
            let message = format!("no flow of this group crosses the links \"{links}\"");
            return Err(section
                .reject("arrivals", message)
                .with_help("choose another set of links"));
        }
    }
    Ok(())
}
