//! Checks of a whole scenario before it runs: buffers that hold no frame, waiting times that are too short, overload.

use super::buffers::SharedOptions;
use super::groups::{ArrivalsOptions, GroupOptions};
use super::{root_options::Scenario, switches::SwitchOptions};
use super::{schemes, topology};
use shallop_core::{BufferSize, Bytes, Node, Seed};
use shallop_options::suggest::advice;
use shallop_options::{At, Item, Key, Problem, Section};
use shallop_plan::plan::{Plan, Scheme, Switch, Topology, Transport};
use shallop_plan::{ResolvedRun, SetupError};
use shallop_plan::{load, memory, network::Network, pairs::intensity};
use shallop_plan::{pools, requirements::Requirements, transport::Udp, wait};
use shallop_proto::wire;
use shallop_switch::Limit;
use shallop_topology::bounds::MAX_ROUTES;
use shallop_topology::{NicMode, NodeKind};
use std::collections::BTreeSet;

/// The largest number of flows times nodes for which every seed is set up before the run. Above it only the first seed
/// is; the run checks the others.
const LARGE: usize = 1_000_000;

/// Checks that transports which run together use each class of packets for one purpose.
pub(super) fn mixes(top: &Section<'_>, plan: &Plan) -> Result<(), Problem> {
    for scheme in 0..plan.schemes.len() {
        if let Err(error) = Requirements::for_scheme(plan, scheme) {
            let own = plan.groups.iter().position(|group| group.transport.is_some());
            let key = Scenario::KEY.group;
            let groups = top.item(key).map(Item::items).unwrap_or_default();
            let transport = GroupOptions::KEY.transport;
            let at = own.and_then(|at| groups.get(at)?.at_key(transport)).map(|item| &item.at);
            let problem = at.unwrap_or(top.place(key)).problem(error.to_string());
            return Err(problem.with_help("compare the two as schemes, or put TCP beside one of them"));
        }
    }
    Ok(())
}

/// Checks that applications with a rate use TCP of the simulator, and that no datagram is larger than a packet.
pub(super) fn senders(top: &Section<'_>, plan: &Plan, network: &Network) -> Result<(), Problem> {
    let items = |key: &'static Key| (top.item(key).map(Item::items).unwrap_or_default(), top.place(key));
    let (groups, schemes) = (items(Scenario::KEY.group.key), items(Scenario::KEY.scheme));
    let mtu = network.graph.links.iter().flat_map(|link| &link.ways).map(|way| way.mtu).min().unwrap_or_default();
    for number in 0..plan.schemes.len() * plan.groups.len() {
        let (scheme, index) = (number / plan.groups.len(), number % plan.groups.len());
        let (group, item) = (&plan.groups[index], groups.0.get(index));
        let Scheme { name, transport, .. } = plan.transport(scheme, index);
        let is_tcp = matches!(transport, Transport::Tcp(tcp) if tcp.kernel.is_none());
        let (rate, lasts) = (GroupOptions::KEY.rate, GroupOptions::KEY.lasts);
        let limits = [(group.application.is_some(), rate), (group.lasts.is_some(), lasts)];
        if let Some((_, key)) = limits.into_iter().find(|(is_limited, _)| *is_limited && !is_tcp) {
            let at = place(item, &[key], groups.1);
            let key = key.name;
            let problem = at.problem(format!(
                "`{key}` limits an application over TCP of simulated hosts; \"{name}\" is another transport"
            ));
            let help = "UDP has a `rate` of its own, in its scheme or in `transport`; other flows end with a `size`";
            return Err(problem.with_help(help));
        }
        let Transport::Udp(Udp { datagram: Some(datagram), .. }) = transport else { continue };
        if datagram.get() + wire::UDP_HEADERS > mtu.get() {
            let own = item.and_then(|item| item.at_key(GroupOptions::KEY.transport));
            let at = place(own.or(schemes.0.get(scheme)), &[Udp::KEY.datagram], schemes.1);
            let problem = at.problem(format!("a datagram of {datagram} does not fit into a packet of {mtu}"));
            let most = mtu.get().saturating_sub(wire::UDP_HEADERS);
            let help = format!("packets are not fragmented: at most {most} B, or links with a larger `mtu`");
            return Err(problem.with_help(help));
        }
    }
    Ok(())
}

/// Checks that the routing table is not too large to simulate.
pub(super) fn routes(top: &Section<'_>, network: &Network) -> Result<(), Problem> {
    let nodes = network.graph.nodes.len() as u64;
    // No table has more entries than the square of the nodes.
    let entries = if nodes * nodes > MAX_ROUTES { network.route_entries() } else { 0 };
    if entries <= MAX_ROUTES {
        return Ok(());
    }
    let message = format!("the table of routes of this network has {entries} entries");
    let help = format!(
        "at most {MAX_ROUTES} are simulated: fewer switches, or fewer that have hosts; switches with the same \
         neighbours by the same links count as one destination"
    );
    Err(top.place(Scenario::KEY.topology).problem(message).with_help(help))
}

