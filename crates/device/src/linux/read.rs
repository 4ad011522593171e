//! Reading: settings by section and profile, the profiles of interfaces, and the ports that they give.

use super::leaves::{Leaf, Rule, Stars, conf, idle, names, numbers, rules, yaml};
use super::{CREDIT, stored};
use crate::Os;
use crate::model::{Bucket, Device, Interface, Known, Pool, Port, Queue, Ramp, Role, Schedule};
use crate::text::{Imported, NotThis};
use shallop_core::{BitsPerSec, Bytes};
use std::collections::{BTreeMap, BTreeSet};

/// The profile of interfaces that have no other.
const GLOBAL: &str = "default-global";
/// Stands for all queues, or for the queues that the field `queues` lists.
const ANY: u8 = u8::MAX;
const UNTRUSTED: &str = "DSCP is not trusted: the map has no effect";

type Fields<'a> = BTreeMap<&'static str, &'a Leaf>;

#[derive(Default)]
struct Settings<'a> {
    /// Settings of a section by profile and queue.
    cells: BTreeMap<(&'static str, &'a str, u8), Fields<'a>>,
    /// Profile of an interface, or of all under the empty name, by section and queue.
    bound: BTreeMap<(String, &'static str, u8), (&'a str, &'a Leaf)>,
    /// Traffic class of a DSCP by map and DSCP.
    dscp: BTreeMap<(&'a str, u8), (u8, &'a Leaf)>,
    rates: BTreeMap<String, Option<BitsPerSec>>,
    trusted: bool,
    name: Option<String>,
}

/// Reads a configuration. The form of Cumulus Linux is found from its first line.
///
/// # Errors
/// Text of no form of the system, and what a switch rejects: values of a wrong kind or out of range, references to
/// profiles that do not exist, thresholds in the wrong order, fields that `SONiC`'s orchestration agent does not know.
pub fn read(os: Os, text: &str, known: &Device) -> Result<Imported, NotThis> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    let is_conf = os == Os::Cumulus && first.find('=').is_some_and(|at| !first[..at].contains([':', '{']));
    if os == Os::Sonic {
        serde_json::from_str::<serde_json::Value>(text)
            .map_err(|error| NotThis { line: error.line().max(1), reason: format!("not JSON: {error}") })?;
    }
    let leaves = if is_conf { conf(text)? } else { yaml(text)? };
    let (list, defaults) = match os {
        Os::Sonic => (include_str!("sonic.csv"), ""),
        _ if is_conf => (include_str!("conf.csv"), ""),
        _ => (include_str!("nvue.csv"), include_str!("defaults.yaml")),
    };
    let (rules, mut builtin) = (rules(list), yaml(defaults)?);
    for leaf in &mut builtin {
        leaf.line = 0;
    }
    let is_of = |leaf: &Leaf| rules.iter().any(|rule| rule.is_begun(leaf));
    if !leaves.iter().any(is_of) {
        let reason = format!("neither this line nor one below is of {} and has to do with ports or queues", os.name());
        return Err(NotThis { line: 1, reason });
    }
    let (mut settings, mut default) =
        (Settings { trusted: os == Os::Sonic, ..Settings::default() }, Settings::default());
    for (settings, leaves) in [(&mut settings, &leaves), (&mut default, &builtin)] {
        for leaf in leaves {
            leaf.find(&rules)?.into_iter().for_each(|(rule, stars)| settings.put(rule, stars, leaf));
        }
    }
    let curve = default.cells.get(&("congestion-control", GLOBAL, 0)).cloned().unwrap_or_default();
    default.cells.retain(|(section, ..), _| !settings.cells.keys().any(|key| (key.0, key.1) == (section, GLOBAL)));
    for (_, fields) in settings.cells.iter_mut().filter(|(key, _)| key.0 == "congestion-control") {
        let own = std::mem::replace(fields, curve.clone());
        fields.extend(own);
    }
    settings.cells.append(&mut default.cells);
    let mut device = Device { ports: settings.ports()?, dscp: settings.dscp()?, ..known.clone() };
    if let Some(size) = settings.pool() {
        let known = known.pool.clone().map(|pool| (pool.ports, pool.cell));
        let (ports, cell) = known.unwrap_or((None, Bytes::new(1)));
        device.pool = Some(Pool { size, ports, cell, mark: None });
    }
    device.name = settings.name.unwrap_or(device.name);
    let default_class = os == Os::Cumulus && settings.trusted;
    let taken = device.find_roles(|dscp| if default_class { dscp / 8 } else { 0 });
    let cell = device.pool.as_ref().map_or(1, |pool| pool.cell.get());
    for queue in device.ports.iter_mut().flat_map(|port| &mut port.queues) {
        let Some(shaper) = &mut queue.shaper else { continue };
        if os == Os::Cumulus && queue.role == Role::Metered {
            shaper.value.packet = Some(Bytes::new(CREDIT));
        }
        if let Some(limit) = queue.limit.as_mut().filter(|_| shaper.packet.is_some() && cell > 1) {
            limit.value = Bytes::new(limit.get() / stored(CREDIT, cell) * CREDIT);
        }
    }
    Ok(Imported { device, roles: taken, not_understood: idle(&leaves) })
}

