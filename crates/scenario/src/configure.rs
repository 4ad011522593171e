//! From a plan to real switches: what a scheme needs of each switch, as [`Device`]s. Numbers come from
//! the simulated ports (`plan/src/layout.rs`), derivations from `check --explain`.

use crate::explain::{buffer, metered_formula, size};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Class};
use shallop_device::{Aqm, Bucket, Device, Interface, Known, Note, Os, Pool, Port, Queue, Ramp, Role, Schedule};
use shallop_options::StringEnum;
use shallop_plan::bcc::Thresholds;
use shallop_plan::plan::{QueueMarking, Signals, Switch, Transport};
use shallop_plan::transport::Protocol;
use shallop_plan::{ResolvedRun, chips, memory, pools, switches::in_bytes};
use shallop_proto::wire;
use shallop_switch::{Limit, MarkAt, Spacing};
use std::collections::BTreeSet;

/// DSCP of each class of packets (docs/quic-operators.md).
const DSCP: [(Class, u8, &str); 7] = [
    (Class::Legacy, 0, "best effort"),
    (Class::Ack, 8, "CS1: small acknowledgements"),
    (Class::Data, 10, "AF11: data on credits"),
    (Class::Control, 16, "CS2: handshakes"),
    (Class::Emulation, 24, "CS3: emulation packets"),
    (Class::Credit, 32, "CS4: credits"),
    (Class::Unscheduled, 40, "CS5: data before the first credit"),
];
const METERED: Bytes = Bytes::new(wire::MIN_FRAME as u64);

/// A switch of a run as a device.
#[derive(Clone, Debug)]
pub struct Configured {
    pub device: Device,
    /// Index of the switch's settings in the plan.
    pub settings: usize,
    /// Names of the other switches that have equal ports, in any order.
    pub same: Vec<String>,
    /// Settings that no model of a real switch has.
    pub notes: Vec<Note>,
}

/// The switches of a run as devices whose interfaces have the names of `os`, each kind once. `only` names one node, or
/// the settings of some (`[switch.NAME]`).
pub fn devices(run: &ResolvedRun<'_>, os: Os, only: Option<&str>) -> Vec<Configured> {
    let (mut found, network): (Vec<Configured>, _) = (Vec::new(), &run.network);
    let switches = run.plan.switches(run.scheme);
    let nodes: BTreeSet<u32> = network.switch_ports().map(|port| network.graph.near(port).0).collect();
    for node in nodes {
        let (name, settings) = (&network.names[node as usize], network.switch_of[node as usize]);
        if only.is_some_and(|only| only != name && only != switches[settings].name) {
            continue;
        }
        let one = Builder { run, switch: &switches[settings], notes: Vec::new() }.device(node, os);
        let equal = |other: &&mut Configured| other.settings == settings && is_same(&other.device, &one.0);
        match found.iter_mut().find(equal) {
            Some(other) => other.same.push(name.clone()),
            None => found.push(Configured { device: one.0, settings, same: Vec::new(), notes: one.1 }),
        }
    }
    found
}

/// Whether two switches have equal memory and kinds of ports, each as often.
fn is_same(a: &Device, b: &Device) -> bool {
    let kind = |port: &Port| (port.rate, port.interfaces.len());
    let of = |(a, b): (&Port, &Port)| kind(a) == kind(b) && a.queues == b.queues;
    a.pool == b.pool && a.ports.len() == b.ports.len() && a.ports.iter().zip(&b.ports).all(of)
}

struct Builder<'a> {
    run: &'a ResolvedRun<'a>,
    switch: &'a Switch,
    notes: Vec<Note>,
}

