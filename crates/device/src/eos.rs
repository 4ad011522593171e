//! Arista EOS: a qos profile for each kind of port, one mmu queue profile of the chip, and global maps.
//!
//! | setting | line |
//! |---|---|
//! | ECN of a queue | `random-detect ecn minimum-threshold ..`, weight 0 for the present length |
//! | ECN of shared memory | `qos random-detect ecn global-buffer ..`, which has no probability |
//! | packets that are not ECN-capable | dropped above the ECN thresholds, in all queues or (`allow non-ect`) in none |
//! | credits, emulation packets | `priority strict`, `shape rate N kbps`; `random-detect drop` caps the queue |
//! | private memory, alpha | `egress unicast queue N reserved cells ..`, `.. threshold 1/8`, for all ports alike |

mod yaml;

use crate::model::{Device, Port, Queue, Ramp, Role, Schedule};
use crate::text::Written;
use serde_json::{Value, json};
use shallop_core::Bytes;
use std::collections::BTreeMap;

/// The values of `threshold` of an mmu queue profile.
const ALPHAS: [(f64, &str); 11] = [
    (1.0 / 128.0, "1/128"),
    (1.0 / 64.0, "1/64"),
    (1.0 / 32.0, "1/32"),
    (1.0 / 16.0, "1/16"),
    (1.0 / 8.0, "1/8"),
    (1.0 / 4.0, "1/4"),
    (1.0 / 2.0, "1/2"),
    (1.0, "1"),
    (2.0, "2"),
    (4.0, "4"),
    (8.0, "8"),
];
/// The memory cell (`segments`) of a chip whose cell size is not known: that of the Trident and Tomahawk families.
const CELL: u64 = 208;
const PROFILE: &str = "shallop";

/// A line of the configuration, its derivation, and its place in the data that pyavd renders: keys, and `name=X` or
/// `id=N` for the entry of a list.
struct Line {
    within: Vec<String>,
    text: String,
    why: String,
    path: String,
    value: Value,
}

/// The lines of a device, with notes on what they do not express.
struct Lines {
    lines: Vec<Line>,
    notes: Written,
}

/// The configuration as `show running-config` prints it.
pub fn write(device: &Device) -> Written {
    let Lines { lines, notes: mut out } = Lines::of(device);
    out.line(format_args!("! {}{}", device.name, device.chip.iter().map(|it| format!(", {it}")).collect::<String>()));
    let mut within: &[String] = &[];
    for line in &lines {
        let common = within.iter().zip(&line.within).take_while(|(a, b)| a == b).count();
        if common == 0 && (within.len() + line.within.len() > 0) {
            out.line("!");
        }
        for (depth, header) in line.within.iter().enumerate().skip(common) {
            out.line(format_args!("{}{header}", "   ".repeat(depth)));
        }
        let indent = "   ".repeat(line.within.len());
        if !line.why.is_empty() {
            out.line(format_args!("{indent}! {}", line.why));
        }
        out.line(format_args!("{indent}{}", line.text));
        within = &line.within;
    }
    out.line("!");
    device.hosts.iter().for_each(|host| out.line(format_args!("! hosts: {host}")));
    out
}

/// The configuration as the data (YAML) that pyavd renders to these lines.
pub fn structured(device: &Device) -> Written {
    let Lines { lines, notes: mut out } = Lines::of(device);
    out.line(format_args!("# {}: data for arista.avd.eos_cli_config_gen", device.name));
    let mut data = json!({});
    for line in lines {
        if !line.why.is_empty() {
            out.line(format_args!("# {}: {}", line.text, line.why));
        }
        yaml::insert(&mut data, &line.path, line.value);
    }
    device.hosts.iter().for_each(|host| out.line(format_args!("# hosts: {host}")));
    out.text.push_str(&yaml::text(&data));
    out
}

