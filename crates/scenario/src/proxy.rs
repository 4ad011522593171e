//! Reads the CLEAN proxies of schemes (key `clean`).

use super::schemes::SchemeEntry;
use shallop_options::suggest::advice;
use shallop_options::{Item, Key, Problem, Section};
use shallop_plan::network::Network;
use shallop_plan::plan::{Plan, Topology};
use shallop_plan::proxy::{Clean, CleanOptions};
use shallop_proto::clean::Config;
use shallop_topology::campus::{CLOUD, RADIO};
use shallop_topology::{AnyFabric, NodeKind};

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
    let mut options: CleanOptions = section.read(())?;
    if options.preset.is_some() && section.item(Config::KEY.validate).is_none() {
        options.config.validate = false;
    }
    let campus = matches!(topology, Topology::Fabric(AnyFabric::Campus(_)));
    let (edges, last_hop) = if campus { campus_ports(network) } else { (vec![], vec![]) };
    let ports = |key, names: Option<Vec<String>>, default: Vec<u32>, fits: &dyn Fn(u32) -> bool| match names {
        Some(names) => ports(&section, key, (&names, fits), network),
        None if default.is_empty() => Err(section.lacks(key).with_help(
            "a port by the nodes it leads from and to, such as \"ap>station\", or a set of links such as \"access\"; \
             known by itself in kind = \"campus\"",
        )),
        None => Ok(default),
    };
    let leads_in = |port| network.graph.kind(network.graph.far(port)) != NodeKind::Host;
    let leads_out = |port| network.is_switch_port(port);
    let edges = ports(keys.edges, options.edges, edges, &leads_in)?;
    let last_hop = ports(keys.last_hop, options.last_hop, last_hop, &leads_out)?;
    if let Some(port) = edges.iter().find(|port| !leads_in(**port)) {
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

/// Finds ports by name, as in `ap>station`, or by sets of links, of which those ports are taken that fit the key.
fn ports(
    section: &Section<'_>, key: &'static Key, (names, fits): (&[String], &dyn Fn(u32) -> bool), network: &Network,
) -> Result<Vec<u32>, Problem> {
    let all: Vec<String> = (0..network.graph.ports() as u32).map(|port| network.port_name(port)).collect();
    let mut ports = Vec::new();
    for name in names {
        let found: Vec<u32> = match network.links.get(name) {
            Some(set) => set.iter().copied().filter(|port| fits(*port)).collect(),
            None => (0..).zip(&all).filter(|(_, known)| *known == name).map(|it| it.0).collect(),
        };
        if found.is_empty() {
            let message = format!("there is no port and no set of links \"{name}\"");
            let sets = network.links.keys();
            let known = all.iter().chain(sets).map(String::as_str);
            return Err(section.reject(key, message).with_help(advice(name, known)));
        }
        ports.extend(found);
    }
    Ok(ports)
}
