//! Reads the groups of a scenario, which are its traffic.

use super::groups::{ArrivalsOptions, EveryOptions, GroupOptions, Hosts, PairOptions, PatternKind, Times};
use super::root_options::{ClassesOptions, Scenario};
use super::rows::{rows, unique};
use super::schemes;
use super::{Programs, commands::beside, connectivity::Reach};
use crate::network_files::{self, Demand, Wrong};
use shallop_core::seed::hash;
use shallop_core::{Seed, Span};
use shallop_options::suggest::{advice, list, near};
use shallop_options::{HostStack, Item, Key, Problem, Section, StringEnum};
use shallop_plan::pairs::{intensity, pairs};
use shallop_plan::plan::{Classes, Connections, Group, Intensity, MatrixEntry, Pattern, Starts, Trace};
use shallop_plan::{bounds::MAX_FLOWS, files::Files, load::LoadTerms, network::Network};
use shallop_topology::builder::HOSTS;
use shallop_workload::{Sizes, TraceReader, builtin};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn read(
    top: &Section<'_>, network: &Network, (duration, stack): (Span, HostStack),
    (files, programs): (&Arc<dyn Files>, &Programs),
) -> Result<Vec<Group>, Problem> {
    let keys = GroupOptions::KEY;
    let mut groups: Vec<Group> = Vec::new();
    let rows = rows(top, Scenario::KEY.group)?;
    if rows.is_empty() {
        return Err(top.lacks(Scenario::KEY.group).with_help("add a [[group]]: who sends what to whom, and from when"));
    }
    let reach = Reach::of(network);
    for (index, (name, item)) in rows.into_iter().enumerate() {
        let section = Section::open::<GroupOptions>(name, item)?;
        let options: GroupOptions = section.read(())?;
        let shared = options.connections_of.clone();
        let mut group = Reader { section: &section, network, duration, files, stack, programs }.group(options)?;
        if let Some(name) = shared {
            group.connections_of = Some(shared_connections(&section, &name, &group, &groups)?);
        }
        let taken = groups.iter().map(|other| other.name.as_str());
        unique(taken, &group.name, (&section, keys.name))?;
        paths(&section, (index, &group), network, &reach)?;
        groups.push(group);
        let flows: u64 = groups.iter().map(|group| group.flows as u64).sum();
        if flows > MAX_FLOWS {
            let problem = section.reject(keys.flows, format!("{flows} flows with this group"));
            return Err(problem.with_help(format!("at most {MAX_FLOWS} in a scenario")));
        }
    }
    Ok(groups)
}

/// The index of the earlier group called `name`, whose connections `group` shares (`connections_of`).
fn shared_connections(section: &Section<'_>, name: &str, group: &Group, earlier: &[Group]) -> Result<usize, Problem> {
    let reject = |why: &str, help: &str| Err(section.reject(GroupOptions::KEY.connections_of, why).with_help(help));
    let Some(index) = earlier.iter().position(|other| other.name == name) else {
        let names = list(earlier.iter().map(|other| other.name.as_str()));
        return reject(&format!("no earlier group is called \"{name}\""), &format!("earlier groups: {names}"));
    };
    let other = &earlier[index];
    if [other, group].iter().any(|of| of.connections != Connections::Kept) {
        return reject("one of the two groups keeps no connections", "write `connections = \"kept\"` in both");
    }
    if other.transport != group.transport {
        return reject("the two groups have different transports", "a connection has one transport");
    }
    Ok(other.connections_of.unwrap_or(index))
}

pub(super) fn classes(top: &Section<'_>) -> Result<Option<Classes>, Problem> {
    let Some(item) = top.item(Scenario::KEY.classes) else { return Ok(None) };
    let section = Section::open::<ClassesOptions>("[classes]", item)?;
    let ClassesOptions { small, large } = section.read(())?;
    if large < small {
        let problem = section.reject(ClassesOptions::KEY.large, format!("{large} is less than `small`, {small}"));
        return Err(problem.with_help("flows between the two are medium"));
    }
    Ok(Some(Classes { small, large }))
}

