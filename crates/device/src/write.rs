//! Writing: the values of a device at the paths that the list of a system gives.

use crate::fit::fit;
use crate::leaves::{Rule, rules};
use crate::model::{Device, Port, Queue};
use crate::read::natural;
use crate::system::{GLOBAL, System};
use crate::text::Written;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Values with their derivations, by the keys that lead to them.
#[derive(Default)]
pub struct Tree(BTreeMap<Vec<(Vec<(char, u64)>, String)>, (Value, String)>);

/// What fills the wildcards of paths.
#[derive(Default)]
struct Place<'a> {
    name: &'a str,
    number: String,
    interface: &'a str,
}

/// A setting by its name, with the derivation of the value. Truth is written in the words of the setting.
type Setting<'a> = (&'static str, Value, &'a str);

struct Writer {
    rules: Vec<Rule>,
    tree: Tree,
}

pub fn tree(system: &System, device: &Device) -> (Tree, Written) {
    let mut out = Written::default();
    let device = fit(system, device, &mut out);
    let mut writer = Writer { rules: rules(system.list), tree: Tree::default() };
    let map = if system.of_queues { "shallop" } else { GLOBAL };
    for entry in &device.dscp {
        let (dscp, queue) = entry.value;
        let place = |number: u8| Place { name: map, number: number.to_string(), interface: "" };
        writer.section("dscp", &place(dscp), &[("", queue.into(), &entry.why)]);
        writer.section("class", &place(queue), &[("", queue.into(), "")]);
        writer.section("trust", &place(0), &[("", "l3".into(), "")]);
    }
    if !device.name.is_empty() {
        writer.section("name", &Place::default(), &[("", device.name.as_str().into(), "")]);
    }
    let mut fixed = 0u64;
    for port in &device.ports {
        writer.port(system, port, !device.dscp.is_empty(), map, &mut out);
        let limits =
            port.queues.iter().filter_map(|queue| Some((queue.limit.as_ref()?.get(), queue.reserved.as_ref())));
        let sum = limits.map(|(limit, reserved)| limit.saturating_add(reserved.map_or(0, |it| it.get())));
        fixed = fixed.saturating_add(sum.sum::<u64>().saturating_mul(port.interfaces.len() as u64));
    }
    if !system.of_queues && (device.pool.is_some() || fixed > 0) {
        let sizes = device.pool.as_ref().map_or(0, |pool| pool.size.get());
        out.refuse(format!("pools of {sizes} B and {fixed} B"), "memory-percent of pools, by the memory of the chip");
    }
    let [shared, separate] = pools(system);
    let size = device.pool.as_ref().map(|pool| ("size", Value::from(pool.size.get()), pool.size.why.as_str()));
    let mut queues = device.ports.iter().flat_map(|port| &port.queues);
    if system.of_queues && (size.is_some() || queues.any(|queue| queue.alpha.is_some())) {
        let place = Place { name: shared, ..Place::default() };
        writer.section("pool", &place, &[("type", "egress".into(), ""), ("mode", "dynamic".into(), "")]);
        writer.section("pool", &place, size.as_slice());
    }
    if fixed > 0 {
        let place = Place { name: separate, ..Place::default() };
        writer.section("pool", &place, &[("type", "egress".into(), ""), ("mode", "static".into(), "")]);
        writer.section("pool", &place, &[("size", fixed.into(), "the sum of fixed limits")]);
    }
    (writer.tree, out)
}

/// Names of the pool that queues share, and of the pool of queues with fixed limits.
fn pools(system: &System) -> [&'static str; 2] {
    if system.of_queues { ["egress_lossy_pool", "egress_fixed_pool"] } else { ["0", "3"] }
}

impl Writer {
    /// Writes the settings of a section that the system has.
    fn section(&mut self, section: &str, place: &Place, settings: &[Setting]) {
        for (field, value, why) in settings {
            let Some(rule) = self.rules.iter().find(|rule| rule.section == section && rule.field == *field) else {
                continue;
            };
            let words: Vec<&str> = rule.kind.split(' ').collect();
            let value = value.as_bool().map_or(value.clone(), |truth| words[usize::from(truth)].into());
            self.tree.put(place.path(rule), value, why);
        }
    }

    fn port(&mut self, system: &System, port: &Port, mapped: bool, map: &str, out: &mut Written) {
        let names: Vec<String> = port.interfaces.iter().map(|interface| interface.name.clone()).collect();
        // NVUE takes lists of interfaces.
        let names = if system.of_queues || names.is_empty() { names } else { vec![names.join(",")] };
        for interface in &names {
            let place = Place { interface, ..Place::default() };
            if let Some(rate) = port.rate {
                let mbps = rate.get() / 1_000_000;
                let word = if mbps % 1000 == 0 { format!("{}G", mbps / 1000) } else { format!("{mbps}M") };
                let known = self
                    .rules
                    .iter()
                    .any(|rule| rule.section == "interface" && rule.kind.split(' ').any(|it| it == word));
                self.section("interface", &place, &[("mbps", mbps.into(), "")]);
                if known {
                    self.section("interface", &place, &[("", word.into(), "")]);
                } else if !system.of_queues {
                    out.refuse(format!("{}: links of {rate}", port.label), "the speed that ports negotiate");
                }
            }
            for map_of in ["dscp", "class"].iter().filter(|_| mapped) {
                self.section("bind", &place, &[(map_of, map.into(), "")]);
            }
        }
        for queue in &port.queues {
            let of_queue = format!("{}_q{}", port.label, queue.number);
            let name = if system.of_queues { &of_queue } else { &port.label };
            let sections: Vec<&'static str> =
                self.rules.iter().map(|rule| rule.section).filter(|it| is_cell(it)).collect();
            for section in sections {
                let values = settings(queue, section, system);
                if values.is_empty() {
                    continue;
                }
                let place = |interface| Place { name, number: queue.number.to_string(), interface };
                self.section(section, &place(""), &values);
                for interface in &names {
                    self.section("bind", &place(interface), &[(section, name.as_str().into(), "")]);
                }
            }
        }
    }
}

