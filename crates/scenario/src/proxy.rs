//! Reads the CLEAN proxies of schemes (key `clean`).

use shallop_options::suggest::advice;
use shallop_options::{Item, Key, Problem, Section};
use shallop_topology::{AnyFabric, NodeKind};

use super::schemes::SchemeEntry;
use shallop_plan::network::Network;
use shallop_plan::plan::{Plan, Topology};
use shallop_plan::proxy::{Clean, CleanOptions};
use shallop_topology::campus::{CLOUD, RADIO};

/// Reads the proxy of every scheme that has one, and finds its ports in the network.
pub(super) fn place(plan: &mut Plan, read: &[SchemeEntry], network: &Network) -> Result<(), Problem> {
    for (scheme, read) in plan.schemes.iter_mut().zip(read) {
        if let Some(item) = &read.clean {
            scheme.clean = Some(clean(&scheme.name, item, (&plan.topology, network))?);
        }
    }
    Ok(())
}

/// Reads `clean` of the scheme with this name.
fn clean(scheme: &str, item: &Item, (topology, network): (&Topology, &Network)) -> Result<Clean, Problem> {
    let keys = CleanOptions::KEY;
    let section = Section::open::<CleanOptions>(format!("`clean` in [[scheme]] \"{scheme}\""), item)?;
    let options: CleanOptions = section.read(())?;
    let campus = matches!(topology, Topology::Fabric(AnyFabric::Campus(_)));
    let (edges, last_hop) = if campus { campus_ports(network) } else { (vec![], vec![]) };
    let ports = |key, names: Option<Vec<String>>, default: Vec<u32>| match names {
        Some(names) => ports(&section, key, &names, network),
        None if default.is_empty() => Err(section.lacks(key).with_help(
            "a port by the nodes it leads from and to, such as \"ap>station\"; known by itself in kind = \"campus\"",
        )),
        None => Ok(default),
    };
    let edges = ports(keys.edges, options.edges, edges)?;
    let last_hop = ports(keys.last_hop, options.last_hop, last_hop)?;
    let at = |port: &&u32| network.graph.kind(network.graph.far(**port)) == NodeKind::Host;
    if let Some(port) = edges.iter().find(at) {
        let message = format!("{} leads to a host", network.port_name(*port));
        let help = "an edge is where packets come in: from outside to a switch";
        return Err(section.reject(keys.edges, message).with_help(help));
    }
    if let Some(port) = last_hop.iter().find(|port| !network.is_switch_port(**port)) {
        let message = format!("{} leads from a host", network.port_name(*port));
        let help = "the last hop leads from a switch to receivers";
        return Err(section.reject(keys.last_hop, message).with_help(help));
    }
    Ok(Clean { config: options.config, edges, last_hop })
}

/// The ports at which packets enter a campus network from the cloud, and those of its radios towards stations.
fn campus_ports(network: &Network) -> (Vec<u32>, Vec<u32>) {
    let set = |name: &str| network.links.get(name).into_iter().flatten().copied();
    let host = |port: &u32| !network.is_switch_port(*port);
    // A link's first port leads from its first node: from the access point.
    let down = |port: &u32| port.is_multiple_of(2);
    (set(CLOUD).filter(host).collect(), set(RADIO).filter(down).collect())
}

/// Finds ports by name, as in `ap>station`.
fn ports(section: &Section<'_>, key: &'static Key, names: &[String], network: &Network) -> Result<Vec<u32>, Problem> {
    let all: Vec<String> = (0..network.graph.ports() as u32).map(|port| network.port_name(port)).collect();
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