impl Builder<'_> {
    fn device(mut self, node: u32, os: Os) -> (Device, Vec<Note>) {
        let network = &self.run.network;
        let mut ports: Vec<Port> = Vec::new();
        let mine: Vec<u32> = network.switch_ports().filter(|&port| network.graph.near(port).0 == node).collect();
        for (number, &port) in mine.iter().enumerate() {
            let rate = network.graph.link_of(port).rate;
            let queues = self.queues(port);
            let far = network.names[network.graph.far(port).0 as usize].clone();
            let interface = Interface { name: os.interface(number), far };
            if let Some(kind) = ports.iter_mut().find(|kind| kind.rate == Some(rate) && kind.queues == queues) {
                kind.interfaces.push(interface);
                continue;
            }
            let before = ports.iter().filter(|kind| kind.rate == Some(rate)).count();
            let label = if before == 0 { rate.to_string() } else { format!("{rate}-{}", before + 1) };
            ports.push(Port { label, interfaces: vec![interface], rate: Some(rate), queues });
        }
        let name = network.names[node as usize].clone();
        let pool = self.pool(&mine);
        let dscp = mine.first().map_or_else(Vec::new, |&port| self.dscp(port));
        let chip = self.switch.chip.map(str::to_owned);
        (Device { name, chip, pool, ports, dscp, hosts: hosts(self.run) }, self.notes)
    }

    fn refuse(&mut self, what: impl Into<String>, nearest: impl Into<String>) {
        let note = Note::Refused { what: what.into(), nearest: nearest.into() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The queues of a port that packets may join.
    fn queues(&mut self, port: u32) -> Vec<Queue> {
        let layout = &self.run.layout;
        let config = &layout.ports[port as usize];
        let mut queues = Vec::new();
        for (index, queue) in config.queues.iter().enumerate().filter(|(it, _)| config.queue_of.contains(&(*it as u8)))
        {
            let (number, role) = place(index, layout.queues[index]);
            let early = usize::from(config.queue_of[Class::Unscheduled.index()]);
            let above_data = layout.queues[early] == "unscheduled" && role != Role::Unscheduled;
            let strict = matches!(role, Role::Metered | Role::Returned) || above_data;
            let schedule = if strict { Schedule::Strict } else { Schedule::Weight(queue.weight) };
            let why = if strict { "served before the queues below" } else { "shares by weight" };
            let mut made = Queue::new(number, role, Known::new(schedule, why));
            match role {
                Role::Metered | Role::Returned => self.metered(port, &mut made),
                _ => self.data(port, &mut made),
            }
            self.selective(port, &mut made, queue.select.is_some());
            queues.push(made);
        }
        queues.sort_by_key(|queue| queue.number);
        queues
    }

    /// Adds meter and limit of credits or emulation packets.
    fn metered(&self, port: u32, queue: &mut Queue) {
        let (network, shares) = (&self.run.network, self.run.layout.shares[port as usize]);
        let rate = network.graph.link_of(port).rate;
        let frame = network.full_frame(port).get();
        let is_first = queue.role == Role::Metered;
        let (share, packet) =
            if is_first { (shares.metered, METERED) } else { (shares.returned, Bytes::new(shares.credit)) };
        let Some(share) = share else { return };
        let burst = packet * u64::from(self.switch.credit_burst.max(1));
        let why = match (is_first, share.parts()) {
            (true, _) => format!("{rate} × {}", metered_formula(share, frame, shares.weights)),
            (false, (own, all)) => format!("{rate} × {own} / {all}: credits beside data"),
        };
        let bucket = Bucket { rate: rate.share(share), burst: Some(burst), packet: Some(packet) };
        queue.shaper = Some(Known::new(bucket, why));
        let depth = if is_first { self.switch.credit_queue } else { BufferSize::Packets(memory::RETURNED_QUEUE) };
        let limit = in_bytes(depth, rate, packet);
        queue.limit = Some(Known::new(limit, format!("{depth} of {packet}")));
    }

    /// Adds memory, marks, drops and token buckets of a queue for data.
    fn data(&mut self, port: u32, queue: &mut Queue) {
        let (network, switch) = (&self.run.network, self.switch);
        let (rate, frame) = (network.graph.link_of(port).rate, network.full_frame(port));
        let bucket = |(rate, burst): (BitsPerSec, Bytes)| {
            Known::new(Bucket { rate, burst: Some(burst), packet: None }, format!("{rate} with a burst of {burst}"))
        };
        (queue.shaper, queue.policer) = (switch.shaper.map(bucket), switch.policer.map(bucket));
        let is_legacy = queue.role == Role::Legacy;
        if let Some(shared) = switch.shared {
            let [data, legacy] = shared.limits;
            let (alpha, limit) = if is_legacy { (shared.legacy_alpha, legacy) } else { (shared.alpha, data) };
            queue.reserved = Some(Known::new(shared.private, format!("private = {}", shared.private)));
            match limit {
                Some(limit) => queue.limit = Some(Known::new(limit, format!("static = {limit}"))),
                None => queue.alpha = Some(Known::new(alpha, format!("alpha = {alpha}"))),
            }
        } else {
            let mut limit = Limit { bytes: in_bytes(switch.buffer, rate, frame), ..Limit::NONE };
            let mut why = format!("buffer = {}", buffer(switch, rate, frame.get()).1);
            if let (Some((data, legacy)), true) = (switch.weights, self.run.requirements.legacy_queue) {
                let parts = memory::divide(limit, data, legacy);
                limit = if is_legacy { parts.1 } else { parts.0 };
                why = format!("{why}, weights {data} and {legacy}");
            }
            if let BufferSize::Packets(_) = switch.buffer {
                self.refuse("buffer in packets", "bytes of full frames");
            }
            queue.limit = Some(Known::new(limit.bytes, why));
        }
        if let Some(aqm) = &switch.aqm {
            let options = aqm.values().into_iter().filter_map(|(key, value)| Some((key.name.to_owned(), value?)));
            let aqm = Aqm { name: aqm.name().word().to_owned(), options: options.collect() };
            queue.aqm = Some(Known::new(aqm, "aqm of the switch"));
            return;
        }
        let bcc = switch.bcc.filter(|_| switch.mark.is_none());
        let why = bcc.map(|bcc| format!("{rate} × {} × {}: C RTT lambda", bcc.rtt, bcc.lambda));
        queue.mark = switch.marking(rate).map(|rule| self.ramp(&rule, rate, frame, why));
        queue.drop = switch.drop.map(|rule| self.ramp(&rule, rate, frame, None));
    }

    /// Adds the threshold above which a queue drops packets that are not ECN-capable.
    fn selective(&mut self, port: u32, queue: &mut Queue, is_set: bool) {
        let network = &self.run.network;
        let (rate, frame) = (network.graph.link_of(port).rate, network.full_frame(port));
        let (above, packet) = match queue.role {
            Role::Metered => (self.switch.select, METERED),
            _ => (Some(self.switch.unscheduled_above), frame),
        };
        let Some(above) = above.filter(|_| is_set) else { return };
        if let BufferSize::Packets(_) = above {
            self.refuse("selective drop above a number of packets", format!("bytes, packets of {packet}"));
        }
        let step = Ramp { not_ect_dropped: true, ..Ramp::step(in_bytes(above, rate, packet)) };
        let step = Known::new(step, format!("selective drop above {above}: only packets that are not ECN-capable"));
        let place = if queue.mark.is_none() { &mut queue.mark } else { &mut queue.drop };
        if place.is_some() {
            return self.refuse("selective drop beside `mark` and `drop`", "`mark` and `drop` alone");
        }
        *place = Some(step);
    }

    fn ramp(&mut self, rule: &QueueMarking, rate: BitsPerSec, frame: Bytes, why: Option<String>) -> Known<Ramp> {
        let [min, max] = [rule.min, rule.max].map(|it| in_bytes(it, rate, frame));
        if rule.at == MarkAt::Dequeue {
            self.refuse("thresholds compared as packets leave", "the time that the switch has");
        }
        if rule.spacing == Spacing::Count {
            self.refuse("marks spaced by a count", "the spacing that the switch has");
        }
        if [rule.min, rule.max].iter().any(|it| matches!(it, BufferSize::Packets(_))) {
            self.refuse("thresholds in packets", format!("bytes, packets of {frame}"));
        }
        let (probability, weight) = (rule.max_probability, rule.weight);
        let ramp = Ramp { min, max, probability, weight, not_ect_dropped: rule.signals == Signals::MarkOrDrop };
        let ramp_of = format!("from {} on, {probability} at {}", rule.min, rule.max);
        let given = || if min == max { format!("above {}", rule.max) } else { ramp_of };
        Known::new(ramp, why.unwrap_or_else(given))
    }

    /// The pool of the first of these ports.
    fn pool(&mut self, mine: &[u32]) -> Option<Pool> {
        let (run, shared) = (self.run, self.switch.shared?);
        let switches = run.plan.switches(run.scheme);
        let all = pools::pools(switches, &run.network);
        let own: Vec<_> = all.iter().filter(|pool| mine.contains(pool.ports.first().unwrap_or(&u32::MAX))).collect();
        let marks = own.iter().map(|pool| {
            let (rate, thresholds) = (pool.rate(&run.network), pool.thresholds(switches, &run.network));
            let frame = pool.ports.first().map(|&port| run.network.full_frame(port)).unwrap_or_default();
            let why = thresholds.as_ref().map(explained);
            pool.marking(switches, &run.network).map(|rule| self.ramp(&rule, rate, frame, why))
        });
        let marks: Vec<Option<Known<Ramp>>> = marks.collect();
        if marks.windows(2).any(|pair| pair[0] != pair[1]) {
            self.refuse("thresholds of shared memory that differ between pools", "the thresholds of the first pool");
        }
        let chip = self.switch.chip.and_then(chips::find);
        let cell = chip.and_then(|chip| chip.memory.as_ref()?.cell).unwrap_or(shared.cell);
        let same = chip.and_then(chips::Chip::pool) == Some(shared.size);
        if !same {
            self.refuse(format!("shared memory of {}", shared.size), "the memory that the chip has");
        }
        let size = Known::new(shared.size, format!("size = {}", size(shared.size.get())));
        Some(Pool { size, ports: shared.ports, cell, mark: marks.into_iter().next().flatten() })
    }

    /// The queue of each DSCP in use.
    fn dscp(&self, port: u32) -> Vec<Known<(u8, u8)>> {
        let layout = &self.run.layout;
        let has_credits = layout.metered.is_some();
        let number = |index: u8| place(index.into(), layout.queues[usize::from(index)]).0;
        let queue_of = layout.ports[port as usize].queue_of;
        let known = DSCP.iter().filter(|(class, ..)| has_credits || *class == Class::Legacy);
        known.map(|&(class, dscp, why)| Known::new((dscp, number(queue_of[class.index()])), why)).collect()
    }
}

/// Number and role on a real switch of a queue with this index and name in `plan/src/layout.rs`.
fn place(index: usize, name: &str) -> (u8, Role) {
    match name {
        "emulation" => (5, Role::Metered),
        "credit" if index == 0 => (5, Role::Metered),
        "credit" => (4, Role::Returned),
        "legacy" => (2, Role::Legacy),
        "unscheduled" => (0, Role::Unscheduled),
        _ => (1, Role::Data),
    }
}

/// The derivation of BCC's thresholds on one line.
fn explained(thresholds: &Thresholds) -> String {
    let lines: Vec<String> =
        thresholds.lines().into_iter().map(|(what, value, how)| format!("{what} = {value} ({how})")).collect();
    lines.join("; ")
}

/// What hosts need, as comments.
fn hosts(run: &ResolvedRun<'_>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for group in 0..run.plan.groups.len() {
        let more = match &run.plan.transport(run.scheme, group).transport {
            Transport::Tcp(tcp) => {
                let name = tcp.controller.name().to_lowercase().replace("ecn*", "ecn-star");
                let kernel = name.replace("newreno", "reno").replace('-', "_");
                let is_loaded = ["gemini", "ecn-star", "vegas"].contains(&name.as_str());
                let load = is_loaded.then(|| format!("shallop host load {name}"));
                let ecn = if tcp.is_ecn_capable() { " features ecn" } else { "" };
                let route = format!("ip route replace PREFIX via GATEWAY congctl {kernel}{ecn}");
                let sysctl = (!ecn.is_empty()).then(|| "sysctl -w net.ipv4.tcp_ecn=1".to_owned());
                load.into_iter().chain(sysctl).chain([route]).collect()
            }
            Transport::FlashPass(_) => vec!["shallop send and shallop receive, one --wait at all hosts".to_owned()],
            other => vec![format!("{}: no command of shallop", other.describe())],
        };
        lines.extend(more.into_iter().filter(|line| !lines.contains(line)).collect::<Vec<_>>());
    }
    let scheme = &run.plan.schemes[run.scheme];
    if scheme.clean.is_some() {
        let last = format!("shallop edge clean attach DEVICE --config SCENARIO --scheme {}", scheme.name);
        lines.push("where packets enter: shallop edge clean attach DEVICE --role edge".to_owned());
        lines.push(format!("at the last hop: {last}"));
    }
    lines
}