/// The keys that may be written beside `trace`.
const OF_TRACES: [&Key; 8] = {
    let key = GroupOptions::KEY;
    [key.name, key.transport, key.connections, key.connections_of, key.rate, key.write, key.warm_up, key.cool_down]
};

/// Reads one group: its section, and the scenario around it.
pub(super) struct Reader<'a, 'b> {
    pub(super) section: &'a Section<'b>,
    pub(super) network: &'a Network,
    pub(super) duration: Span,
    pub(super) files: &'a Arc<dyn Files>,
    stack: HostStack,
    pub(super) programs: &'a Programs,
}

impl Reader<'_, '_> {
    fn group(&self, options: GroupOptions) -> Result<Group, Problem> {
        if let Some(name) = &options.trace {
            return self.traced(name.clone(), &options);
        }
        if self.section.is_written(GroupOptions::KEY.command) {
            return self.commanded(options);
        }
        let section = self.section;
        // The entries of a matrix name their hosts.
        let [left, right] = if options.pattern == PatternKind::Matrix { [HOSTS; 2] } else { ["left", "right"] };
        let from = hosts(section, (GroupOptions::KEY.from, options.from.as_ref()), left, self.network)?;
        let to = hosts(section, (GroupOptions::KEY.to, options.to.as_ref()), right, self.network)?;
        let flows = options.flows.unwrap_or(from.len());
        let sizes = self.sizes(&options)?;
        let start = self.start(flows, sizes.is_some())?;
        Ok(Group {
            pattern: self.pattern(&options, from.len())?,
            from,
            to,
            sizes,
            ..self.started(&options, flows, start)?
        })
    }

    /// Makes a group of the keys that all groups have, without hosts and sizes.
    pub(super) fn started(&self, options: &GroupOptions, flows: usize, start: Starts) -> Result<Group, Problem> {
        let transport = self.section.item(GroupOptions::KEY.transport);
        if options.write.is_some() && options.rate.is_none() {
            let problem = self.section.reject(GroupOptions::KEY.write, "the application has no rate");
            return Err(problem.with_help("write a `rate` beside it"));
        }
        Ok(Group {
            name: options.name.clone(),
            from: vec![],
            to: vec![],
            pattern: Pattern::RoundRobin,
            flows,
            sizes: None,
            start,
            transport: schemes::own(&self.section.name, transport, self.stack)?,
            uncounted: self.uncounted(options, flows)?,
            connections: options.connections,
            connections_of: None,
            application: options.rate.map(|rate| (rate, options.write)),
            lasts: options.lasts,
            command: None,
        })
    }

    /// The number of first and of last flows that results do not count (`warm_up`, `cool_down`).
    fn uncounted(&self, options: &GroupOptions, flows: usize) -> Result<(usize, usize), Problem> {
        let uncounted = (options.warm_up, options.cool_down);
        if uncounted != (0, 0) && uncounted.0 + uncounted.1 >= flows {
            let key = if uncounted.0 > 0 { GroupOptions::KEY.warm_up } else { GroupOptions::KEY.cool_down };
            let problem = self.section.reject(key, format!("it leaves none of {flows} flows"));
            return Err(problem.with_help("fewer, or more `flows`"));
        }
        Ok(uncounted)
    }

