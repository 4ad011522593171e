//! Reads `[topology]` with `kind = "file"`: a network from a file beside the scenario.

use super::network_options::{Component, FaultOptions, FileFaultOptions, FileOptions};
use super::rows::rows;
use super::topology::{Known, ends, like, with_faults};
use crate::network_files::{self, Defaults, FileLink, Format, MAX_BYTES, Part, Parts, Wrong};
use shallop_core::{Bytes, Span};
use shallop_options::suggest::{advice, list};
use shallop_options::{Item, Problem, RawValue, Section};
use shallop_plan::chips::{self, Chip};
use shallop_plan::files::Files;
use shallop_plan::plan::{GraphLink, LinkWay, Topology};
use shallop_topology::bounds::{MAX_DELAY, MAX_NODES, MAX_RATE, MIN_RATE};
use shallop_topology::{Imported, Way};
use std::collections::BTreeSet;

/// Reads the network. Switches whose `chip` the file names are added to `chips`; their indices follow those of the
/// `[switch.NAME]` sections.
pub(super) fn read(section: &Section<'_>, known: &Known<'_>, chips: &mut Vec<OwnChip>) -> Result<Topology, Problem> {
    let keys = FileOptions::KEY;
    let options: FileOptions = section.read(())?;
    let file = &options.file;
    let defaults = Defaults {
        rate: options.default_rate,
        delay: options.default_delay,
        path_factor: options.path_factor,
        rates: MIN_RATE..=MAX_RATE,
        longest: MAX_DELAY,
        unit: unit(section, options.rate_unit.as_deref())?,
        largest: options.component == Component::Largest,
    };
    let text = known.files.text(file, MAX_BYTES);
    let text = text.map_err(|why| section.reject(keys.file, format!("\"{file}\": {why}")))?;
    let Some(format) = Format::of(file, &text) else {
        return Err(section.reject(keys.file, format!("\"{file}\" is of no known format")).with_help(Format::KNOWN));
    };
    let in_file = |wrong: Wrong| wrong.of(section, keys.file, file);
    let mut parts = network_files::read(format, &text, &defaults).map_err(in_file)?;
    mark_hosts(section, &options, &mut parts)?;
    if parts.nodes.len() as u64 > MAX_NODES {
        let message = format!("\"{file}\" has {} nodes", parts.nodes.len());
        let help = format!("at most {MAX_NODES} are simulated");
        return Err(section.reject(keys.file, message).with_help(help));
    }
    let mtu = options.largest.mtu;
    let rates = parts.links.iter().flat_map(|link| link.ways.map(|way| way.rate));
    let fastest = rates.max().unwrap_or(MIN_RATE);
    let rate = options.access_rate.unwrap_or(fastest);
    let otherwise = like(section, keys.switch, options.switch.as_deref(), known)?;
    let switch = |part: &Part| {
        let own = (!part.is_host).then(|| switch(part, otherwise, known, chips));
        own.transpose().map_err(in_file)
    };
    let switches = parts.nodes.iter().map(switch).collect::<Result<Vec<_>, _>>()?;
    let speeds = parts.nodes.iter().map(|part| part.of_hosts.map(|own| own.unwrap_or(rate))).collect();
    let names: Vec<String> = parts.nodes.into_iter().map(|part| part.name).collect();
    let links: Vec<(GraphLink, bool)> = parts.links.iter().map(|link| graph_link(link, mtu)).collect();
    let faults = faults(section, (&names, &links), known)?;
    let way = |way: &LinkWay| Way { rate: way.rate, delay: way.delay, mtu: way.mtu };
    let ways = |(link, _): &(GraphLink, bool)| (link.between.0, link.between.1, link.ways.each_ref().map(way));
    let imported = Imported {
        nodes: hosts(section, &options, names, &switches)?,
        access: Way { rate, delay: options.access_delay, mtu },
        speeds,
        links: links.iter().map(ways).collect(),
        switches,
        origin: parts.origin,
        unread: (file.clone(), parts.unread),
        notes: parts.notes,
    };
    Ok(Topology::File(imported, faults))
}

/// The names of the `[switch.NAME]` sections that a network file names, except the default, in alphabetical order; none
/// of a file that is wrong.
pub(super) fn switches(files: &dyn Files, file: &str) -> Vec<String> {
    let (rate, delay, path_factor, rates) = (Some(MIN_RATE), Some(Span::ZERO), 1.0, MIN_RATE..=MAX_RATE);
    let defaults = Defaults { rate, delay, path_factor, rates, longest: MAX_DELAY, unit: None, largest: true };
    let text = files.text(file, MAX_BYTES).ok();
    let parts = text.and_then(|text| network_files::read(Format::of(file, &text)?, &text, &defaults).ok());
    let nodes = parts.into_iter().flat_map(|parts| parts.nodes);
    let names: BTreeSet<String> = nodes.filter_map(|node| Some(node.switch?.0)).collect();
    names.into_iter().filter(|name| name != "default").collect()
}

