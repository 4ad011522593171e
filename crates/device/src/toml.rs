//! The `[switch.NAME]` section of a device: a key for each setting that scenarios have, with its origin.

use crate::model::{Bucket, Device, Known, Port, Queue, Ramp, Role};
use crate::text::{Imported, NotUnderstood};
use shallop_core::Bytes;

/// A key of a `[switch.NAME]` with its value as TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    pub value: String,
    /// The derivation or the line of the configuration.
    pub why: String,
}

/// The settings of a switch all of whose ports are like this one.
pub fn settings(device: &Device, port: &Port) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut add = |key, value: String, why: &str| found.push(Setting { key, value, why: why.to_owned() });
    let of = |role| port.queues.iter().find(|queue| queue.role == role);
    let (metered, legacy) = (of(Role::Metered), of(Role::Legacy));
    if let Some(chip) = &device.chip {
        add("chip", quoted(chip), "");
    }
    if let Some(pool) = &device.pool {
        if device.chip.is_none() {
            add("shared.size", quoted(pool.size.value), &pool.size.why);
        }
        if let Some(mark) = &pool.mark {
            add("shared.mark", ramp(mark), &mark.why);
        }
    }
    if let Some(data) = of(Role::Data) {
        if let Some(own) = &data.reserved {
            add("shared.private", quoted(own.value), &own.why);
        }
        if let Some(limit) = &data.limit {
            // A buffer is divided between the queues of data and of transports without credits.
            let other = legacy.and_then(|legacy| legacy.limit.as_ref()).map_or(Bytes::ZERO, |it| it.value);
            let (key, size) =
                if device.pool.is_some() { ("shared.static", limit.value) } else { ("buffer", limit.value + other) };
            add(key, quoted(size), &limit.why);
        }
        if let Some(it) = &data.alpha {
            add("shared.alpha", it.value.to_string(), &it.why);
        }
        for (key, rule) in [("mark", &data.mark), ("drop", &data.drop)] {
            let Some(rule) = rule else { continue };
            // Packets without credits are dropped above a few packets, beside credits.
            let selective = metered.is_some() && rule.is_step() && (rule.not_ect_dropped || key == "drop");
            let (key, text) = if selective { ("unscheduled_above", quoted(rule.max)) } else { (key, ramp(rule)) };
            add(key, text, &rule.why);
        }
        for (key, bucket) in [("shaper", &data.shaper), ("policer", &data.policer)] {
            let Some(it) = bucket else { continue };
            let assumed = if it.burst.is_none() { "; the burst is assumed" } else { "" };
            add(key, self::bucket(it), &format!("{}{assumed}", it.why));
        }
        if let Some((data, other)) = legacy.and_then(|legacy| Some((data.weight()?, legacy.weight()?))) {
            let why = legacy.map_or("", |legacy| &legacy.schedule.why);
            add("data_weight", data.to_string(), why);
            add("legacy_weight", other.to_string(), why);
        }
    }
    if let Some(it) = legacy.and_then(|it| it.alpha.as_ref()) {
        add("shared.legacy_alpha", it.to_string(), &it.why);
    }
    if let Some(queue) = metered {
        credits(queue, &mut add);
    }
    found
}

/// The settings of a queue of credits or emulation packets.
fn credits(queue: &Queue, add: &mut impl FnMut(&'static str, String, &str)) {
    let packet = queue.packet().map_or(84, Bytes::get).max(1);
    if let Some(limit) = &queue.limit {
        add("credit_queue", format!("\"{}pkt\"", limit.get() / packet), &limit.why);
    }
    if let Some((shaper, burst)) = queue.shaper.as_ref().and_then(|it| Some((it, it.burst?))) {
        add("credit_burst", (burst.get() / packet).max(1).to_string(), &shaper.why);
    }
    match &queue.mark {
        Some(mark) => add("selective_drop", quoted(mark.max), &mark.why),
        None => add("selective_drop", quoted("off"), "no threshold in the queue of credits or emulation packets"),
    }
}

fn quoted(value: impl std::fmt::Display) -> String {
    format!("\"{}\"", value.to_string().replace(['\\', '"'], ""))
}

fn ramp(ramp: &Ramp) -> String {
    let text = if ramp.is_step() {
        format!("{{ above = {}", quoted(ramp.max))
    } else {
        let Ramp { min, max, probability, .. } = ramp;
        format!("{{ min = {}, max = {}, probability = {probability}", quoted(min), quoted(max))
    };
    let weight = if ramp.weight > 0 { format!(", weight = {}", ramp.weight) } else { String::new() };
    text + &weight + if ramp.not_ect_dropped { ", not_ect = \"drop\" }" } else { " }" }
}

fn bucket(bucket: &Known<Bucket>) -> String {
    let burst = bucket.burst.unwrap_or(Bytes::new(ASSUMED_BURST));
    format!("{{ rate = {}, burst = {} }}", quoted(bucket.rate), quoted(burst))
}

/// The burst of a shaper whose system has no such setting: two full frames.
const ASSUMED_BURST: u64 = 3_076;

/// The section of an imported device. It describes the ports of which there are most. Comments name the line of each
/// value, what differs at other ports, what scenarios have no key for, and the lines that were not understood.
pub fn section(imported: &Imported) -> String {
    let device = &imported.device;
    let name: String = device.name.chars().filter(|it| it.is_ascii_alphanumeric() || "-_".contains(*it)).collect();
    let name = if name.is_empty() { "default" } else { &name };
    let mut ports: Vec<&Port> = device.ports.iter().collect();
    ports.sort_by_key(|port| std::cmp::Reverse(port.interfaces.len()));
    let (none, mut comments) = (Port::default(), imported.roles.clone());
    let main = settings(device, ports.first().unwrap_or(&&none));
    let mut shown: Vec<String> = main.iter().map(|it| it.why.clone()).collect();
    for port in ports.iter().skip(1) {
        let own = settings(device, port);
        let lacks = main.iter().filter(|it| !own.iter().any(|own| own.key == it.key));
        comments.extend(lacks.map(|it| format!("ports {}: no {}", port.label, it.key)));
        for Setting { key, value, why } in own.into_iter().filter(|it| !main.contains(it)) {
            comments.push(format!("ports {}: {key} = {value}, {why}", port.label));
            shown.push(why);
        }
    }
    for origin in device.origins().into_iter().filter(|it| it.starts_with("line ")) {
        if !shown.iter().any(|it| it.starts_with(origin)) {
            let is_replaced = device.chip.is_some() && device.pool.as_ref().is_some_and(|it| it.size.why == origin);
            comments.push(format!("{}: {origin}", if is_replaced { "replaced by --chip" } else { "no key" }));
            shown.push(origin.to_owned());
        }
    }
    let mut refused: Vec<&NotUnderstood> = imported.not_understood.iter().collect();
    refused.sort_by_key(|it| !it.of_queues);
    let refused = refused.iter();
    comments.extend(refused.map(|it| format!("not understood, line {}: {} ({})", it.line, it.text, it.reason)));
    let keys = main.iter().map(|Setting { key, value, why }| match why.as_str() {
        "" => format!("{key} = {value}"),
        why => format!("{:<39} # {why}", format!("{key} = {value}")),
    });
    let lines = [format!("[switch.{name}]")].into_iter().chain(keys);
    let lines = lines.chain(comments.into_iter().map(|it| format!("# {it}")));
    lines.map(|line| line.replace(|it: char| it.is_control(), " ") + "\n").collect()
}