    /// Makes a group of the flows in the trace file `name`. The file is read once to check every row.
    fn traced(&self, name: String, options: &GroupOptions) -> Result<Group, Problem> {
        let section = self.section;
        let why = "the trace says who sends how much to whom, and when";
        beside(section, GroupOptions::KEY.trace, &OF_TRACES, why)?;
        let text = self.files.open(&name);
        let text = text.map_err(|why| section.reject(GroupOptions::KEY.trace, format!("\"{name}\": {why}")))?;
        let (mut flows, mut late, mut pairs, mut digest) = (0, 0, BTreeMap::new(), 0);
        let mut first: Option<(u64, Span)> = None;
        let mut rows = TraceReader::new(&name, text, &self.network.sets);
        while let Some(row) = rows.next() {
            let row =
                row.map_err(|why| section.reject(GroupOptions::KEY.trace, why.to_string()).with_help(why.help))?;
            flows += 1;
            late += usize::from(row.start >= self.duration);
            if first.is_none_or(|(_, start)| row.start < start) {
                first = Some((rows.line(), row.start));
            }
            let bytes: &mut u64 = pairs.entry((row.from.0, row.to.0)).or_default();
            if row.start < self.duration {
                *bytes = bytes.saturating_add(row.bytes);
            }
            let hosts = u64::from(row.from.0) << 32 | u64::from(row.to.0);
            for value in [row.start.as_ps(), hosts, row.bytes] {
                digest = hash(digest ^ value);
            }
        }
        let Some((line, start)) = first else {
            return Err(section.reject(GroupOptions::KEY.trace, format!("\"{name}\" has no flows")));
        };
        if late == flows {
            let message = format!(
                "{name}, line {line}, column start: the first flow starts at {start}, and the run ends at {}",
                self.duration
            );
            let help = "a longer `duration`, or earlier starts";
            return Err(section.reject(GroupOptions::KEY.trace, message).with_help(help));
        }
        let (files, sorted) = (self.files.clone(), rows.in_order());
        let start = Starts::Trace(Trace { name, files, pairs, late, sorted, digest });
        self.started(options, flows, start)
    }

    fn pattern(&self, options: &GroupOptions, senders: usize) -> Result<Pattern, Problem> {
        let (section, pattern) = (self.section, options.pattern);
        for (key, of) in
            [(GroupOptions::KEY.at_once, PatternKind::Incast), (GroupOptions::KEY.matrix, PatternKind::Matrix)]
        {
            if section.is_written(key) && pattern != of {
                let of = of.word();
                let problem = section.reject(key, format!("it belongs to pattern = \"{of}\""));
                return Err(problem.with_help(format!("the pattern is \"{}\"", pattern.word())));
            }
        }
        Ok(match pattern {
            PatternKind::Turn => Pattern::RoundRobin,
            PatternKind::Uniform => Pattern::Uniform,
            PatternKind::OtherSite => Pattern::OtherSite,
            PatternKind::Permutation => Pattern::Permutation,
            PatternKind::AllToAll => Pattern::AllToAll,
            PatternKind::Incast => Pattern::Incast(options.at_once.unwrap_or(senders)),
            PatternKind::Matrix => Pattern::Matrix(self.matrix()?),
        })
    }

    /// The demands of a file. A demand of zero, or of a node to itself, is none.
    fn demands(&self, file: &str) -> Result<Vec<MatrixEntry>, Problem> {
        let (section, key) = (self.section, GroupOptions::KEY.matrix);
        let text = self.files.text(file, network_files::MAX_BYTES);
        let text = text.map_err(|why| section.reject(key, format!("\"{file}\": {why}")))?;
        let in_file = |wrong: Wrong| wrong.of(section, key, file);
        let mut entries = Vec::new();
        for Demand { ends, value, line } in network_files::demands(file, &text).map_err(in_file)? {
            let set = |name: &String| {
                let found = self.network.sets.get(name).map(|set| set.iter().map(|node| node.0).collect());
                let help = || advice(name, self.network.sets.keys().map(String::as_str));
                let message = format!("there is no host and no set of hosts \"{name}\"");
                found.ok_or_else(|| in_file(Wrong { line: Some(line), message, help: help() }))
            };
            let (from, to) = (set(&ends[0])?, set(&ends[1])?);
            if value > 0.0 && ends[0] != ends[1] {
                entries.push((from, to, value));
            }
        }
        if entries.is_empty() {
            return Err(section.reject(key, format!("\"{file}\" has no demand")));
        }
        Ok(entries)
    }

