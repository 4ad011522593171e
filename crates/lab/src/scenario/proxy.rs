//! The proxy of a scheme.

use shallop_control::clean as law;
use shallop_control::ewma::Marked;
use shallop_proto::clean::Config;
use shallop_sim::NodeKind;

use super::options::CLEAN;
use super::problem::{Problem, advice};
use super::schemes::Read;
use super::section::Section;
use super::tree::Item;
use crate::campus::{CLOUD, RADIO};
use crate::network::Network;
use crate::plan::{Plan, Topology};
use crate::proxy::Clean;

/// Gives every scheme the proxy it asks for.
pub(super) fn place(plan: &mut Plan, read: &[Read], network: &Network) -> Result<(), Problem> {
    for (scheme, read) in plan.schemes.iter_mut().zip(read) {
        if let Some(item) = &read.clean {
            scheme.clean = Some(clean(&scheme.name, item, (&plan.topology, network))?);
        }
    }
    Ok(())
}

/// Reads the `clean` of a scheme of this name.
fn clean(
    scheme: &str,
    item: &Item,
    (topology, network): (&Topology, &Network),
) -> Result<Clean, Problem> {
    let section = Section::open(format!("`clean` in [[scheme]] \"{scheme}\""), CLEAN, item)?;
    let default = Config::default();
    let config = Config {
        law: law(&section)?,
        idle: section.or("idle", default.idle)?,
        flows: section.or("flows", default.flows)?,
        validate: section.or("validate", default.validate)?,
        ..default
    };
    let campus = matches!(topology, Topology::Campus(_));
    let (edges, points) = if campus { campus_ports(network) } else { (vec![], vec![]) };
    let ports = |key, default: Vec<u32>| {
        match section.get::<Vec<String>>(key)? {
        Some(names) => ports(&section, key, &names, network),
        None if default.is_empty() => Err(section.lacks(key).with_help(
            "a port by the nodes it leads from and to, such as \"ap>station\"; known by itself in kind = \"campus\"",
        )),
        None => Ok(default),
    }
    };
    let (edges, points) = (ports("edges", edges)?, ports("points", points)?);
    let at = |port: &&u32| network.graph.kind(network.graph.far(**port)) == NodeKind::Host;
    if let Some(port) = edges.iter().find(at) {
        let message = format!("{} leads to a host", network.port_name(*port));
        let help = "an edge is where packets come in: from outside to a switch";
        return Err(section.reject("edges", message).with_help(help));
    }
    if let Some(port) = points.iter().find(|port| !network.is_switch_port(**port)) {
        let message = format!("{} leads from a host", network.port_name(*port));
        let help = "the last hop leads from a switch to receivers";
        return Err(section.reject("points", message).with_help(help));
    }
    Ok(Clean { config, edges, points })
}

fn law(section: &Section<'_>) -> Result<law::Config, Problem> {
    let default = law::Config::default();
    let gain: f64 = section.or("gain", 0.0625)?;
    let Some(shift) = Marked::shift(gain) else {
        let problem = section.reject("gain", format!("{gain} is no power of one half"));
        return Err(problem.with_help("1, 0.5, 0.25 and so on down to 1/1024"));
    };
    let alpha: f64 = section.or("alpha_initial", 1.0)?;
    let scale = match section.get::<f64>("scale")? {
        Some(scale) => ((scale * 1_024.0 + 0.5) as u32).clamp(1, law::MOST_SCALE),
        None => default.scale,
    };
    let least = section.or("least_window", default.least)?;
    let initial = section.or("initial_window", default.initial.max(least))?;
    if initial < least {
        let message = format!("{initial} segments are less than the least, {least}");
        let help = "initial_window is not below least_window";
        return Err(section.reject("initial_window", message).with_help(help));
    }
    Ok(law::Config {
        decrease: match section.or("decrease", "alpha")? {
            "half" => law::Decrease::Half,
            _ => law::Decrease::Marked,
        },
        scale,
        shift,
        alpha: (alpha * f64::from(Marked::ONE)) as u32,
        initial,
        least,
    })
}

/// Where packets enter a campus, and where they go on the air.
fn campus_ports(network: &Network) -> (Vec<u32>, Vec<u32>) {
    let set = |name: &str| network.links.get(name).into_iter().flatten().copied();
    let host = |port: &u32| !network.is_switch_port(*port);
    // A link's first port leads from its first node: from the access point.
    let down = |port: &u32| port.is_multiple_of(2);
    (set(CLOUD).filter(host).collect(), set(RADIO).filter(down).collect())
}

/// The ports of these names.
fn ports(
    section: &Section<'_>,
    key: &str,
    names: &[String],
    network: &Network,
) -> Result<Vec<u32>, Problem> {
    let all: Vec<String> =
        (0..network.graph.ports() as u32).map(|port| network.port_name(port)).collect();
    let mut ports = Vec::new();
    for name in names {
        let found = (0..).zip(&all).filter(|(_, known)| *known == name).map(|(port, _)| port);
        let before = ports.len();
        ports.extend(found);
        if ports.len() == before {
            let problem = section.reject(key, format!("there is no port \"{name}\""));
            return Err(problem.with_help(advice(name, all.iter().map(String::as_str))));
        }
    }
    Ok(ports)
}