/// Makes hosts of the nodes that `hosts_are` names.
fn mark_hosts(section: &Section<'_>, options: &FileOptions, parts: &mut Parts) -> Result<(), Problem> {
    let key = FileOptions::KEY.hosts_are;
    let mut links = vec![0; parts.nodes.len()];
    parts.links.iter().flat_map(|link| [link.between.0, link.between.1]).for_each(|node| links[node] += 1);
    let leaves: BTreeSet<&str> =
        parts.nodes.iter().zip(&links).filter(|it| *it.1 == 1).map(|it| it.0.name.as_str()).collect();
    let Some(item) = section.item(key) else {
        let all = options.hosts_at.as_ref().filter(|at| at.iter().all(|at| leaves.contains(at.as_str())));
        if all.is_some() && parts.nodes.iter().all(|part| !part.is_host) {
            let note = "hosts are behind the nodes of `hosts_at`, which have one link each; if these nodes are the \
                        hosts, write them as `hosts_are`";
            parts.notes.push(note.to_owned());
        }
        return Ok(());
    };
    let names = match &item.value {
        RawValue::List(items) => items.iter().filter_map(Item::text).map(str::to_owned).collect(),
        _ if item.text() == Some("leaves") => leaves.into_iter().map(str::to_owned).collect(),
        _ => {
            let problem = section.reject(key, "no names of nodes");
            return Err(problem.with_help("a list of names, or \"leaves\", the nodes with one link"));
        }
    };
    let names: Vec<String> = names;
    for name in names {
        let Some(at) = parts.nodes.iter().position(|part| part.name == name) else {
            let known = parts.nodes.iter().map(|part| part.name.as_str());
            return Err(section.reject(key, format!("no node is named \"{name}\"")).with_help(advice(&name, known)));
        };
        parts.nodes[at].is_host = true;
    }
    Ok(())
}

/// The unit of rates without a unit, in bit/s.
fn unit(section: &Section<'_>, written: Option<&str>) -> Result<Option<f64>, Problem> {
    let Some(text) = written else { return Ok(None) };
    Defaults::unit_of(text).map(Some).ok_or_else(|| {
        let problem = section.reject(FileOptions::KEY.rate_unit, format!("\"{text}\" is not a unit of rates"));
        problem.with_help("allowed: bps, kbps, Mbps, Gbps, also as Mb/s or Mbit/s; MBps and MB/s are bytes a second")
    })
}

/// A link of a file with its loss and jitter, and whether it has any.
fn graph_link(link: &FileLink, mtu: Bytes) -> (GraphLink, bool) {
    let ways = link.ways.map(|way| {
        let plain = Way { rate: way.rate, delay: way.delay, mtu: way.mtu.unwrap_or(mtu) };
        LinkWay { loss: way.loss, jitter: way.jitter, ..LinkWay::without_faults(plain) }
    });
    let faulty = link.ways.iter().any(|way| way.loss > 0.0 || way.jitter > Span::ZERO);
    (GraphLink { between: link.between, ways }, faulty)
}