    fn matrix(&self) -> Result<Vec<MatrixEntry>, Problem> {
        if let Some(file) = self.section.item(GroupOptions::KEY.matrix).and_then(Item::text) {
            return self.demands(file);
        }
        let entries = rows(self.section, GroupOptions::KEY.matrix)?;
        if entries.is_empty() {
            return Err(self.section.lacks(GroupOptions::KEY.matrix));
        }
        let entry = |(index, (_, item)): (usize, (String, _))| {
            let name = format!("`matrix` number {} in {}", index + 1, self.section.name);
            let section = Section::open::<PairOptions>(name, item)?;
            let PairOptions { from, to, weight } = section.read(())?;
            let set = |key, named| hosts(&section, (key, Some(named)), "", self.network);
            let keys = PairOptions::KEY;
            Ok((set(keys.from, &from)?, set(keys.to, &to)?, weight))
        };
        entries.into_iter().enumerate().map(entry).collect()
    }

    fn sizes(&self, options: &GroupOptions) -> Result<Option<Sizes>, Problem> {
        let section = self.section;
        if options.lasts.is_some() && (options.size.is_some() || options.sizes.is_some()) {
            let problem = section.reject(GroupOptions::KEY.lasts, "flows with a size end when it has arrived");
            return Err(problem.with_help("write a size, or how long flows last"));
        }
        let fixed = options.size.map(|size| Sizes::fixed(size.get()));
        let Some(name) = &options.sizes else { return Ok(fixed) };
        if fixed.is_some() {
            let problem = section.reject(GroupOptions::KEY.size, "there are `sizes` as well");
            return Err(problem.with_help("write one of the two"));
        }
        if let Some(table) = builtin::named(name) {
            return Ok(Some(table));
        }
        let text = self.files.text(name, MAX_TABLE).map_err(|why| {
            let known = list(builtin::names());
            if let Some(near) = near(name, builtin::names()).first() {
                let message = format!("there is no distribution of sizes \"{name}\"");
                let problem = section.reject(GroupOptions::KEY.sizes, message);
                return problem.with_help(format!(
                    "did you mean \"{near}\"? Distributions: {known}; any other name is a file, and \"{name}\": {why}"
                ));
            }
            let problem = section.reject(GroupOptions::KEY.sizes, format!("\"{name}\": {why}"));
            problem.with_help(format!("a file, or one of the distributions {known}"))
        })?;
        let table = Sizes::parse(name.clone(), &text);
        table.map(Some).map_err(|why| section.reject(GroupOptions::KEY.sizes, format!("\"{name}\": {why}")))
    }

    fn start(&self, flows: usize, finite: bool) -> Result<Starts, Problem> {
        let section = self.section;
        let Some(arrivals) = section.nested(GroupOptions::KEY.arrivals)? else {
            return start(section, flows, self.duration);
        };
        if section.is_written(GroupOptions::KEY.start) {
            let problem = section.reject(GroupOptions::KEY.start, "there are `arrivals` as well");
            return Err(problem.with_help("write one of the two"));
        }
        if !section.is_written(GroupOptions::KEY.flows) {
            return Err(section.lacks(GroupOptions::KEY.flows));
        }
        self.arrivals(&arrivals, finite)
    }