/// Checks that every buffer holds a full frame, and every credit queue a credit packet.
pub(super) fn frames_fit(top: &Section<'_>, plan: &Plan, network: &Network) -> Result<(), Problem> {
    let credit = plan.schemes.iter().map(|scheme| scheme.transport.largest_metered());
    let credit = credit.max().unwrap_or_default();
    for port in 0..network.graph.ports() as u32 {
        let link = network.graph.link_of(port);
        let frame = network.full_frame(port);
        let switch = network.switch(&plan.switches, port);
        let topology = top.place(Scenario::KEY.topology);
        let check = |what: &str, size: BufferSize, least: Bytes, at: &At| {
            let limit = Limit::for_buffer(size, link.rate);
            if limit.bytes >= least && limit.packets > 0 {
                return Ok(());
            }
            let bytes = limit.bytes.get();
            let of = if limit.packets == 0 { String::new() } else { format!(", {bytes} B at {}", link.rate) };
            let place = network.port_name(port);
            let message = format!("{what} = {size}{of}, holds no packet of {least} at port {place}");
            let unwritten = format!("{what} is a default here: write it in [switch.{}], ", switch.name);
            let unwritten = if std::ptr::eq(at, topology) { unwritten } else { String::new() };
            let allowed = format!("{unwritten}allowed: {least} or more, headers and gap of the wire included");
            Err(at.problem(message).with_help(allowed))
        };
        let section = top.item(Scenario::KEY.switch).and_then(|item| item.get(&switch.name));
        let at = |keys: &[&'static Key]| place(section, keys, topology);
        let keys = SwitchOptions::KEY;
        if let Some(shared) = switch.shared.filter(|_| network.is_switch_port(port)) {
            let key = keys.shared.key;
            check(key.name, BufferSize::Bytes(shared.share_of_queue(1)), frame, at(&[key]))?;
        } else if network.is_switch_port(port) {
            let at = at(&[keys.buffer, keys.chip]);
            check(keys.buffer.name, switch.buffer, frame, at)?;
            parts(plan, network, port, at)?;
        } else if plan.nic == NicMode::Fifo {
            let key = Scenario::KEY.nic_buffer;
            check(key.name, plan.nic_buffer, frame, top.place(key))?;
        }
        let nic = plan.nic_credit_queue.filter(|_| !network.is_switch_port(port));
        if let Some(depth) = nic {
            let key = Scenario::KEY.nic_credit_queue;
            check(key.name, depth, credit, top.place(key))?;
        } else {
            let key = keys.credit_queue;
            check(key.name, switch.credit_queue, credit, at(&[key]))?;
        }
    }
    Ok(())
}

/// Checks the key `load` of each group against [`MAX_LOAD`]. It replaces the sum over all pairs of hosts in networks
/// with too many pairs.
fn loads_as_written(top: &Section<'_>) -> Result<(), Problem> {
    let items = top.item(Scenario::KEY.group).map(Item::items).unwrap_or_default();
    let keys = ArrivalsOptions::KEY;
    for arrivals in items.iter().filter_map(|item| item.at_key(GroupOptions::KEY.arrivals.key)) {
        let section = Section::open::<ArrivalsOptions>("`arrivals`", arrivals)?;
        let options: ArrivalsOptions = section.read(())?;
        if let Some(load) = options.load.filter(|load| *load > MAX_LOAD && !options.force) {
            let message = format!("flows offer {load} times what the links can carry");
            let help = format!("up to {MAX_LOAD} times, or `force = true` in `arrivals`");
            return Err(section.reject(keys.load, message).with_help(help));
        }
    }
    Ok(())
}

/// The settings of `[switch.NAME]` sections except the default that nothing uses: no node, and no switch with its own
/// chip as a model (`models`).
pub(super) fn unused<'a>(plan: &'a Plan, network: &Network, models: &[usize]) -> Vec<&'a Switch> {
    let is_unused = |number: &usize| !network.switch_of.contains(number) && !models.contains(number);
    (1..plan.switches.len()).filter(is_unused).map(|number| &plan.switches[number]).collect()
}

const SWITCH_ADVICE: &str = "name it with `switch` at nodes of [topology], or write [switch.default]; a sweep over \
                             network files (`--vary topology.file=a.csv,b.csv`) may have sections that one lacks";

