//! Linux: a shell script that puts queues on network cards with `tc`, and removes them.
//!
//! | setting | line |
//! |---|---|
//! | rate of a port | `tbf` at the root: packets then wait in the queues below it, not in the card |
//! | order of service | `ets`: strict bands, then bands with weights |
//! | shaper of a queue | `tbf` in its band |
//! | ECN, drops by length | `red`, which always averages: with the gain 1/2 at best |
//! | AQM, other queues | `codel`, `fq_codel`, `pie`, `dualpi2`; `bfifo` |
//! | DSCP, policer | filters of `ets` |
//!
//! Linux counts 24 B less for each packet than it takes on the wire. So lengths are converted as numbers of packets.

use crate::model::{Aqm, Bucket, Device, Port, Queue, Ramp, Role, Schedule};
use crate::text::Written;
use minijinja::Environment;
use serde_json::json;
use shallop_core::Bytes;
use std::fmt::Display;

const SCRIPT: &str = include_str!("tc/script.j2");
/// The bytes on the wire that Linux does not count: checksum, preamble and gap.
const OVERHEAD: u64 = 24;
const MTU: u64 = 1500;
/// A full packet on the wire.
const FULL: u64 = MTU + 14 + OVERHEAD;
/// The burst of a shaper in microseconds of its rate: timers of Linux are late by as much.
const BURST_US: u64 = 5;
/// The length of queues for which no limit is known, in packets.
const PACKETS: u64 = 1000;
/// Disciplines in scenarios and in `tc`, with the options that both have by one name.
const AQMS: [(&str, &str, &[&str]); 4] = [
    ("codel", "codel", &["target", "interval", "ce_threshold"]),
    ("fq-codel", "fq_codel", &["target", "interval", "ce_threshold", "flows", "drop_batch"]),
    ("pie", "pie", &["target", "tupdate"]),
    ("dualpi2", "dualpi2", &["target", "tupdate", "alpha", "beta", "coupling_factor", "step_thresh", "min_qlen_step"]),
];
/// Options with the values that Linux always has.
const FIXED: [(&str, &str); 5] = [
    ("max_burst", "150ms"),
    ("mark_ecnth", "0.1"),
    ("ramp", "0s"),
    ("random", "true"),
    ("quantum", "the largest packet of the link"),
];

pub fn write(device: &Device) -> Written {
    let mut out = Written::default();
    let (mut kinds, mut all) = (Vec::new(), Vec::new());
    for port in &device.ports {
        Lines { device, port, out: &mut out }.queues();
        let ends: Vec<_> = port.interfaces.iter().map(|it| comment(&format!("{} to {}", it.name, it.far))).collect();
        let names: Vec<_> = port.interfaces.iter().map(|it| word(&it.name)).collect();
        let (label, word, lines) = (comment(&port.label), word(&port.label), std::mem::take(&mut out.text));
        let (ends, own) = (ends.join(", "), names.join(" | "));
        kinds.push(json!({ "label": label, "word": word, "ends": ends, "names": own, "lines": lines }));
        all.extend(names);
    }
    let hosts: Vec<_> = device.hosts.iter().map(|host| comment(host)).collect();
    let values = json!({
        "name": comment(&device.name), "hosts": hosts, "kinds": kinds, "names": all.join(" "), "mtu": MTU,
    });
    let mut templates = Environment::new();
    templates.set_trim_blocks(true);
    templates.set_keep_trailing_newline(true);
    // The template is part of the program.
    out.text = templates.render_str(SCRIPT, values).unwrap_or_else(|why| format!("# {why:#}\n"));
    out
}

/// A text as part of a comment.
fn comment(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name as a word that the shell does not interpret.
fn word(text: &str) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() || "_.:@-".contains(it) { it } else { '_' }).collect()
}

/// The lines of a port.
struct Lines<'a> {
    device: &'a Device,
    port: &'a Port,
    out: &'a mut Written,
}