fn is_cell(section: &str) -> bool {
    ["scheduler", "egress-scheduler", "egress-shaper", "wred", "congestion-control", "buffer"].contains(&section)
}

/// Settings of a queue in a section.
fn settings<'a>(queue: &'a Queue, section: &str, system: &System) -> Vec<Setting<'a>> {
    let mut found: Vec<Setting> = Vec::new();
    let why = queue.schedule.why.as_str();
    if section.ends_with("scheduler") {
        found.push(("mode", queue.weight().is_none().into(), why));
        found.extend(queue.weight().map(|weight| ("weight", weight.into(), "")));
    }
    if let Some(shaper) = queue.shaper.as_ref().filter(|_| section == "scheduler" || section == "egress-shaper") {
        let size = shaper.packet.map_or(1, |size| size.get());
        found.push(("meter", shaper.packet.is_some().into(), ""));
        found.push(("rate", (shaper.rate.get() / 8 / size).into(), &shaper.why));
        found.push(("kbps", (shaper.rate.get() / 1000).into(), &shaper.why));
        found.extend(shaper.burst.map(|burst| ("burst", (burst.get() / size).into(), "")));
    }
    let curve = queue.mark.as_ref().or(queue.drop.as_ref());
    if section == "wred" && curve.is_some() || section == "congestion-control" {
        let drops = curve.is_some_and(|ramp| queue.mark.is_none() || ramp.not_ect_dropped);
        found.extend([("ecn", queue.mark.is_some().into(), ""), ("red", drops.into(), "")]);
        if let Some(ramp) = curve {
            found.extend([("min", ramp.min.get().into(), ramp.why.as_str()), ("max", ramp.max.get().into(), "")]);
            found.push(("probability", ((ramp.probability * 100.0).round() as u64).into(), ""));
        }
    }
    if section == "buffer" && (queue.limit.is_some() || queue.alpha.is_some()) {
        let pool = pools(system)[usize::from(queue.limit.is_some())];
        found.push(("pool", pool.into(), ""));
        found.extend(queue.limit.as_ref().map(|_| ("service-pool", 3.into(), "")));
        let reserved = queue.reserved.as_ref().map_or(0, |it| it.get());
        found.extend(Some(("reserved", reserved.into(), "")).filter(|_| system.of_queues || reserved > 0));
        found.extend(queue.limit.as_ref().map(|limit| ("limit", limit.get().into(), limit.why.as_str())));
        if let Some(alpha) = &queue.alpha {
            let exponent = alpha.log2() as i32;
            let word =
                if exponent < 0 { format!("alpha_1_{}", alpha.recip()) } else { format!("alpha_{}", alpha.value) };
            found.extend([("exponent", exponent.into(), alpha.why.as_str()), ("alpha", word.into(), &*alpha.why)]);
        }
    }
    found
}

impl Place<'_> {
    fn path(&self, rule: &Rule) -> Vec<String> {
        let fill = |word: &&str| {
            let (start, wildcard) = word.split_at(word.find(['*', '#', '@']).unwrap_or(word.len()));
            let filled = match wildcard.get(..1) {
                Some("*") => self.name,
                Some("#") => &self.number,
                Some(_) => self.interface,
                None => "",
            };
            format!("{start}{filled}")
        };
        rule.path.iter().map(fill).collect()
    }
}

impl Tree {
    fn put(&mut self, path: Vec<String>, value: Value, why: &str) {
        self.0.insert(path.into_iter().map(|key| (natural(&key), key)).collect(), (value, why.into()));
    }

    /// JSON of tables, entries and fields whose values are strings.
    pub fn json(self, out: &mut Written) {
        let mut root = Value::Object(Map::new());
        for (path, (value, why)) in self.0 {
            let keys: Vec<String> = path.into_iter().map(|key| key.1).collect();
            let [table, entry @ .., field] = &keys[..] else { continue };
            out.derived(keys.join("|"), &why);
            root[table][entry.join("|")][field] = value.as_str().map_or_else(|| value.to_string(), String::from).into();
        }
        out.line(format_args!("{root:#}"));
    }

    /// YAML with derivations as comments.
    pub fn yaml(self, out: &mut Written) {
        let mut open: Vec<String> = Vec::new();
        for (path, (value, why)) in self.0 {
            let keys: Vec<String> = path.into_iter().map(|key| key.1).collect();
            let common = open.iter().zip(&keys).take_while(|(a, b)| a == b).count();
            for (depth, key) in keys.iter().enumerate().skip(common) {
                let comment =
                    if why.is_empty() { String::new() } else { format!("  # {}", why.replace(['\n', '\r'], " ")) };
                let rest = if depth + 1 == keys.len() { format!(" {}{comment}", plain(&value)) } else { String::new() };
                out.line(format_args!("{}{}:{rest}", "  ".repeat(depth), plain(&key.as_str().into())));
            }
            open = keys;
        }
    }
}

/// A value as YAML has it: in quotation marks unless it is a number or a word.
fn plain(value: &Value) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_,".contains(letter);
    let special = ["on", "off", "yes", "no", "true", "false", "null", "y", "n"];
    let is_word =
        |text: &&str| text.starts_with(char::is_alphabetic) && text.chars().all(fits) && !special.contains(text);
    value.as_str().filter(is_word).map_or_else(|| value.to_string(), String::from)
}