/// Checks that each `[switch.NAME]` except the default is used.
pub(super) fn switches(top: &Section<'_>, unused: &[&Switch]) -> Result<(), Problem> {
    let Some(switch) = unused.first() else { return Ok(()) };
    let section = top.item(Scenario::KEY.switch).and_then(|item| item.get(&switch.name));
    let at = section.map_or(top.place(Scenario::KEY.topology), |item| &item.at);
    let problem = at.problem(format!("[switch.{}] is for no node of this network", switch.name));
    Err(problem.with_help(SWITCH_ADVICE))
}

/// Checks that no switch of the network has shared memory of unknown size. `missing` has the settings without a size.
pub(super) fn sizes(network: &Network, missing: Vec<(usize, Problem)>) -> Result<(), Problem> {
    let used = switches_in_use(network);
    missing.into_iter().find(|(number, _)| used.contains(number)).map_or(Ok(()), |it| Err(it.1))
}

/// The indices of the switch settings that nodes of the network have.
pub(super) fn switches_in_use(network: &Network) -> BTreeSet<usize> {
    let nodes = (0..network.graph.nodes.len() as u32).map(Node);
    let switches = nodes.filter(|node| network.graph.kind(*node) == NodeKind::Switch);
    switches.map(|node| network.switch_of[node.0 as usize]).collect()
}

/// The largest payload that flows may offer to a link, as a multiple of its rate, unless the group has `force`.
const MAX_LOAD: f64 = 2.0;

/// Checks that random arrivals offer each link at most [`MAX_LOAD`] times its rate, unless their groups have `force`.
/// Traces are exempt, since their overload may be short.
pub(super) fn loads(top: &Section<'_>, plan: &Plan, network: &Network) -> Result<(), Problem> {
    if plan.groups.iter().all(|group| intensity(group).is_none()) {
        return Ok(());
    }
    let seed = Seed::new(plan.seed);
    if !load::is_summed(plan, network, seed) {
        return loads_as_written(top);
    }
    let paths = network.paths();
    let rates = load::rates(plan, network, &paths, seed);
    let with_traces = |rates: &[Option<f64>]| load::by_port(plan, network, &paths, rates, seed);
    let traces = with_traces(&vec![None; rates.len()]);
    let by_port = |rates: &[Option<f64>]| with_traces(rates).into_iter().zip(&traces).map(|(all, traced)| all - traced);
    let relative = |(port, bits): (usize, f64)| (port, bits / network.graph.link_of(port as u32).rate.get() as f64);
    let all = by_port(&rates).enumerate().map(relative);
    let worst = all.reduce(|worst, one| if one.1 > worst.1 { one } else { worst });
    let Some((port, most)) = worst.filter(|(_, most)| *most > MAX_LOAD) else { return Ok(()) };
    let items = top.item(Scenario::KEY.group).map(Item::items).unwrap_or_default();
    let keys = ArrivalsOptions::KEY;
    let arrivals = items.iter().map(|item| item.at_key(GroupOptions::KEY.arrivals.key));
    // The group that offers this link most, among those that do not force it.
    let mut chosen: Option<(f64, &Item)> = None;
    for (index, arrivals) in arrivals.enumerate() {
        let Some(arrivals) = arrivals else { continue };
        let section = Section::open::<ArrivalsOptions>("`arrivals`", arrivals)?;
        let options: ArrivalsOptions = section.read(())?;
        let only = rates.iter().enumerate().map(|(at, rate)| rate.filter(|_| at == index));
        let share = by_port(&only.collect::<Vec<_>>()).nth(port).unwrap_or(0.0);
        if !options.force && share > chosen.map_or(0.0, |(share, _)| share) {
            chosen = Some((share, arrivals));
        }
    }
    let Some((_, arrivals)) = chosen else { return Ok(()) };
    let at = place(Some(arrivals), &[keys.load, keys.per_second], &arrivals.at);
    let (place, rate) = (network.port_name(port as u32), network.graph.link_of(port as u32).rate);
    let message = format!("the arrivals offer the link {place} {most:.2} times its rate, {rate}");
    let help = format!("up to {MAX_LOAD} times, or `force = true` in `arrivals`");
    Err(at.problem(message).with_help(help))
}