impl Lines<'_> {
    /// Adds a queue discipline.
    fn add(&mut self, why: &str, line: impl Display) {
        self.out.line(format_args!("    # {}\n    tc qdisc add dev \"$port\" {line}", comment(why)));
    }

    fn what(queue: &Queue, what: impl Display) -> String {
        format!("queue {} ({}), {what}", queue.number, queue.role.name())
    }

    fn queues(&mut self) {
        let mut order: Vec<&Queue> = self.port.queues.iter().collect();
        order.sort_by_key(|it| (it.schedule.value != Schedule::Strict, std::cmp::Reverse(it.number)));
        let mut parent = "root".to_owned();
        if let Some(rate) = self.port.rate {
            let burst = Bucket { rate, burst: None, packet: None };
            let line = format!("root handle 1: {} limit {}", self.tbf(&burst), FULL - OVERHEAD);
            self.add("rate of the port in bytes on the wire; packets wait in the queues below", line);
            "parent 1:1".clone_into(&mut parent);
        }
        if order.len() == 1 && order[0].policer.is_none() {
            return self.leaf(order[0], &parent, 1);
        }
        self.bands(&order, &parent);
        for (band, queue) in order.iter().enumerate() {
            self.leaf(queue, &format!("parent 2:{}", band + 1), band + 1);
        }
        self.filters(&order);
    }

    /// The band of packets that no filter takes, from 0.
    fn default_band(&self, order: &[&Queue]) -> usize {
        let best_effort = self.device.queue_of(0).and_then(|number| order.iter().position(|it| it.number == number));
        let role = |role| order.iter().position(|it| it.role == role);
        best_effort.or_else(|| role(Role::Legacy)).or_else(|| role(Role::Data)).unwrap_or(order.len().saturating_sub(1))
    }

    fn bands(&mut self, order: &[&Queue], parent: &str) {
        let weight = |it: &&Queue| match it.schedule.value {
            Schedule::Weight(weight) => Some(u64::from(weight.max(1))),
            Schedule::Strict => None,
        };
        let mut weights: Vec<u64> = order.iter().filter_map(weight).collect();
        // One queue with a weight has what the strict ones leave.
        if weights.len() == 1 {
            weights.clear();
        }
        let (least, strict) = (weights.iter().min().copied().unwrap_or(1), order.len() - weights.len());
        let quanta: Vec<_> = weights.iter().map(|weight| ((FULL - OVERHEAD) * weight / least).to_string()).collect();
        let part = |name: &str, value: &str| if value.is_empty() { String::new() } else { format!(" {name} {value}") };
        let strict = part("strict", &if strict > 0 { strict.to_string() } else { String::new() });
        let (quanta, priomap) =
            (part("quanta", &quanta.join(" ")), format!(" {}", self.default_band(order)).repeat(16));
        let roles: Vec<_> = order.iter().map(|it| format!("{}: {}", it.number, it.role.name())).collect();
        let turns = if weights.is_empty() { "" } else { "; the least weight sends one full packet a turn" };
        let why = format!("queues in the order {}{turns}", roles.join(", "));
        self.add(&why, format!("{parent} handle 2: ets bands {}{strict}{quanta} priomap{priomap}", order.len()));
    }

    fn filters(&mut self, order: &[&Queue]) {
        let default = self.default_band(order);
        for entry in &self.device.dscp {
            let (dscp, number) = entry.value;
            let Some(band) = order.iter().position(|it| it.number == number).filter(|&band| band != default) else {
                continue;
            };
            let filter = "    tc filter add dev \"$port\" parent 2: protocol";
            let of = format!("0x{:02x} 0xfc flowid 2:{}", dscp << 2, band + 1);
            self.out.line(format_args!("    # DSCP {dscp}: {}", comment(&entry.why)));
            self.out.line(format_args!("{filter} ip prio 1 u32 match ip dsfield {of}"));
            self.out.line(format_args!("{filter} ipv6 prio 2 u32 match ip6 priority {of}"));
        }
        for (band, queue) in order.iter().enumerate() {
            let Some(policer) = &queue.policer else { continue };
            if band != default {
                self.out.refuse(Self::what(queue, "policer"), "none: only the queue of best effort can have one");
                continue;
            }
            let (rate, burst) = (policer.rate.get(), policer.burst.map_or(FULL, Bytes::get));
            self.out.line(format_args!("    # {}", comment(&policer.why)));
            self.out.line(format_args!(
                "    tc filter add dev \"$port\" parent 2: protocol all prio 9 u32 match u32 0 0 police rate {rate}bit \
                 burst {burst} overhead {OVERHEAD} mpu 84 conform-exceed drop/ok flowid 2:{}",
                band + 1
            ));
        }
    }

    /// `tbf` with the bucket that fits at least two packets: with less, a timer that is late loses tokens.
    fn tbf(&mut self, bucket: &Bucket) -> String {
        let packet = bucket.packet.map_or(FULL, Bytes::get);
        let rate = bucket.rate.get();
        let asked = bucket.burst.map_or(0, Bytes::get);
        let burst = asked.max(2 * packet).max(rate / 8 * BURST_US / 1_000_000);
        if asked > 0 {
            self.out.rounded(format!("burst of {rate} b/s"), asked as f64, burst as f64, " B");
        }
        format!("tbf rate {rate}bit burst {} overhead {OVERHEAD} mpu 84", burst.saturating_sub(OVERHEAD))
    }

    /// The length of a queue as Linux counts it, and its packets; `why` says where it is from.
    fn limit(&mut self, queue: &Queue) -> (u64, u64, String) {
        let packet = queue.packet().map_or(FULL, Bytes::get).max(OVERHEAD + 1);
        let own = queue.reserved.as_ref().map_or(0, |it| it.get());
        let (wire, why) = match (&queue.limit, &self.device.pool) {
            (Some(limit), _) => (limit.get() + own, limit.why.clone()),
            (None, Some(pool)) => {
                let alpha = queue.alpha.as_ref().map_or(1.0, |it| it.value);
                let share = (pool.size.get() as f64 * alpha / (1.0 + alpha)) as u64;
                let nearest = format!("{} B that no other queue can use, as one busy queue may hold", own + share);
                self.out.refuse(Self::what(queue, format!("shared memory of {}", pool.size.value)), nearest);
                if pool.mark.is_some() {
                    self.out.refuse("ECN by the occupancy of shared memory", "ECN of each queue alone, if it has any");
                }
                (own + share, format!("private memory and alpha {alpha} / (1 + alpha) of {}", pool.size.value))
            }
            (None, None) => {
                self.out.refuse(Self::what(queue, "no limit"), format!("{PACKETS} packets"));
                (PACKETS * packet, format!("{PACKETS} packets"))
            }
        };
        let packets = (wire / packet).max(1);
        (packets * (packet - OVERHEAD), packets, format!("{why}: {packets} packets of {} B", packet - OVERHEAD))
    }

    fn leaf(&mut self, queue: &Queue, parent: &str, band: usize) {
        let (limit, packets, mut why) = self.limit(queue);
        let mut at = format!("{parent} handle 1{band}:");
        let is_plain = queue.aqm.is_none() && queue.mark.is_none() && queue.drop.is_none();
        let is_weighted = |it: &&Queue| it.schedule.value != Schedule::Strict;
        if let Some(shaper) = &queue.shaper {
            if is_weighted(&queue) && self.port.queues.iter().filter(is_weighted).count() > 1 {
                self.out.refuse(
                    Self::what(queue, "a shaper beside weights"),
                    "none: `ets` would serve no other queue while it waits",
                );
            } else {
                let line = format!("{at} {} limit {limit}", self.tbf(shaper));
                let length = if is_plain { format!("; {why}") } else { String::new() };
                self.add(&format!("{}, {}{length}", queue.role.name(), shaper.why), line);
                if is_plain {
                    return;
                }
                at = format!("parent 1{band}:1 handle 2{band}:");
            }
        }
        let discipline = if let Some(aqm) = &queue.aqm {
            why = format!("{}; {why}", aqm.why);
            self.aqm(queue, aqm, packets)
        } else if let Some(ramp) = queue.mark.as_ref().or(queue.drop.as_ref()) {
            if queue.mark.is_some() && queue.drop.is_some() {
                self.out
                    .refuse(Self::what(queue, "drops by length beside ECN"), "drops only when the queue has no room");
            }
            why = format!("{}; {why}", ramp.why);
            self.red(queue, ramp, limit)
        } else {
            format!("bfifo limit {limit}")
        };
        self.add(&format!("{}, {why}", queue.role.name()), format_args!("{at} {discipline}"));
    }

    /// RED compares the length before a packet joins, so thresholds are the packets that fit, less half of one.
    fn red(&mut self, queue: &Queue, ramp: &Ramp, limit: u64) -> String {
        let packet = queue.packet().map_or(FULL, Bytes::get);
        let converted = |wire: u64| {
            let frame = packet.saturating_sub(OVERHEAD);
            (wire / packet.max(1) * frame).saturating_sub(frame / 2).max(1)
        };
        let [min, max] = [ramp.min.get(), ramp.max.get()].map(converted);
        let (average, burst, weight) = averaging(min, ramp.weight);
        let gain = |weight: u32| libm::exp2(-f64::from(weight));
        self.out.rounded(Self::what(queue, "gain of the average length"), gain(ramp.weight), gain(weight), "");
        if !ramp.is_step() && ramp.min != ramp.max {
            let nearest = "`red` spaces them: a fraction of 2 p / (1 + p) at a probability of p";
            self.out.refuse(Self::what(queue, "marks or drops that are drawn for each packet"), nearest);
        }
        let ecn = match (&queue.mark, ramp.not_ect_dropped) {
            (None, _) => "",
            (Some(_), true) => " ecn",
            (Some(_), false) => " ecn nodrop",
        };
        let rate = self.port.rate.map(|rate| format!(" bandwidth {}bit", rate.get())).unwrap_or_default();
        format!(
            "red limit {limit} min {min} max {max} avpkt {average} burst {burst} probability {}{rate}{ecn}",
            ramp.probability
        )
    }

    fn aqm(&mut self, queue: &Queue, aqm: &Aqm, packets: u64) -> String {
        let Some((_, name, same)) = AQMS.iter().find(|it| it.0 == aqm.name) else {
            self.out.refuse(Self::what(queue, &aqm.name), "a FIFO");
            return format!("pfifo limit {packets}");
        };
        let option = |name| aqm.options.iter().find(|it| it.0 == name).map(|it| it.1.trim_matches('"'));
        let limit = option("limit").and_then(|most| most.parse().ok()).map_or(packets, |most: u64| most.min(packets));
        let ecn = if option("ecn") == Some("false") { " noecn" } else { " ecn" };
        let mut line = format!("{name} limit {limit}{}", if *name == "dualpi2" { "" } else { ecn });
        for (key, value) in &aqm.options {
            let (key, value) = (key.as_str(), value.trim_matches('"'));
            let wire = value.parse::<Bytes>().map_or(0, Bytes::get);
            let (gain, is_gain) = (value.parse().unwrap_or(0.0), key == "alpha" || key == "beta");
            line = match key {
                "limit" | "ecn" => line,
                _ if value == "none" || FIXED.contains(&(key, value)) => line,
                "quantum" if wire > OVERHEAD => format!("{line} quantum {}", wire - OVERHEAD),
                // Sixteenths of 1 Hz.
                _ if is_gain && *name == "pie" => {
                    let steps = f64::round(gain * 16.0).clamp(0.0, 32.0);
                    self.out.rounded(Self::what(queue, key), gain, steps / 16.0, " Hz");
                    format!("{line} {key} {steps}")
                }
                _ if same.contains(&key) => format!("{line} {key} {}", word(value)),
                _ => {
                    let what = Self::what(queue, format!("{key} = {value} of {name}"));
                    self.out.refuse(what, "the value that Linux has");
                    line
                }
            };
        }
        line
    }
}

/// `avpkt` and `burst` of `red` for which `tc` averages with a gain of 2^-`weight`, or with the nearest that it has; a
/// weight of 0 does not exist.
fn averaging(min: u64, weight: u32) -> (u64, u64, u32) {
    let packets = (min / (FULL - OVERHEAD)).max(1);
    let average = min.div_ceil(packets);
    let of = |burst: u64| {
        let above = burst as f64 + 1.0 - min as f64 / average as f64;
        let fits = |weight: u32| {
            let gain = libm::exp2(-f64::from(weight));
            above <= (1.0 - libm::pow(1.0 - gain, burst as f64)) / gain
        };
        (1..32).find(|&weight| fits(weight)).map(|found| (burst, found))
    };
    let wanted = weight.max(1);
    let all = (packets..packets + (1 << 16)).filter_map(of);
    let (burst, found) = all.take_while(|it| it.1 <= wanted).last().unwrap_or((packets, 1));
    (average, burst, found)
}
