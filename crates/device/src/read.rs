//! Reading: settings by section and profile, the profiles of interfaces, and the ports that they give.

use crate::leaves::{Leaf, Rule, Stars, names, numbers, rest, rules};
use crate::model::{Bucket, Device, Interface, Known, Pool, Port, Queue, Ramp, Role, Schedule};
use crate::system::{CREDIT, GLOBAL, System};
use crate::text::{Imported, NotThis, NotUnderstood};
use shallop_core::{BitsPerSec, Bytes};
use std::collections::{BTreeMap, BTreeSet};

type Fields<'a> = BTreeMap<&'static str, &'a Leaf>;
/// In place of the number of a queue: all queues, or those of the field `queues`.
const ANY: u8 = u8::MAX;

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
    name: String,
    not_understood: Vec<NotUnderstood>,
}

/// Reads leaves by a list of paths. Defaults are leaves of the list `nvue`.
pub fn read(system: &System, leaves: &[Leaf], defaults: &[Leaf]) -> Result<Imported, NotThis> {
    let rules = rules(system.list);
    let (mut settings, mut default) = (Settings::default(), Settings::default());
    settings.trusted = system.trusted;
    for leaf in leaves {
        leaf.find(&rules)?.into_iter().for_each(|(rule, stars)| settings.put(rule, stars, leaf));
    }
    for leaf in defaults {
        leaf.find(&rules)?.into_iter().for_each(|(rule, stars)| default.put(rule, stars, leaf));
    }
    let curve = default.cells.get(&("congestion-control", GLOBAL, 0)).cloned().unwrap_or_default();
    default.cells.retain(|(section, ..), _| !settings.cells.keys().any(|key| (key.0, key.1) == (section, GLOBAL)));
    for (_, fields) in settings.cells.iter_mut().filter(|((section, ..), _)| *section == "congestion-control") {
        curve.iter().for_each(|(field, leaf)| _ = fields.entry(field).or_insert(leaf));
    }
    settings.cells.append(&mut default.cells);
    let mut device = Device { ports: settings.ports()?, dscp: settings.dscp()?, ..Device::default() };
    (device.pool, device.name) = (settings.pool(), std::mem::take(&mut settings.name));
    let trusted = settings.trusted && !system.trusted;
    device.find_roles(|dscp| if trusted { dscp / 8 } else { 0 });
    let mut not_understood = settings.not_understood;
    not_understood.extend(rest(leaves));
    not_understood.sort_by_key(|it| it.line);
    Ok(Imported { device, not_understood })
}

impl<'a> Settings<'a> {
    fn put(&mut self, rule: &Rule, stars: Stars<'a>, leaf: &'a Leaf) {
        let profile = stars.name.unwrap_or(GLOBAL);
        let list = stars.numbers.unwrap_or(vec![ANY]);
        match rule.section {
            "name" => self.name = leaf.take().into(),
            "trust" => self.trusted |= ["l3", "both", "dscp"].iter().any(|word| leaf.take().contains(word)),
            "known" => _ = leaf.take(),
            "interface"
                if stars.interfaces.iter().all(|name| name.starts_with("swp") || name.starts_with("Ethernet")) =>
            {
                let (number, unit) = leaf.take().split_at(leaf.value.find(['M', 'G']).unwrap_or(leaf.value.len()));
                let unit = if unit == "G" { 1_000_000_000 } else { 1_000_000 };
                let rate = number.parse().ok().and_then(|number: u64| BitsPerSec::new(number * unit));
                for name in stars.interfaces {
                    let known = self.rates.entry(name).or_default();
                    *known = known.or(rate);
                }
            }
            "interface" => {}
            "bind" => {
                let inverted = rule.kind == "ports";
                let all = if leaf.value == "allports" { Some(vec![String::new()]) } else { names(&leaf.value) };
                let interfaces = if inverted { all.unwrap_or_default() } else { stars.interfaces };
                // References of releases before 2021: `[TABLE|name]`.
                let name = leaf.value.rsplit('|').next().unwrap_or_default().trim_end_matches(']');
                let profile = if inverted { profile } else { name };
                for (interface, queue) in
                    interfaces.into_iter().flat_map(|name| list.iter().map(move |queue| (name.clone(), *queue)))
                {
                    self.bound.insert((interface, rule.field, queue), (profile, leaf));
                }
            }
            "dscp" if rule.kind == "list" => {
                let dscps = numbers(&leaf.value, 63).unwrap_or_default();
                self.dscp.extend(dscps.into_iter().map(|dscp| ((profile, dscp), (list[0], leaf))));
            }
            "dscp" => self
                .dscp
                .extend(list.into_iter().map(|dscp| ((profile, dscp), (leaf.value.parse().unwrap_or(0), leaf)))),
            reason if reason.contains(' ') => self.not_understood.push(leaf.not_understood(reason)),
            section => list.into_iter().for_each(|queue| {
                self.cells.entry((section, profile, queue)).or_default().insert(rule.field, leaf);
            }),
        }
    }

