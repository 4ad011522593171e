//! Networks from files.

use shallop_core::Span;

use super::fabrics::{line, mtu};
use super::format::{LEAST_RATE, MOST_DELAY, MOST_NODES, MOST_RATE};
use super::problem::{Problem, advice};
use super::section::Section;
use super::topology::like;
use crate::fabrics::Line;
use crate::files::Files;
use crate::import::{self, Defaults, Format, Imported, MOST_BYTES};
use crate::plan::Topology;

pub(super) fn read(
    section: &Section<'_>,
    known: &[&str],
    files: &dyn Files,
) -> Result<Topology, Problem> {
    let file: String = section.must("file")?;
    let Some(format) = Format::of(&file) else {
        let problem = section.reject("file", format!("\"{file}\" is of no known format"));
        return Err(problem.with_help("its ending says the format: .graphml, .gml or .csv"));
    };
    let defaults = Defaults {
        rate: section.get("default_rate")?,
        delay: section.get("default_delay")?,
        path_factor: section.or("path_factor", 1.0)?,
        rates: LEAST_RATE..=MOST_RATE,
        longest: MOST_DELAY,
    };
    let text = files.text(&file, MOST_BYTES);
    let text = text.map_err(|why| section.reject("file", format!("\"{file}\": {why}")))?;
    let parts = import::read(format, &text, &defaults).map_err(|wrong| {
        let line = wrong.line.map_or_else(String::new, |line| format!(", line {line}"));
        let problem = section.reject("file", format!("\"{file}\"{line}: {}", wrong.message));
        problem.with_help(wrong.help)
    })?;
    if parts.nodes.len() as u64 > MOST_NODES {
        let message = format!("\"{file}\" has {} nodes", parts.nodes.len());
        let help = format!("at most {MOST_NODES} are simulated");
        return Err(section.reject("file", message).with_help(help));
    }
    let mtu = mtu(section)?;
    let rates = parts.links.iter().map(|link| link.2);
    let fastest = rates.max().unwrap_or(LEAST_RATE);
    Ok(Topology::File(Imported {
        nodes: hosts(section, parts.nodes)?,
        access: line(section, ("access_rate", fastest), ("access_delay", Span::ZERO))?,
        links: parts
            .links
            .into_iter()
            .map(|(a, b, rate, delay)| (a, b, Line { rate, delay, mtu }))
            .collect(),
        switch: like(section, "switch", known)?,
        origin: parts.origin,
    }))
}

/// The nodes with how many hosts each has.
fn hosts(section: &Section<'_>, nodes: Vec<String>) -> Result<Vec<(String, usize)>, Problem> {
    let hosts: usize = section.or("hosts", 1)?;
    let Some(places) = section.get::<Vec<String>>("hosts_at")? else {
        return Ok(nodes.into_iter().map(|name| (name, hosts)).collect());
    };
    let mut with: Vec<(String, usize)> = nodes.into_iter().map(|name| (name, 0)).collect();
    for place in &places {
        match with.iter().position(|(name, _)| name == place) {
            Some(at) if with[at].1 > 0 => {
                return Err(section.reject("hosts_at", format!("\"{place}\" is there twice")));
            }
            Some(at) => with[at].1 = hosts,
            None => {
                let problem = section.reject("hosts_at", format!("there is no node \"{place}\""));
                let names: Vec<&str> = with.iter().map(|node| node.0.as_str()).collect();
                return Err(problem.with_help(advice(place, names)));
            }
        }
    }
    Ok(with)
}