impl<'a> Settings<'a> {
    fn put(&mut self, rule: &Rule, stars: Stars<'a>, leaf: &'a Leaf) {
        let profile = stars.profile.unwrap_or(GLOBAL);
        let list = stars.numbers.unwrap_or(vec![ANY]);
        let everywhere = |name: String| if name == "allports" || name == "global" { String::new() } else { name };
        match rule.section {
            "name" => self.name = Some(leaf.take().into()),
            "trust" => self.trusted |= ["l3", "both", "dscp"].iter().any(|word| leaf.take().contains(word)),
            "known" => _ = leaf.take(),
            "interface" if stars.interfaces.iter().all(|name| name.starts_with("swp") || name.starts_with("Eth")) => {
                let (number, unit) = leaf.take().split_at(leaf.value.find(['M', 'G']).unwrap_or(leaf.value.len()));
                let unit = if unit == "G" { 1_000_000_000 } else { 1_000_000 };
                let rate = number.parse().ok().and_then(|number: u64| BitsPerSec::new(number * unit));
                for name in stars.interfaces {
                    let known = self.rates.entry(name).or_default();
                    *known = known.or(rate);
                }
            }
            "interface" => {}
            "bind" if rule.kind == "ports" => {
                let interfaces = names(&leaf.value).unwrap_or_default().into_iter().map(everywhere);
                self.bound.extend(interfaces.map(|name| ((name, rule.field, ANY), (profile, leaf))));
            }
            "bind" => {
                let interfaces = stars.interfaces.into_iter().map(everywhere);
                let keys = interfaces.flat_map(|name| list.iter().map(move |queue| (name.clone(), rule.field, *queue)));
                self.bound.extend(keys.map(|key| (key, (leaf.name(), leaf))));
            }
            "dscp" => {
                let is_list = rule.kind == "list";
                let class = if is_list { list[0] } else { leaf.value.parse().unwrap_or_default() };
                let dscps = if is_list { numbers(&leaf.value, 63).unwrap_or_default() } else { list };
                self.dscp.extend(dscps.into_iter().map(|dscp| ((profile, dscp), (class, leaf))));
            }
            reason if reason.contains(' ') => leaf.set_aside(reason),
            section => list.into_iter().for_each(|queue| {
                self.cells.entry((section, profile, queue)).or_default().insert(rule.field, leaf);
            }),
        }
    }

    fn has(&self, section: &str, profile: &str) -> bool {
        self.cells.keys().any(|key| (key.0, key.1) == (section, profile))
            || self.dscp.keys().any(|key| key.0 == profile)
    }

