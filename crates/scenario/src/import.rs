//! Networks from files.

use super::problem::{Problem, advice};
use super::section::Section;
use super::shapes::FileOptions;
use super::topology::{Known, like};
use crate::network_files::{self, Defaults, Format, MAX_BYTES};
use shallop_plan::plan::Topology;
use shallop_topology::bounds::{MAX_DELAY, MAX_NODES, MAX_RATE, MIN_RATE};
use shallop_topology::{Imported, Line};

pub(super) fn read(section: &Section<'_>, known: &Known<'_>) -> Result<Topology, Problem> {
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
    let parts = network_files::read(format, &text, &defaults).map_err(|wrong| {
        let line = wrong.line.map_or_else(String::new, |line| format!(", line {line}"));
        let problem = section.reject(keys.file, format!("\"{file}\"{line}: {}", wrong.message));
        problem.with_help(wrong.help)
    })?;
    if parts.nodes.len() as u64 > MAX_NODES {
        let message = format!("\"{file}\" has {} nodes", parts.nodes.len());
        let help = format!("at most {MAX_NODES} are simulated");
        return Err(section.reject(keys.file, message).with_help(help));
    }
    let mtu = options.largest.mtu;
    let rates = parts.links.iter().map(|link| link.2);
    let fastest = rates.max().unwrap_or(MIN_RATE);
    let rate = options.access_rate.unwrap_or(fastest);
    Ok(Topology::File(Imported {
        nodes: hosts(section, &options, parts.nodes)?,
        access: Line { rate, delay: options.access_delay, mtu },
        links: parts
            .links
            .into_iter()
            .map(|(a, b, rate, delay)| (a, b, Line { rate, delay, mtu }))
            .collect(),
        switch: like(section, keys.switch, options.switch.as_deref(), known)?,
        origin: parts.origin,
    }))
}

/// The nodes with how many hosts each has.
fn hosts(
    section: &Section<'_>,
    options: &FileOptions,
    nodes: Vec<String>,
) -> Result<Vec<(String, usize)>, Problem> {
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