    fn arrivals(&self, section: &Section<'_>, finite: bool) -> Result<Starts, Problem> {
        let keys = ArrivalsOptions::KEY;
        let options: ArrivalsOptions = section.read(())?;
        let begin = options.begin;
        if begin >= self.duration {
            let message = format!("{begin} is after the end of the run");
            let help = format!("`duration` is {}", self.duration);
            return Err(section.reject(keys.begin, message).with_help(help));
        }
        let kind = one_of(section, &[keys.load, keys.per_second, keys.every])?;
        let foreign = |foreign: &[&'static Key]| match foreign.iter().find(|key| section.is_written(**key)) {
            Some(key) => Err(section.reject(*key, format!("it does not go with `{}`", kind.name))),
            None => Ok(()),
        };
        let intensity = if let Some(every) = options.every {
            foreign(&[keys.of, keys.on, keys.off])?;
            let Some(at_once) = options.at_once else { return Err(section.lacks(keys.at_once)) };
            return Ok(Starts::Bursts(at_once, begin, every));
        } else if let Some(load) = options.load {
            foreign(&[keys.at_once])?;
            self.load(section, (load, options.of), finite)?
        } else {
            foreign(&[keys.at_once, keys.of])?;
            let Some(rate) = options.per_second else { return Err(section.lacks(keys.per_second)) };
            Intensity::PerSecond(rate)
        };
        Ok(match (options.on, options.off) {
            (None, None) => Starts::Poisson(intensity, begin),
            (Some(on), Some(off)) => Starts::OnOff(intensity, begin, (on, off)),
            (None, Some(_)) => return Err(section.lacks(keys.on)),
            (Some(_), None) => return Err(section.lacks(keys.off)),
        })
    }

    fn load(&self, section: &Section<'_>, (load, of): (f64, String), finite: bool) -> Result<Intensity, Problem> {
        let keys = ArrivalsOptions::KEY;
        if !finite {
            let problem = section.reject(keys.load, "flows without end make no load to speak of");
            return Err(problem.with_help("give the group a `size` or `sizes`"));
        }
        if !self.network.links.contains_key(&of) {
            let problem = section.reject(keys.of, format!("there is no set of links \"{of}\""));
            return Err(problem.with_help(advice(&of, self.network.links.keys().map(String::as_str))));
        }
        Ok(Intensity::Load(load, of))
    }
}

/// The one of these keys that is written; none or two are an error.
fn one_of(section: &Section<'_>, keys: &[&'static Key]) -> Result<&'static Key, Problem> {
    let mut there = keys.iter().filter(|key| section.is_written(**key));
    let Some(&first) = there.next() else {
        let problem = section.at.problem(format!("{} says nothing of when", section.name));
        return Err(problem.with_help(format!("one of {}", list(keys.iter().map(|key| key.name)))));
    };
    match there.next() {
        None => Ok(first),
        Some(second) => {
            let problem = section.reject(*second, format!("there is `{}` as well", first.name));
            Err(problem.with_help("write one of the two"))
        }
    }
}

/// The longest file with a distribution of flow sizes, in bytes.
const MAX_TABLE: u64 = 10_000_000;

/// The hosts that a key names, singly or by sets. `default` is the name of a set that is taken if the key is missing.
pub(super) fn hosts(
    section: &Section<'_>, (key, written): (&'static Key, Option<&Hosts>), default: &str, network: &Network,
) -> Result<Vec<u32>, Problem> {
    let names = match written {
        Some(hosts) => hosts.names.iter().map(String::as_str).collect(),
        None if network.sets.contains_key(default) => vec![default],
        None => {
            let help = format!("`{}` names hosts or sets of hosts. {}", key.name, sets(network));
            return Err(section.lacks(key).with_help(help));
        }
    };
    let mut hosts = Vec::new();
    for name in names {
        let Some(set) = network.sets.get(name) else {
            let node = network.names.iter().any(|known| known == name);
            let message = if node {
                format!("\"{name}\" is a switch")
            } else {
                format!("there is no host and no set of hosts \"{name}\"")
            };
            let problem = section.reject(key, message);
            let near = near(name, network.sets.keys().map(String::as_str));
            let guess = near.first().map_or_else(String::new, |it| format!("did you mean \"{it}\"? "));
            return Err(problem.with_help(format!("{guess}name hosts or sets of hosts. {}", sets(network))));
        };
        hosts.extend(set.iter().map(|node| node.0));
    }
    Ok(hosts)
}