    /// The profile of an interface in a section.
    fn profile(&self, interface: &str, section: &'static str, queue: u8) -> Result<&'a str, NotThis> {
        let bound = |name: &str, queue| self.bound.get(&(name.to_string(), section, queue));
        let Some((name, leaf)) = bound(interface, queue).or_else(|| bound(interface, ANY)).or_else(|| bound("", ANY))
        else {
            return Ok(GLOBAL);
        };
        leaf.take();
        let known = self.cells.keys().any(|key| (key.0, key.1) == (section, name))
            || self.dscp.keys().any(|key| key.0 == *name);
        if known { Ok(name) } else { Err(leaf.wrong(format!("there is no `{name}`"))) }
    }

    /// Settings of a queue in a section, and whether the queue stands there.
    fn fields(&self, section: &'static str, profile: &'a str, queue: u8) -> (Fields<'a>, bool) {
        let own = self.cells.get(&(section, profile, queue));
        let any = self.cells.range((section, profile, ANY)..=(section, profile, ANY)).map(|(_, fields)| fields);
        let listed = |fields: &&Fields| {
            fields.get("queues").is_none_or(|list| numbers(&list.value, 7).unwrap_or_default().contains(&queue))
        };
        let any: Vec<_> = any.filter(listed).collect();
        let stands = own.is_some() || any.iter().any(|fields| fields.contains_key("queues"));
        (any.into_iter().chain(own).flatten().map(|(field, leaf)| (*field, *leaf)).collect(), stands)
    }

    /// Interfaces with equal settings are one port.
    fn ports(&mut self) -> Result<Vec<Port>, NotThis> {
        let sections = self.cells.keys().map(|key| key.0).chain(self.bound.keys().map(|key| key.1));
        let sections: BTreeSet<&'static str> = sections.filter(|it| !["class", "dscp", "pool"].contains(it)).collect();
        let mut interfaces: BTreeSet<String> = self.rates.keys().cloned().collect();
        interfaces.extend(self.bound.keys().map(|key| key.0.clone()));
        if interfaces.iter().any(|name| !name.is_empty()) {
            interfaces.remove("");
        } else if !self.cells.is_empty() {
            interfaces.insert(String::new());
        }
        let mut interfaces: Vec<String> = interfaces.into_iter().collect();
        interfaces.sort_by_cached_key(|name| natural(name));
        let mut ports: Vec<Port> = Vec::new();
        for name in interfaces {
            let (mut queues, mut label) = (Vec::new(), None);
            for number in 0..8 {
                let (mut fields, mut stands) =
                    (Fields::new(), self.bound.keys().any(|key| key.0 == name && key.2 == number));
                for section in &sections {
                    let groups =
                        self.cells.keys().filter(|key| key.0 == *section && *section == "group").map(|key| key.1);
                    let profile = self.profile(&name, section, number)?;
                    for profile in groups.chain([profile]) {
                        let (found, here) = self.fields(section, profile, number);
                        fields.extend(found);
                        stands |= here && *section != "buffer";
                    }
                    if section.ends_with("scheduler") && profile != GLOBAL && label.is_none() {
                        label = Some(profile.split("_q").next().unwrap_or_default().to_string());
                    }
                }
                if let Some(pool) = fields.get("pool").filter(|_| stands) {
                    let pool_name = pool.value.rsplit('|').next().unwrap_or_default().trim_end_matches(']');
                    self.cells
                        .get(&("pool", pool_name, ANY))
                        .ok_or_else(|| pool.wrong(format!("there is no `{pool_name}`")))?;
                }
                queues.extend(stands.then(|| queue(number, &fields)).transpose()?);
            }
            let rate = self.rates.get(&name).copied().flatten();
            let interface = Some(Interface { name, far: String::new() }).filter(|interface| !interface.name.is_empty());
            if let Some(port) = ports.iter_mut().find(|port| port.rate == rate && port.queues == queues) {
                port.interfaces.extend(interface);
                continue;
            }
            let label = label.or(rate.map(|rate| rate.to_string())).unwrap_or("port".into());
            let count = ports.iter().filter(|port| port.label.starts_with(&label)).count();
            let label = if count == 0 { label } else { format!("{label}-{}", count + 1) };
            ports.push(Port { label, interfaces: interface.into_iter().collect(), rate, queues });
        }
        Ok(ports)
    }

    /// The map of a device: of several maps, entries that differ from the first one are listed.
    fn dscp(&mut self) -> Result<Vec<Known<(u8, u8)>>, NotThis> {
        let interfaces: BTreeSet<String> = self.bound.keys().map(|key| key.0.clone()).chain([String::new()]).collect();
        let mut maps = BTreeSet::new();
        for interface in interfaces {
            maps.insert((self.profile(&interface, "dscp", ANY)?, self.profile(&interface, "class", ANY)?));
        }
        let mut found: BTreeMap<u8, Known<(u8, u8)>> = BTreeMap::new();
        for (map, classes) in maps {
            for (&(_, dscp), &(class, leaf)) in self.dscp.range((map, 0)..=(map, u8::MAX)) {
                let queue = self.cells.get(&("class", classes, class)).and_then(|fields| fields.values().next());
                let queue = queue.map_or(class, |leaf| leaf.number());
                let known = found.entry(dscp).or_insert_with(|| Known::new((dscp, queue), leaf.origin()));
                let reason = if self.trusted { "DSCP is mapped otherwise before" } else { "DSCP is not trusted" };
                if known.value.1 != queue || !self.trusted {
                    self.not_understood.push(leaf.not_understood(reason));
                }
            }
        }
        self.not_understood.dedup();
        Ok(if self.trusted { found.into_values().collect() } else { Vec::new() })
    }

    /// The largest pool that queues of the egress side share by Dynamic Thresholds.
    fn pool(&mut self) -> Option<Pool> {
        let is = |fields: &Fields, field, value| fields.get(field).is_some_and(|leaf| leaf.value == value);
        let (mut largest, mut others) = (None::<&Leaf>, Vec::new());
        for (_, fields) in self.cells.iter().filter(|((section, ..), _)| *section == "pool") {
            let shared = !is(fields, "type", "ingress") && !is(fields, "mode", "static");
            fields.values().for_each(|leaf| _ = leaf.take());
            let Some(size) = fields.get("size") else { continue };
            match largest {
                Some(leaf) if shared && leaf.number::<u64>() >= size.number() => others.push(*size),
                _ if shared => others.extend(largest.replace(size)),
                _ if is(fields, "type", "ingress") => others.push(size),
                _ => {}
            }
        }
        self.not_understood.extend(others.iter().map(|leaf| leaf.not_understood("the model has one shared pool")));
        let size = largest.map(|leaf| Known::new(Bytes::new(leaf.number()), leaf.origin()))?;
        Some(Pool { size, ports: None, cell: Bytes::new(1), mark: None })
    }
}

fn queue(number: u8, fields: &Fields) -> Result<Queue, NotThis> {
    fields.values().for_each(|leaf| _ = leaf.take());
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
    if let (Some(min), Some(max), true) = (get("min"), get("max"), marks || drops) {
        let (min, at, max) = (Bytes::new(min.number()), max, Bytes::new(max.number()));
        if min > max {
            return Err(at.wrong(format!("{max} is below the minimum, {min}: the switch rejects the profile")));
        }
        let probability = get("probability").map_or(100.0, Leaf::number) / 100.0;
        let ramp = Ramp { min, max, probability, weight: 0, not_ect_dropped: marks && drops };
        *(if marks { &mut queue.mark } else { &mut queue.drop }) = Some(Known::new(ramp, at.origin()));
    }
    let bytes = |field| get(field).map(|leaf| Known::new(Bytes::new(leaf.number()), leaf.origin()));
    (queue.limit, queue.reserved) = (bytes("limit"), bytes("reserved").filter(|it| it.get() > 0));
    let power = |leaf: &Leaf| Known::new(leaf.number::<f64>().exp2(), leaf.origin());
    // Words such as `alpha_4` and `alpha_1_8`.
    let words = get("alpha").and_then(|leaf| Some((leaf, leaf.value.strip_prefix("alpha_")?)));
    let factor = words.map(|(leaf, text)| {
        (leaf, text.strip_prefix("1_").map_or(text.parse().ok(), |part| part.parse().ok().map(f64::recip)))
    });
    let factor = factor.and_then(|(leaf, factor)| Some(Known::new(factor?, leaf.origin())));
    queue.alpha = get("exponent").map(power).or(factor);
    Ok(queue)
}

/// A key to sort names by, so that `swp10` comes after `swp9`.
pub fn natural(name: &str) -> Vec<(char, u64)> {
    let mut found = vec![(' ', 0u64)];
    for letter in name.chars() {
        let last = found.len() - 1;
        match letter.to_digit(10) {
            Some(digit) => found[last].1 = u64::wrapping_add(found[last].1.wrapping_mul(10), digit.into()),
            None => found.push((letter, 0)),
        }
    }
    found
}
