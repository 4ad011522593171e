//! Reads `[topology]` with `kind = "file"`: a network from a file beside the scenario.

use std::collections::BTreeSet;

use shallop_core::Span;
use shallop_options::suggest::{advice, list};
use shallop_options::{Problem, Section};

use super::network_options::{FileFaultOptions, FileOptions};
use super::rows::rows;
use super::topology::{Known, ends, like, with_faults};
use crate::network_files::{self, Defaults, Format, MAX_BYTES, Part, Wrong};
use shallop_plan::chips::{self, Chip};
use shallop_plan::files::Files;
use shallop_plan::plan::{GraphLink, Topology};
use shallop_topology::bounds::{MAX_DELAY, MAX_NODES, MAX_RATE, MIN_RATE};
use shallop_topology::{Imported, Way};

/// Reads the network. Switches whose `chip` the file names are added to `chips`; their indices follow those of the
/// `[switch.NAME]` sections.
pub(super) fn read(section: &Section<'_>, known: &Known<'_>, chips: &mut Vec<OwnChip>) -> Result<Topology, Problem> {
    let keys = FileOptions::KEY;
    let options: FileOptions = section.read(())?;
    let file = &options.file;
    let Some(format) = Format::of(file) else {
        let problem = section.reject(keys.file, format!("\"{file}\" is of no known format"));
        return Err(problem.with_help("its ending says the format: .graphml, .gml or .csv"));
    };
    let defaults = Defaults {
        rate: options.default_rate,
        delay: options.default_delay,
        path_factor: options.path_factor,
        rates: MIN_RATE..=MAX_RATE,
        longest: MAX_DELAY,
    };
    let text = known.files.text(file, MAX_BYTES);
    let text = text.map_err(|why| section.reject(keys.file, format!("\"{file}\": {why}")))?;
    let in_file = |wrong: Wrong| {
        let line = wrong.line.map_or_else(String::new, |line| format!(", line {line}"));
        let problem = section.reject(keys.file, format!("\"{file}\"{line}: {}", wrong.message));
        problem.with_help(wrong.help)
    };
    let parts = network_files::read(format, &text, &defaults).map_err(in_file)?;
    if parts.nodes.len() as u64 > MAX_NODES {
        let message = format!("\"{file}\" has {} nodes", parts.nodes.len());
        let help = format!("at most {MAX_NODES} are simulated");
        return Err(section.reject(keys.file, message).with_help(help));
    }
    let mtu = options.largest.mtu;
    let rates = parts.links.iter().map(|link| link.2);
    let fastest = rates.max().unwrap_or(MIN_RATE);
    let rate = options.access_rate.unwrap_or(fastest);
    let otherwise = like(section, keys.switch, options.switch.as_deref(), known)?;
    let switch = |part: &Part| switch(part, otherwise, known, chips).map_err(in_file);
    let switches = parts.nodes.iter().map(switch).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = parts.nodes.into_iter().map(|part| part.name).collect();
    let properties = |(a, b, rate, delay)| (a, b, Way { rate, delay, mtu });
    let links: Vec<Link> = parts.links.into_iter().map(properties).collect();
    let faults = faults(section, (&names, &links))?;
    let imported = Imported {
        nodes: hosts(section, &options, names)?,
        access: Way { rate, delay: options.access_delay, mtu },
        links,
        switches,
        origin: parts.origin,
        unread: (file.clone(), parts.unread),
    };
    Ok(Topology::File(imported, faults))
}

/// The names of the `[switch.NAME]` sections that a network file names, except the default, in alphabetical order; none
/// of a file that is wrong.
pub(super) fn switches(files: &dyn Files, file: &str) -> Vec<String> {
    let (rate, delay) = (Some(MIN_RATE), Some(Span::ZERO));
    let defaults = Defaults { rate, delay, path_factor: 1.0, rates: MIN_RATE..=MAX_RATE, longest: MAX_DELAY };
    let format = Format::of(file).zip(files.text(file, MAX_BYTES).ok());
    let parts = format.and_then(|(format, text)| network_files::read(format, &text, &defaults).ok());
    let nodes = parts.into_iter().flat_map(|parts| parts.nodes);
    let names: BTreeSet<String> = nodes.filter_map(|node| Some(node.switch?.0)).collect();
    names.into_iter().filter(|name| name != "default").collect()
}

/// A link between two nodes, given by their indices.
type Link = (usize, usize, Way);

/// Reads `fault`, the faults of links: the index of each such link, and the link with its faults.
fn faults(section: &Section<'_>, (names, links): (&[String], &[Link])) -> Result<Vec<(usize, GraphLink)>, Problem> {
    let key = FileFaultOptions::KEY.between;
    let mut found: Vec<(usize, GraphLink)> = Vec::new();
    for (name, item) in rows(section, FileOptions::KEY.fault)? {
        let fault = Section::open::<FileFaultOptions>(name, item)?;
        let FileFaultOptions { between, .. } = fault.read(())?;
        let find = |name: &str| names.iter().position(|known| known == name);
        let ends = ends(&fault, (key, &between), find, &names.iter().map(String::as_str))?;
        let joins = |(a, b): (usize, usize)| (a, b) == ends || (b, a) == ends;
        let before = found.len();
        for (index, &(a, b, properties)) in links.iter().enumerate() {
            if !joins((a, b)) {
                continue;
            }
            if found.iter().any(|other| other.0 == index) {
                let problem = fault.reject(key, "the link has an earlier section");
                return Err(problem.with_help("one section for each link, with all of its faults"));
            }
            let mut ways = with_faults(&fault, [properties; 2])?;
            if (a, b) != ends {
                ways.reverse();
            }
            found.push((index, GraphLink { between: (a, b), ways }));
        }
        if found.len() == before {
            let neighbours = links.iter().filter_map(|link| match (link.0, link.1) {
                (a, b) if a == ends.0 => Some(names[b].as_str()),
                (b, a) if a == ends.0 => Some(names[b].as_str()),
                _ => None,
            });
            let (a, b) = (&names[ends.0], &names[ends.1]);
            let help = format!("\"{a}\" is linked to {}", list(neighbours));
            let problem = fault.reject(key, format!("no link joins \"{a}\" and \"{b}\""));
            return Err(problem.with_help(help));
        }
    }
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

/// The number of hosts at each node. `nodes` are the names of all nodes; `hosts_at` chooses those with hosts.
fn hosts(section: &Section<'_>, options: &FileOptions, nodes: Vec<String>) -> Result<Vec<(String, usize)>, Problem> {
    let (key, hosts) = (FileOptions::KEY.hosts_at, options.hosts);
    let Some(places) = &options.hosts_at else {
        return Ok(nodes.into_iter().map(|name| (name, hosts)).collect());
    };
    let mut with: Vec<(String, usize)> = nodes.into_iter().map(|name| (name, 0)).collect();
    for place in places {
        match with.iter().position(|(name, _)| name == place) {
            Some(at) if with[at].1 > 0 => {
                return Err(section.reject(key, format!("\"{place}\" is there twice")));
            }
            Some(at) => with[at].1 = hosts,
            None => {
                let problem = section.reject(key, format!("there is no node \"{place}\""));
                let names: Vec<&str> = with.iter().map(|node| node.0.as_str()).collect();
                return Err(problem.with_help(advice(place, names)));
            }
        }
    }
    Ok(with)
}