/// Lists the sets of hosts and a few hosts, for the help of an error.
fn sets(network: &Network) -> String {
    let names: BTreeSet<&str> = network.hosts().into_keys().collect();
    let sets = network.sets.keys().map(String::as_str).filter(|set| !names.contains(set));
    let hosts = list(names.iter().copied().take(3));
    let more = if names.len() > 3 { ", ..." } else { "" };
    format!("Sets: {}. Hosts: {hosts}{more}", list(sets))
}

pub(super) fn start(section: &Section<'_>, flows: usize, duration: Span) -> Result<Starts, Problem> {
    let (starts, last) = match section.item(GroupOptions::KEY.start) {
        Some(item) if item.table().is_some() => every(section, item, flows)?,
        _ => match section.value(GroupOptions::KEY.start)?.unwrap_or(Times::One(Span::ZERO)) {
            Times::One(at) => (Starts::At(at), at),
            Times::Drawn(low, high) => (Starts::Drawn(low, high), high),
        },
    };
    if last >= duration {
        let message = format!("the last flow starts at {last}, and the run ends at {duration}");
        let help = format!("flows start before `duration`, which is {duration}");
        return Err(section.reject(GroupOptions::KEY.start, message).with_help(help));
    }
    Ok(starts)
}

fn every(section: &Section<'_>, item: &Item, flows: usize) -> Result<(Starts, Span), Problem> {
    let start = Section::open::<EveryOptions>(format!("`start` in {}", section.name), item)?;
    let EveryOptions { first, every } = start.read(())?;
    // Bounds of both keys keep the product within 128 bits.
    let last = u128::from(every.as_ps()) * (flows as u128 - 1) + u128::from(first.as_ps());
    let last = Span::from_ps(u64::try_from(last).unwrap_or(u64::MAX));
    Ok((Starts::Every(first, every), last))
}

/// The most pairs of hosts that are checked when the scenario is read. A run checks the others when it is set up.
const MAX_PAIRS: usize = 200_000;

/// Checks that every flow has another host to send to, and a path to that host.
fn paths(
    section: &Section<'_>, (index, group): (usize, &Group), network: &Network, reach: &Reach,
) -> Result<(), Problem> {
    let name = |node: u32| network.names[node as usize].as_str();
    let key = if section.is_written(GroupOptions::KEY.trace) { GroupOptions::KEY.trace } else { GroupOptions::KEY.to };
    let joined = |from: u32, to: u32| {
        if reach.joins(from, to) {
            return Ok(());
        }
        let message = format!("no path leads from host \"{}\" to host \"{}\"", name(from), name(to));
        let help = "hosts pass nothing on: links and switches must join the two";
        Err(section.reject(key, message).with_help(help))
    };
    if let Starts::Trace(trace) = &group.start {
        return trace.pairs.keys().try_for_each(|&(from, to)| joined(from, to));
    }
    if group.pattern == Pattern::RoundRobin {
        for flow in 0..group.flows.min(MAX_PAIRS) {
            let (from, to) = (group.from[flow % group.from.len()], group.to[flow % group.to.len()]);
            if from == to {
                let message = format!("flow {flow} goes from host \"{}\" to itself", name(from));
                let help = "flows take the hosts of `from` and of `to` in turn; leave it out of one";
                return Err(section.reject(GroupOptions::KEY.to, message).with_help(help));
            }
            joined(from, to)?;
        }
        return Ok(());
    }
    let pairs = pairs(group, index, network, Seed::new(1)).map_err(|why| {
        section.reject(GroupOptions::KEY.pattern, why).with_help("see docs/workloads.md for what each pattern needs")
    })?;
    let mut weights = pairs.weights().take(MAX_PAIRS);
    weights.try_for_each(|((from, to), _)| joined(from.0, to.0))?;
    if let Some(Intensity::Load(_, links)) = intensity(group) {
        let paths = network.paths();
        if LoadTerms::for_group(group, index, network, &paths, links, Seed::new(1)).is_none() {
            let message = format!("no flow of this group crosses the links \"{links}\"");
            return Err(section.reject(GroupOptions::KEY.arrivals, message).with_help("choose another set of links"));
        }
    }
    Ok(())
}