/// Checks that the ports named in `pools` exist, and that the thresholds that BCC computes are possible.
pub(super) fn pools(top: &Section<'_>, plan: &Plan, network: &Network) -> Result<(), Problem> {
    for (number, switch) in plan.switches.iter().enumerate() {
        let section = top.item(Scenario::KEY.switch).and_then(|item| item.get(&switch.name));
        let mine = |port: &u32| {
            let near = network.graph.near(*port).0 as usize;
            network.is_switch_port(*port) && network.switch_of[near] == number
        };
        let ports: Vec<u32> = (0..network.graph.ports() as u32).filter(mine).collect();
        let (shared, pools) = (SwitchOptions::KEY.shared, SharedOptions::KEY.pools);
        let list = section.and_then(|item| item.at_key(shared)?.at_key(pools));
        let items = list.map(Item::items).unwrap_or_default().iter().flat_map(Item::items);
        let at = place(section, &[shared.key], top.place(Scenario::KEY.topology));
        let items = items.map(Some).chain(std::iter::repeat(None));
        for (name, item) in switch.pools.iter().flatten().zip(items) {
            if !ports.iter().any(|&port| pools::port_matches(network, port, name)) {
                let names = ports.iter().map(|&port| network.graph.far(port).0 as usize);
                let names: BTreeSet<&str> = names.map(|far| network.names[far].as_str()).collect();
                let sets = network.links.keys().map(String::as_str);
                let known: Vec<&str> = names.into_iter().chain(sets).collect();
                let at = item.map_or(at, |item| &item.at);
                let problem = at.problem(format!(
                    "`pools` in [switch.{}]: no port of these switches leads to \"{name}\"",
                    switch.name
                ));
                return Err(problem.with_help(advice(name, known)));
            }
        }
    }
    for pool in pools::pools(&plan.switches, network) {
        let Some(thresholds) = pool.thresholds(&plan.switches, network) else { continue };
        let name = &plan.switches[pool.switch].name;
        let section = top.item(Scenario::KEY.switch).and_then(|item| item.get(name));
        let at = place(section, &[SwitchOptions::KEY.bcc.key], top.place(Scenario::KEY.topology));
        thresholds
            .check()
            .map_err(|(message, help)| at.problem(format!("`bcc` in [switch.{name}]: {message}")).with_help(help))?;
    }
    Ok(())
}

/// Checks that each part of a buffer that the data queue and the legacy queue share by weight holds a full frame.
fn parts(plan: &Plan, network: &Network, port: u32, at: &At) -> Result<(), Problem> {
    let switch = network.switch(&plan.switches, port);
    let Some(weights) = switch.weights else { return Ok(()) };
    let (rate, frame) = (network.graph.link_of(port).rate, network.full_frame(port));
    let (data, legacy) = memory::divide(Limit::for_buffer(switch.buffer, rate), weights.0, weights.1);
    if [data, legacy].iter().all(|part| part.bytes >= frame && part.packets > 0) {
        return Ok(());
    }
    let (place, buffer) = (network.port_name(port), switch.buffer);
    let message = format!("buffer = {buffer}, divided by weight, has a part that holds no frame at port {place}");
    Err(at.problem(message).with_help(format!("a larger buffer, or weights closer together; a frame has {frame}")))
}

/// The place in the text of the first of these keys that is written, or else of the section, or else `otherwise`.
fn place<'a>(section: Option<&'a Item>, keys: &[&'static Key], otherwise: &'a At) -> &'a At {
    let Some(section) = section else { return otherwise };
    keys.iter().find_map(|&key| section.at_key(key)).map_or(&section.at, |item| &item.at)
}

/// Checks that the `wait` of each FlashPass scheme is not below the largest base round-trip time.
pub(super) fn waits(plan: &Plan, schemes: &[schemes::SchemeEntry], seeds: &[u64]) -> Result<(), Problem> {
    let judged = |scheme: &schemes::SchemeEntry| {
        let Transport::FlashPass(config) = scheme.scheme.transport else { return false };
        config.options.wait.is_some() && !config.options.force_wait
    };
    let judged: Vec<usize> = (0..schemes.len()).filter(|&at| judged(&schemes[at])).collect();
    let drawn = matches!(&plan.topology, Topology::Fabric(fabric) if fabric.is_random());
    let flows: usize = plan.groups.iter().map(|group| group.flows).sum();
    let nodes = topology::size(&plan.topology).0 as usize;
    let all = drawn && flows.saturating_mul(nodes) <= LARGE;
    let seeds = if all { seeds } else { &seeds[..1] };
    let Some(&first) = judged.first() else { return Ok(()) };
    for &seed in seeds {
        let problem = |error: &SetupError, scheme: usize| {
            let problem = schemes[scheme].wait.problem(error.to_string());
            problem.with_help("a longer `wait`, none at all, or force_wait = true")
        };
        let setup = ResolvedRun::new(plan, first, seed).map_err(|error| problem(&error, first))?;
        let mut setup = setup;
        for &scheme in &judged {
            setup.scheme = scheme;
            wait::waits(&setup).map_err(|error| problem(&error, scheme))?;
        }
    }
    Ok(())
}

/// Builds the network with the first seed. Names of nodes and links do not depend on the seed, unlike random delays.
pub(super) fn network(plan: &Plan) -> Network {
    Network::build(plan, Seed::new(plan.seed))
}