impl Lines {
    fn of(device: &Device) -> Self {
        let mut lines = Self { lines: Vec::new(), notes: Written::default() };
        lines.memory(device);
        for port in &device.ports {
            port.queues.iter().for_each(|queue| lines.queue(port, queue, device));
        }
        for port in &device.ports {
            let profile = format!("{PROFILE}-{}", port.label);
            for interface in &port.interfaces {
                let (within, far) = ([format!("interface {}", interface.name)], &interface.far);
                let path = format!("ethernet_interfaces/name={}", interface.name);
                let why = if far.is_empty() { String::new() } else { format!("to {far}") };
                lines.add(
                    &within,
                    format!("service-profile {profile}"),
                    &why,
                    &format!("{path}/service_profile"),
                    json!(profile),
                );
                lines.add(&within, "qos trust dscp".into(), "", &format!("{path}/qos/trust"), json!("dscp"));
            }
        }
        lines.global(device);
        lines
    }

    fn add(&mut self, within: &[String], text: String, why: &str, path: &str, value: Value) {
        let (within, why, path) = (within.to_vec(), why.to_owned(), path.to_owned());
        self.lines.push(Line { within, text, why, path, value });
    }

    /// Adds ECN of shared memory and of all queues, and the maps from DSCP to queues.
    fn global(&mut self, device: &Device) {
        let queues = || device.ports.iter().flat_map(|port| &port.queues);
        let pool = device.pool.as_ref().and_then(|pool| pool.mark.as_ref());
        let marks = || queues().filter(|it| it.role != Role::Metered).filter_map(|it| it.mark.as_ref()).chain(pool);
        let drops = marks().any(|mark| mark.not_ect_dropped);
        if drops && marks().any(|mark| !mark.not_ect_dropped) {
            self.notes.refuse(
                "packets that are not ECN-capable, dropped above the ECN threshold of some queues and kept in others",
                "all queues drop them",
            );
        }
        if !drops && marks().next().is_some() {
            let why = "packets that are not ECN-capable are dropped only when there is no room";
            let path = "qos/random_detect/ecn/allow_non_ect/enabled";
            self.add(&[], "qos random-detect ecn allow non-ect".into(), why, path, json!(true));
        }
        if let Some(mark) = pool {
            let [min, max] = [mark.min.get(), mark.max.get()];
            let (unit, step) =
                if (min | max) != 0 && min % 1000 == 0 && max % 1000 == 0 { ("kbytes", 1000) } else { ("bytes", 1) };
            let [min, max] = [min / step, max / step].map(|it| it.max(1));
            let text = format!(
                "qos random-detect ecn global-buffer minimum-threshold {min} {unit} maximum-threshold {max} {unit}"
            );
            let value = json!({ "units": unit, "min": min, "max": max });
            self.add(&[], text, &mark.why, "qos/random_detect/ecn/global_buffer", value);
            if mark.probability < 1.0 || mark.weight > 0 {
                let what =
                    format!("probability {} and weight {} of shared memory's ECN", mark.probability, mark.weight);
                self.notes.refuse(what, "those of the switch hold");
            }
        }
        for entry in &device.dscp {
            let (dscp, queue) = entry.value;
            let text = format!("{dscp} to traffic-class {queue}");
            self.add(&[], format!("qos map dscp {text}"), &entry.why, "qos/map/dscp/+", json!(text));
        }
        let mut classes: Vec<u8> = device.dscp.iter().map(|entry| entry.1).collect();
        classes.sort_unstable();
        classes.dedup();
        for queue in classes {
            let text = format!("{queue} to tx-queue {queue}");
            self.add(&[], format!("qos map traffic-class {text}"), "", "qos/map/traffic_class/+", json!(text));
        }
        if self.lines.iter().any(|line| line.path.starts_with("platform")) {
            let path = "platform/trident/mmu/active_profile";
            self.add(&[], format!("platform trident mmu queue profile {PROFILE} apply"), "", path, json!(PROFILE));
        }
    }