/// Reads `fault`, the faults of links: the index of each link with faults, and the link with them. Loss and jitter of
/// the file hold where the section of a link has none.
fn faults(
    section: &Section<'_>, (names, links): (&[String], &[(GraphLink, bool)]), known: &Known<'_>,
) -> Result<Vec<(usize, GraphLink)>, Problem> {
    let key = FileFaultOptions::KEY.between;
    let mut found: Vec<(usize, GraphLink)> = Vec::new();
    for (name, item) in rows(section, FileOptions::KEY.fault)? {
        let fault = Section::open::<FileFaultOptions>(name, item)?;
        let FileFaultOptions { between, .. } = fault.read(())?;
        let find = |name: &str| names.iter().position(|known| known == name);
        let ends = ends(&fault, (key, &between), find, &names.iter().map(String::as_str))?;
        let joins = |(a, b): (usize, usize)| (a, b) == ends || (b, a) == ends;
        let before = found.len();
        for (index, (link, _)) in links.iter().enumerate().filter(|(_, (link, _))| joins(link.between)) {
            if found.iter().any(|other| other.0 == index) {
                let problem = fault.reject(key, "the link has an earlier section");
                return Err(problem.with_help("one section for each link, with all of its faults"));
            }
            let turned = link.between != ends;
            let mut own = link.ways.clone();
            if turned {
                own.reverse();
            }
            let plain = |way: &LinkWay| Way { rate: way.rate, delay: way.delay, mtu: way.mtu };
            let mut ways = with_faults(&fault, own.each_ref().map(plain), known)?;
            for (way, own) in ways.iter_mut().zip(&own) {
                way.loss = if fault.is_written(FaultOptions::KEY.loss) { way.loss } else { own.loss };
                way.jitter = if fault.is_written(FaultOptions::KEY.jitter) { way.jitter } else { own.jitter };
            }
            if turned {
                ways.reverse();
            }
            found.push((index, GraphLink { between: link.between, ways }));
        }
        if found.len() == before {
            let neighbours = links.iter().filter_map(|(link, _)| match link.between {
                (a, b) if a == ends.0 => Some(names[b].as_str()),
                (b, a) if a == ends.0 => Some(names[b].as_str()),
                _ => None,
            });
            let (a, b) = (&names[ends.0], &names[ends.1]);
            let help = format!("\"{a}\" is linked to {}", list(neighbours));
            return Err(fault.reject(key, format!("no link joins \"{a}\" and \"{b}\"")).with_help(help));
        }
    }
    let sections: BTreeSet<usize> = found.iter().map(|(index, _)| *index).collect();
    let own = links.iter().enumerate().filter(|(index, (_, faulty))| *faulty && !sections.contains(index));
    found.extend(own.map(|(index, (link, _))| (index, link.clone())));
    Ok(found)
}

/// The index of the switch settings of a node; `otherwise` if the file names none. A `chip` in the file adds an entry
/// to `chips`.
fn switch(part: &Part, otherwise: usize, known: &Known<'_>, chips: &mut Vec<OwnChip>) -> Result<usize, Wrong> {
    let wrong = |line: usize, message: String, help: String| Wrong { line: Some(line), message, help };
    let mut number = otherwise;
    if let Some((name, line)) = &part.switch {
        let found = known.switches.iter().position(|known| known == name);
        number = found.ok_or_else(|| {
            let help = advice(name, known.switches.iter().copied());
            wrong(*line, format!("there is no [switch.{name}]"), help)
        })?;
    }
    let Some((id, line)) = &part.chip else { return Ok(number) };
    let chip = chips::find(id).ok_or_else(|| {
        let known: Vec<&str> = chips::all().iter().map(|chip| chip.id).collect();
        wrong(*line, format!("there is no chip \"{id}\""), advice(id, known))
    })?;
    if chip.buffer.is_none() {
        let help = "write a [switch.NAME] with its `buffer`, and `switch` in place of `chip` in the file";
        return Err(wrong(*line, format!("the memory of \"{id}\" is not public"), help.into()));
    }
    let own = OwnChip { like: number, chip };
    let at = chips.iter().position(|known| *known == own).unwrap_or_else(|| {
        chips.push(own);
        chips.len() - 1
    });
    Ok(known.switches.len() + at)
}

/// The settings of a `[switch.NAME]` with the memory of another chip, which a network file names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnChip {
    /// The index of the `[switch.NAME]`.
    pub like: usize,
    pub chip: &'static Chip,
}

/// The number of hosts at each node. `hosts_at` chooses the nodes with hosts; without it all switches have hosts, or
/// none if the file has hosts of its own.
fn hosts(
    section: &Section<'_>, options: &FileOptions, nodes: Vec<String>, switches: &[Option<usize>],
) -> Result<Vec<(String, usize)>, Problem> {
    let (key, own) = (FileOptions::KEY.hosts_at, switches.contains(&None));
    let hosts = options.hosts.unwrap_or(usize::from(!own || options.hosts_at.is_some()));
    let Some(places) = &options.hosts_at else {
        let at = |(name, switch): (String, &Option<usize>)| (name, if switch.is_some() { hosts } else { 0 });
        return Ok(nodes.into_iter().zip(switches).map(at).collect());
    };
    let mut with: Vec<(String, usize)> = nodes.into_iter().map(|name| (name, 0)).collect();
    for place in places {
        match with.iter().position(|(name, _)| name == place) {
            Some(at) if switches[at].is_none() => {
                let problem = section.reject(key, format!("\"{place}\" is a host itself"));
                return Err(problem.with_help("hosts are attached to switches"));
            }
            Some(at) if with[at].1 > 0 => {
                return Err(section.reject(key, format!("\"{place}\" is there twice")));
            }
            Some(at) => with[at].1 = hosts,
            None => {
                let problem = section.reject(key, format!("no node is named \"{place}\""));
                let names: Vec<&str> = with.iter().map(|node| node.0.as_str()).collect();
                return Err(problem.with_help(advice(place, names)));
            }
        }
    }
    Ok(with)
}