    /// The profile of an interface in a section.
    fn profile(&self, interface: &str, section: &'static str, queue: u8) -> Result<&'a str, NotThis> {
        let keys = [(interface, queue), (interface, ANY), ("", ANY)];
        let bound = keys.iter().find_map(|(name, queue)| self.bound.get(&((*name).into(), section, *queue)));
        let Some((name, leaf)) = bound else { return Ok(GLOBAL) };
        leaf.take();
        if self.has(section, name) { Ok(name) } else { Err(leaf.wrong(format!("there is no `{name}`"))) }
    }

    /// Settings of a queue of an interface, if the interface has the queue.
    fn fields(
        &self, interface: &str, number: u8, sections: &BTreeSet<&'static str>,
    ) -> Result<Option<Fields<'a>>, NotThis> {
        let is_bound = |key: &(String, &str, u8)| key.0 == interface && key.2 == number;
        let (mut fields, mut stands) = (Fields::new(), self.bound.keys().any(is_bound));
        for section in sections {
            let profile = self.profile(interface, section, number)?;
            for ((_, name, queue), found) in self.cells.iter().filter(|(key, _)| key.0 == *section) {
                let listed =
                    found.get("queues").map(|list| numbers(&list.value, 7).unwrap_or_default().contains(&number));
                let holds = if *queue == ANY { listed.unwrap_or(true) } else { *queue == number };
                if holds && (*name == profile || *section == "group") {
                    fields.extend(found);
                    // Memory is set for queues of all interfaces.
                    stands |= (*queue == number || listed.is_some()) && *section != "buffer";
                }
            }
        }
        if let Some(pool) = fields.get("pool").filter(|pool| stands && !self.has("pool", pool.name())) {
            return Err(pool.wrong(format!("there is no `{}`", pool.name())));
        }
        Ok(Some(fields).filter(|_| stands))
    }

    /// Interfaces with equal settings are one port.
    fn ports(&mut self) -> Result<Vec<Port>, NotThis> {
        let sections = self.cells.keys().map(|key| key.0).chain(self.bound.keys().map(|key| key.1));
        let sections = sections.filter(|it| !["class", "dscp", "pool"].contains(it)).collect();
        let named: BTreeSet<&String> = self.rates.keys().chain(self.bound.keys().map(|key| &key.0)).collect();
        let mut named: Vec<String> = named.into_iter().filter(|name| !name.is_empty()).cloned().collect();
        named.sort_by_key(String::len);
        if named.is_empty() && !self.cells.is_empty() {
            named.push(String::new());
        }
        let mut ports: Vec<Port> = Vec::new();
        for name in named {
            let (mut queues, mut label) = (Vec::new(), None);
            for number in 0..8 {
                if let Some(fields) = self.fields(&name, number, &sections)? {
                    queues.push(queue(number, &fields)?);
                    // Names of profiles as they are written.
                    let profiles =
                        [self.profile(&name, "scheduler", number)?, self.profile(&name, "egress-scheduler", ANY)?];
                    let of_queue = profiles[0].rsplit_once("_q").map(|(label, _)| label);
                    label = label.or(of_queue).or(Some(profiles[1]).filter(|name| *name != GLOBAL));
                }
            }
            let rate = self.rates.get(&name).copied().flatten();
            let interface = Some(Interface { name, far: String::new() }).filter(|it| !it.name.is_empty());
            if let Some(port) = ports.iter_mut().find(|port| port.rate == rate && port.queues == queues) {
                port.interfaces.extend(interface);
                continue;
            }
            let label = label.map(String::from).or(rate.map(|rate| rate.to_string())).unwrap_or("port".into());
            let count = ports.iter().filter(|port| port.label.starts_with(&label)).count();
            let label = if count == 0 { label } else { format!("{label}-{}", count + 1) };
            ports.push(Port { label, interfaces: interface.into_iter().collect(), rate, queues });
        }
        Ok(ports)
    }