    /// Adds the mmu queue profile: the memory of queues by their numbers, for all ports alike.
    fn memory(&mut self, device: &Device) {
        let mut queues: BTreeMap<u8, (Option<(u64, String)>, Option<(usize, String)>)> = BTreeMap::new();
        for queue in device.ports.iter().flat_map(|port| &port.queues) {
            let own = (self.cells(queue, device), self.alpha(queue, device));
            let entry = queues.entry(queue.number).or_insert_with(|| own.clone());
            if entry.0.as_ref().map(|it| it.0) != own.0.as_ref().map(|it| it.0) {
                let what = format!("memory of queue {} that differs between ports", queue.number);
                self.notes.refuse(what, "the larger at all ports");
                entry.0 = entry.0.take().max(own.0);
            }
        }
        let within = [format!("platform trident mmu queue profile {PROFILE}")];
        for (number, (cells, alpha)) in queues {
            let path = format!("platform/trident/mmu/queue_profiles/name={PROFILE}/unicast_queues/id={number}");
            let egress = format!("egress unicast queue {number}");
            if let Some((cells, why)) = cells {
                let value = json!({ "unit": "cells", "reserved": cells });
                self.add(&within, format!("{egress} reserved cells {cells}"), &why, &path, value);
            }
            if let Some((alpha, why)) = alpha {
                let word = ALPHAS[alpha].1;
                self.add(&within, format!("{egress} threshold {word}"), &why, &path, json!({ "threshold": word }));
            }
        }
    }

    /// The private memory of a queue, in cells of the chip.
    fn cells(&mut self, queue: &Queue, device: &Device) -> Option<(u64, String)> {
        let cell = cell(device);
        let what = |what: &str| format!("queue {} ({}), {what}", queue.number, queue.role.name());
        if let (Some(limit), Some(packet)) = (&queue.limit, queue.packet()) {
            let cells = limit.get() / packet.get() * packet.get().div_ceil(cell);
            return Some((cells, format!("{}, cells of {cell} B", limit.why)));
        }
        if let Some(own) = &queue.reserved {
            let cells = (own.get() + cell / 2) / cell;
            self.notes.rounded(what("private memory"), own.get() as f64, (cells * cell) as f64, " B");
            return (cells > 0).then(|| (cells, format!("{}, cells of {cell} B", own.why)));
        }
        let limit = queue.limit.as_ref().filter(|_| device.pool.is_none())?;
        let cells = (limit.get() / cell).max(1);
        self.notes.rounded(what("buffer"), limit.get() as f64, (cells * cell) as f64, " B");
        self.notes.refuse(
            what(&format!("a buffer of {} that no other port can use", limit.value)),
            format!("{cells} cells of its own, and {} of the free shared memory", ALPHAS[0].1),
        );
        Some((cells, format!("{}, cells of {cell} B", limit.why)))
    }

    /// The share of free shared memory that a queue may take: the index in `ALPHAS`.
    fn alpha(&mut self, queue: &Queue, device: &Device) -> Option<(usize, String)> {
        let what = format!("queue {} ({}), ", queue.number, queue.role.name());
        let nearest = |alpha: f64| {
            let far = |index: &usize| (ALPHAS[*index].0 / alpha).ln().abs();
            (0..ALPHAS.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
        };
        match (&queue.alpha, &queue.limit, &device.pool) {
            (_, Some(_), None) => Some((0, "the least that the chip has".to_owned())),
            (_, Some(_), _) if queue.packet().is_some() => Some((0, "the least that the chip has".to_owned())),
            (_, Some(limit), Some(pool)) => {
                let share = limit.ratio(pool.size.value).min(0.99);
                let alpha = nearest(share / (1.0 - share));
                let word = ALPHAS[alpha].1;
                self.notes.refuse(
                    format!("{what}a fixed limit of {} in shared memory", limit.value),
                    format!("alpha {word}"),
                );
                Some((alpha, format!("alone, it may hold as much as {}", limit.why)))
            }
            (Some(alpha), None, _) => {
                let index = nearest(alpha.value);
                self.notes.rounded(format!("{what}alpha"), alpha.value, ALPHAS[index].0, "");
                Some((index, alpha.why.clone()))
            }
            (None, None, _) => None,
        }
    }

    /// Adds a line of a queue in a qos profile.
    fn tx(&mut self, port: &Port, queue: &Queue, text: String, why: &str, value: Value) {
        let (profile, number) = (format!("{PROFILE}-{}", port.label), queue.number);
        let within = [format!("qos profile {profile}"), format!("tx-queue {number}")];
        self.add(&within, text, why, &format!("qos_profiles/name={profile}/tx_queues/id={number}"), value);
    }

    /// Adds a queue of a qos profile: its order of service, its shaper, its ECN and its drops.
    fn queue(&mut self, port: &Port, queue: &Queue, device: &Device) {
        let what = |what: &str| what_of(queue, port, what);
        self.schedule(port, queue);
        if let Some(shaper) = &queue.shaper {
            let rate = (shaper.rate.get() / 1000).max(1);
            let pps = shaper.packets_per_second().map(|it| format!("; where the platform counts packets {it:.0} pps"));
            let why = format!("{}, bytes on the wire{}", shaper.why, pps.unwrap_or_default());
            let value = json!({ "shape": { "rate": format!("{rate} kbps") } });
            self.tx(port, queue, format!("shape rate {rate} kbps"), &why, value);
            self.notes.rounded(what("shape rate"), shaper.rate.get() as f64, rate as f64 * 1e3, " b/s");
            if let Some(burst) = shaper.burst {
                self.notes.refuse(what(&format!("burst of {burst}")), "the burst of the chip");
            }
        }
        if let Some(aqm) = &queue.aqm {
            self.notes.refuse(what(&aqm.name), "packets are dropped where there is no room");
        }
        if let Some(policer) = &queue.policer {
            self.notes.refuse(what(&format!("policer of {}", policer.rate)), "`shape rate`, which delays");
        }
        if let Some((limit, packet)) = queue.limit.as_ref().zip(queue.packet()) {
            if queue.mark.is_some() {
                self.notes.refuse(what("selective drop"), "none: drops limit the length of the queue");
            }
            let cells = Bytes::new(limit.get() / packet.get() * packet.get().div_ceil(cell(device)));
            self.random(queue, port, "drop", &Ramp::step(cells), "segments", &limit.why);
        } else {
            for (kind, ramp) in [("ecn", &queue.mark), ("drop", &queue.drop)] {
                ramp.iter().for_each(|ramp| self.random(queue, port, kind, ramp, "bytes", &ramp.why));
            }
        }
    }

    /// Adds the order in which a queue is served.
    fn schedule(&mut self, port: &Port, queue: &Queue) {
        let why = format!("{}: {}", queue.role.name(), queue.schedule.why);
        let Schedule::Weight(weight) = queue.schedule.value else {
            let value = json!({ "priority": "priority strict" });
            return self.tx(port, queue, "priority strict".into(), &why, value);
        };
        self.tx(port, queue, "no priority".into(), &why, json!({ "priority": "no priority" }));
        let all: Vec<u32> = port.queues.iter().filter_map(Queue::weight).collect();
        if all.len() > 1 {
            let sum: u32 = all.iter().sum();
            let exact = f64::from(weight) * 100.0 / f64::from(sum);
            let percent = exact.round().clamp(1.0, 99.0);
            let (text, value) =
                (format!("bandwidth percent {percent}"), json!({ "bandwidth_percent": percent as u64 }));
            self.tx(port, queue, text, &format!("weight {weight} of {sum}"), value);
            self.notes.rounded(what_of(queue, port, "part of the rate"), exact, percent, " %");
        }
    }

    /// Adds ECN or drops by the length of a queue.
    fn random(&mut self, queue: &Queue, port: &Port, kind: &str, ramp: &Ramp, unit: &str, why: &str) {
        let percent = (ramp.probability * 100.0).round().clamp(1.0, 100.0);
        let what = what_of(queue, port, &format!("probability of {kind}"));
        self.notes.rounded(what, ramp.probability * 100.0, percent, " %");
        let [min, max] = [ramp.min, ramp.max].map(|it| it.get().max(1));
        let (word, key) = if kind == "ecn" { ("max-mark", "max") } else { ("drop", "drop") };
        let text = format!(
            "random-detect {kind} minimum-threshold {min} {unit} maximum-threshold {max} {unit} \
             {word}-probability {percent} weight {}",
            ramp.weight
        );
        let mut threshold = json!({ "units": unit, "min": min, "max": max, "weight": ramp.weight });
        threshold[format!("{key}_probability")] = json!(percent as u64);
        self.tx(port, queue, text, why, json!({ "random_detect": { kind: { "threshold": threshold } } }));
    }
}

/// The words of notes for a setting of a queue.
fn what_of(queue: &Queue, port: &Port, what: &str) -> String {
    format!("queue {} ({}) at {}, {what}", queue.number, queue.role.name(), port.label)
}

fn cell(device: &Device) -> u64 {
    device.pool.as_ref().map(|pool| pool.cell.get()).filter(|&cell| cell > 1).unwrap_or(CELL)
}