    /// The map of a device: of several maps, entries that differ from the first one are set aside.
    fn dscp(&mut self) -> Result<Vec<Known<(u8, u8)>>, NotThis> {
        let interfaces: BTreeSet<&str> = self.bound.keys().map(|key| key.0.as_str()).chain([""]).collect();
        let map =
            |interface: &&str| Ok((self.profile(interface, "dscp", ANY)?, self.profile(interface, "class", ANY)?));
        let maps = interfaces.iter().map(map).collect::<Result<BTreeSet<_>, _>>()?;
        let mut found: BTreeMap<u8, Known<(u8, u8)>> = BTreeMap::new();
        for (map, classes) in maps {
            for (&(_, dscp), &(class, leaf)) in self.dscp.range((map, 0)..=(map, u8::MAX)) {
                let queue = self.cells.get(&("class", classes, class)).and_then(|fields| fields.values().next());
                let queue = queue.map_or(class, |leaf| leaf.number());
                if !self.trusted {
                    leaf.set_aside(UNTRUSTED);
                } else if found.entry(dscp).or_insert_with(|| Known::new((dscp, queue), leaf.origin())).1 != queue {
                    leaf.set_aside("another map has this DSCP in another queue");
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// The largest pool that queues of the egress side share by Dynamic Thresholds.
    fn pool(&self) -> Option<Known<Bytes>> {
        let mut shared = Vec::new();
        for (_, fields) in self.cells.iter().filter(|(key, _)| key.0 == "pool") {
            take_all(fields);
            let has = |field, value| fields.get(field).is_some_and(|leaf| leaf.value == value);
            if let Some(size) = fields.get("size").filter(|_| has("type", "ingress") || !has("mode", "static")) {
                size.set_aside("the model has one pool, of the egress side");
                shared.extend(Some(*size).filter(|_| !has("type", "ingress")));
            }
        }
        let largest = shared.into_iter().max_by_key(|size| size.value.parse().unwrap_or(0u64))?;
        Some(Known::new(Bytes::new(largest.number()), largest.origin()))
    }
}

fn take_all(fields: &Fields) {
    for leaf in fields.values() {
        leaf.take();
    }
}

fn queue(number: u8, fields: &Fields) -> Result<Queue, NotThis> {
    take_all(fields);
    let get = |field| fields.get(field).copied();
    let weight: u32 = get("weight").map_or(1, Leaf::number);
    let strict = get("mode").is_some_and(|mode| mode.value.eq_ignore_ascii_case("strict")) || weight == 0;
    let schedule = if strict { Schedule::Strict } else { Schedule::Weight(weight) };
    let why = get("mode").or(get("weight")).map_or("the least weight: nothing is set".into(), Leaf::origin);
    let mut queue = Queue::new(number, Role::Other, Known::new(schedule, why));
    let packets = get("meter").is_some_and(|meter| meter.value == "packets");
    let size = if packets { CREDIT } else { 1 };
    let rate = get("rate").map(|leaf| (leaf, leaf.number::<u64>() * size * 8));
    // The largest number stands for no limit.
    let kbps = get("kbps").map(|leaf| (leaf, leaf.number::<u64>())).filter(|(_, kbps)| *kbps < 2_147_483_647);
    queue.shaper = rate.or(kbps.map(|(leaf, kbps)| (leaf, kbps * 1000))).and_then(|(leaf, rate)| {
        let burst = get("burst").map(|leaf| Bytes::new(leaf.number::<u64>() * size));
        let bucket = Bucket { rate: BitsPerSec::new(rate)?, burst, packet: packets.then_some(Bytes::new(CREDIT)) };
        Some(Known::new(bucket, leaf.origin()))
    });
    let on = |leaf: &Leaf| {
        ["enable", "enabled", "on", "true", "ecn_all"].contains(&&*leaf.value) || leaf.value.contains("green")
    };
    let (marks, drops) = (get("ecn").is_some_and(on), get("red").is_some_and(on));
    if let (Some(min), Some(at), true) = (get("min"), get("max"), marks || drops) {
        let (min, max) = (Bytes::new(min.number()), Bytes::new(at.number()));
        if min > max {
            let at = if at.line == 0 { get("min").unwrap_or(at) } else { at };
            return Err(at.wrong(format!("{max} is below the minimum, {min}: the switch rejects the profile")));
        }
        let probability = get("probability").map_or(100.0, Leaf::number) / 100.0;
        let ramp = Ramp { min, max, probability, weight: 0, not_ect_dropped: marks && drops };
        *(if marks { &mut queue.mark } else { &mut queue.drop }) = Some(Known::new(ramp, at.origin()));
    }
    let bytes = |field| get(field).map(|leaf| Known::new(Bytes::new(leaf.number()), leaf.origin()));
    (queue.limit, queue.reserved) = (bytes("limit"), bytes("reserved").filter(|it| it.get() > 0));
    // Exponents of two, and words such as `alpha_4` and `alpha_1_8`.
    let power = get("exponent").map(|leaf| Known::new(leaf.number::<f64>().exp2(), leaf.origin()));
    queue.alpha = power.or(get("alpha").map(|leaf| {
        let word = leaf.value.trim_start_matches("alpha_");
        let part = word.strip_prefix("1_").and_then(|part| part.parse::<f64>().ok());
        Known::new(part.map_or(word.parse().unwrap_or(1.0), f64::recip), leaf.origin())
    }));
    Ok(queue)
}
