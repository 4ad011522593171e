//! Reads `show running-config`. Keywords tell blocks apart, not indentation, which people lose when they paste. An
//! unknown line without indentation ends a block.

use super::{ALPHAS, CELL};
use crate::model::{Bucket, Device, Interface, Known, Port, Queue, Ramp, Role, Schedule};
use crate::text::{Imported, NotThis, NotUnderstood, number};
use shallop_core::{BitsPerSec, Bytes};
use std::collections::BTreeMap;

/// The largest threshold in bytes, and the largest rate in bit/s.
const MOST: u64 = 1_000_000_000_000;
/// Size on the wire of credits and emulation packets.
const SMALLEST: u64 = 84;
const NO_CHIP: &str = "shared memory of unknown size: name the chip with --chip";

/// First words of lines that set something of queues, wherever they stand.
const OF_QUEUES: [&str; 7] = ["qos", "priority", "bandwidth", "shape", "random-detect", "egress", "service-profile"];

type Queues = BTreeMap<u8, Queue>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Profile,
    Interface,
    Memory,
}

/// A block with queues.
struct Block {
    kind: Kind,
    line: usize,
    name: String,
    queues: Queues,
    /// Of an interface: its service profile, its rate and its description.
    profile: Option<String>,
    rate: Option<BitsPerSec>,
    far: String,
}

#[derive(Default)]
struct Reader {
    cell: u64,
    blocks: Vec<Block>,
    /// Whether lines belong to the last block, and to which of its queues.
    is_inside: bool,
    queue: Option<u8>,
    applied: Option<String>,
    name: Option<String>,
    dscp: Vec<Known<(u8, u8)>>,
    queue_of_class: BTreeMap<u8, u8>,
    keeps_not_ect: bool,
    pool_mark: Option<Known<Ramp>>,
    rest: Vec<NotUnderstood>,
}

/// Reads a configuration. `known` has the name, the chip and its memory, if they are known.
///
/// # Errors
/// If no line is one of EOS that has to do with ports or queues.
pub fn read(text: &str, known: &Device) -> Result<Imported, NotThis> {
    let cell = known.pool.as_ref().map(|pool| pool.cell.get()).filter(|&cell| cell > 1).unwrap_or(CELL);
    let mut reader = Reader { cell, ..Reader::default() };
    let mut first = None;
    let mut used = 0;
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        if text.trim_start().starts_with('!') {
            reader.is_inside &= !text.starts_with('!');
            continue;
        }
        first = first.or(Some(line));
        let words: Vec<&str> = text.split_whitespace().collect();
        match reader.line(line, &words) {
            Ok(true) => used += usize::from(!matches!(words[0], "hostname" | "exit" | "end")),
            Ok(false) => {
                reader.is_inside &= text.starts_with([' ', '\t']);
                let in_profile = reader.is_inside && reader.blocks.last().is_some_and(|it| it.kind != Kind::Interface);
                let of_queues = in_profile || OF_QUEUES.contains(&words[0]) || words.contains(&"mmu");
                reader.refuse(line, text, "no setting of queues, marks, shapers or shared memory", of_queues);
            }
            Err(reason) => reader.refuse(line, text, &reason, true),
        }
    }
    if used == 0 {
        let reason = "neither this line nor one below is of EOS and has to do with ports or queues".to_owned();
        return Err(NotThis { line: first.unwrap_or(1), reason });
    }
    Ok(reader.finish(known))
}

fn fresh(number: u8) -> Queue {
    Queue::new(number, Role::Other, Known::new(Schedule::Strict, "default of EOS"))
}

/// The queue of this number.
fn entry<'a>(queues: &'a mut Queues, word: &str) -> Result<(u8, &'a mut Queue), String> {
    let number = number(word, 7)? as u8;
    Ok((number, queues.entry(number).or_insert_with(|| fresh(number))))
}

impl Reader {
    fn refuse(&mut self, line: usize, text: &str, reason: &str, of_queues: bool) {
        self.rest.push(NotUnderstood { line, text: text.trim().to_owned(), reason: reason.to_owned(), of_queues });
    }

    /// Lists the line of an origin, `line 12: text`.
    fn refuse_origin(&mut self, why: &str, reason: &str) {
        let (line, text) = why.strip_prefix("line ").and_then(|it| it.split_once(": ")).unwrap_or(("1", why));
        self.refuse(line.parse().unwrap_or(1), text, reason, true);
    }

    /// Takes in a line. False: it has nothing to do with queues. An error says why it has no effect.
    fn line(&mut self, line: usize, words: &[&str]) -> Result<bool, String> {
        let why = format!("line {line}: {}", words.join(" "));
        match *words {
            ["hostname", name] => self.name = Some(name.to_owned()),
            ["qos", "profile", name] => return Ok(self.begin(Kind::Profile, line, name)),
            ["interface", ref name @ ..] if !name.is_empty() => {
                return Ok(self.begin(Kind::Interface, line, &name.join(" ")));
            }
            ["platform", "trident", "mmu", "queue", "profile", name] => {
                return Ok(self.begin(Kind::Memory, line, name));
            }
            ["platform", "trident", "mmu", "queue", "profile", name, "apply"] => self.applied = Some(name.to_owned()),
            ["qos", "random-detect", "ecn", "allow", "non-ect", ..] => self.keeps_not_ect = true,
            ["qos", "random-detect", "ecn", "global-buffer", ref rest @ ..] => {
                self.pool_mark = Some(Known::new(ramp(rest, self.cell)?, why));
            }
            ["qos", "map", "dscp", ref list @ .., "to", "traffic-class", class] => {
                let class = number(class, 7)? as u8;
                for dscp in numbers(list, 63)? {
                    self.dscp.retain(|entry| entry.0 != dscp);
                    self.dscp.push(Known::new((dscp, class), why.clone()));
                }
            }
            ["qos", "map", "traffic-class", ref list @ .., "to", "tx-queue" | "uc-tx-queue", queue] => {
                let queue = number(queue, 7)? as u8;
                self.queue_of_class.extend(numbers(list, 7)?.into_iter().map(|class| (class, queue)));
            }
            ["exit" | "end"] => {}
            _ => return self.in_block(words, why),
        }
        self.is_inside = false;
        Ok(true)
    }

    fn begin(&mut self, kind: Kind, line: usize, name: &str) -> bool {
        let (name, queues, profile, rate, far) = (name.to_owned(), Queues::new(), None, None, String::new());
        self.blocks.push(Block { kind, line, name, queues, profile, rate, far });
        (self.is_inside, self.queue) = (true, None);
        true
    }

    /// A line of a profile, an interface or an mmu queue profile.
    fn in_block(&mut self, words: &[&str], why: String) -> Result<bool, String> {
        let Some(block) = self.blocks.last_mut().filter(|_| self.is_inside) else { return Ok(false) };
        match *words {
            ["egress", "unicast", "queue", queue, "reserved", unit, amount] if block.kind == Kind::Memory => {
                let each = [("cells", self.cell), ("bytes", 1)].into_iter().find(|it| it.0 == unit);
                let each = each.ok_or("the unit is neither cells nor bytes")?.1;
                let size = Bytes::new(number(amount, MOST / each)? * each);
                entry(&mut block.queues, queue)?.1.reserved = Some(Known::new(size, why));
            }
            ["egress", "unicast", "queue", queue, "threshold", word] if block.kind == Kind::Memory => {
                let alpha = ALPHAS.iter().find(|it| it.1 == word).ok_or("thresholds are 1/128, 1/64, .., 8")?;
                entry(&mut block.queues, queue)?.1.alpha = Some(Known::new(f64::from(alpha.0).exp2(), why));
            }
            ["tx-queue" | "uc-tx-queue", queue] if block.kind != Kind::Memory => {
                self.queue = Some(entry(&mut block.queues, queue)?.0);
            }
            ["mc-tx-queue", ..] => {
                self.queue = None;
                return Err("multicast is not simulated".into());
            }
            ["service-profile", name] => block.profile = Some(name.to_owned()),
            ["qos", "trust", "dscp"] => {}
            ["speed", .., word] if block.kind == Kind::Interface => block.rate = Some(speed(word)?),
            ["description", ref rest @ ..] => block.far = rest.join(" "),
            _ => {
                let queue = self.queue.and_then(|at| block.queues.get_mut(&at));
                return queue.map_or(Ok(false), |queue| in_queue(queue, words, why, self.cell));
            }
        }
        Ok(true)
    }

    /// Puts profiles, memory and interfaces together.
    fn finish(mut self, known: &Device) -> Imported {
        let memory = self.memory(known);
        let blocks = std::mem::take(&mut self.blocks);
        let (profiles, rest): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(|it| it.kind == Kind::Profile);
        let mut is_used = vec![false; profiles.len()];
        let mut ports: Vec<Port> = Vec::new();
        for Block { line, name, queues: own, profile, rate, far, .. } in rest {
            let at = profiles.iter().rposition(|it| Some(&it.name) == profile.as_ref());
            if at.is_none() && own.is_empty() {
                let reason = "neither a known service profile nor queues";
                self.refuse(line, &format!("interface {name}"), reason, profile.is_some());
                continue;
            }
            let mut queues = at.map_or_else(Queues::new, |at| profiles[at].queues.clone());
            queues.extend(own);
            if let Some(at) = at {
                is_used[at] = true;
            }
            self.percent(&mut queues, rate);
            let label = at.map_or(&name, |at| &profiles[at].name).clone();
            add(
                &mut ports,
                Port { label, rate, queues: of(queues, &memory), interfaces: vec![Interface { name, far }] },
            );
        }
        for Block { name, mut queues, .. } in profiles.into_iter().zip(is_used).filter(|it| !it.1).map(|it| it.0) {
            self.percent(&mut queues, None);
            add(&mut ports, Port { label: name, queues: of(queues, &memory), ..Port::default() });
        }
        if ports.is_empty() && !memory.is_empty() {
            ports.push(Port { label: "all".into(), queues: of(Queues::new(), &memory), ..Port::default() });
        }
        self.device(known, ports)
    }

    /// Shapers in percent of the rate of a port: their rate.
    fn percent(&mut self, queues: &mut Queues, rate: Option<BitsPerSec>) {
        for queue in queues.values_mut() {
            let Some(shaper) = queue.shaper.take_if(|it| it.why.ends_with(" percent")) else { continue };
            let part = rate.and_then(|rate| BitsPerSec::new(rate.get() / 100 * shaper.rate.get().min(100)));
            match part {
                Some(rate) => queue.shaper = Some(Known::new(Bucket { rate, ..shaper.value }, shaper.why)),
                None => self.refuse_origin(&shaper.why, "percent of a rate that no `speed` of the port gives"),
            }
        }
    }

    /// The queues of the mmu queue profile that is applied.
    fn memory(&mut self, known: &Device) -> Queues {
        let all = std::mem::take(&mut self.blocks);
        let (memories, blocks): (Vec<Block>, Vec<Block>) = all.into_iter().partition(|it| it.kind == Kind::Memory);
        self.blocks = blocks;
        let (mut queues, mut rest) = (Queues::new(), Vec::new());
        for Block { name, queues: own, .. } in memories {
            if self.applied.as_ref() == Some(&name) {
                queues.extend(own);
            } else {
                rest.extend(own.into_values().flat_map(memory_lines).map(|why| (why, "the profile is not applied")));
            }
        }
        for queue in queues.values_mut().filter(|_| known.pool.is_none()) {
            // Memory of its own, and as little of the rest as there can be, is the buffer of a port.
            if queue.alpha.take_if(|alpha| alpha.value <= 1.0 / 128.0).is_some() {
                queue.limit = queue.reserved.take();
            }
            rest.extend(memory_lines(queue.clone()).into_iter().map(|why| (why, NO_CHIP)));
            (queue.reserved, queue.alpha) = (None, None);
        }
        for (why, reason) in rest {
            self.refuse_origin(&why, reason);
        }
        queues
    }

    fn device(mut self, known: &Device, ports: Vec<Port>) -> Imported {
        let name = if known.name.is_empty() { self.name.take().unwrap_or_default() } else { known.name.clone() };
        let mut device = Device { name, ports, dscp: std::mem::take(&mut self.dscp), ..known.clone() };
        let classes = self.queue_of_class.clone();
        let queue_of = |class: u8| classes.get(&class).copied().unwrap_or(class);
        device.dscp.iter_mut().for_each(|entry| entry.value.1 = queue_of(entry.value.1));
        match (&mut device.pool, self.pool_mark.take()) {
            (Some(pool), mark) => {
                let why = |why: String| format!("{why}; the probability is assumed");
                pool.mark = mark.map(|mark| Known { why: why(mark.why), ..mark });
            }
            (None, Some(mark)) => self.refuse_origin(&mark.why, NO_CHIP),
            (None, None) => {}
        }
        // The default map: traffic class 1 for best effort, 0 for CS1, otherwise the class selector.
        let roles = device.find_roles(|dscp| queue_of([1, 0, 2, 3, 4, 5, 6, 7][usize::from(dscp / 8 % 8)]));
        let drops = !self.keeps_not_ect;
        device.pool.iter_mut().filter_map(|pool| pool.mark.as_mut()).for_each(|it| it.value.not_ect_dropped = drops);
        for queue in device.ports.iter_mut().flat_map(|port| &mut port.queues) {
            settle(queue, self.cell);
            // `random-detect drop` decides about packets that are not ECN-capable; without it the ECN thresholds do.
            let drops = drops && queue.drop.is_none();
            queue.mark.iter_mut().for_each(|it| it.value.not_ect_dropped = drops);
        }
        self.rest.sort_by_key(|it| it.line);
        self.rest.dedup();
        Imported { device, roles, not_understood: self.rest }
    }
}

/// The lines of the memory of a queue.
fn memory_lines(queue: Queue) -> Vec<String> {
    let whys = [queue.reserved.map(|it| it.why), queue.alpha.map(|it| it.why)];
    whys.into_iter().flatten().collect()
}

/// A line of a queue.
fn in_queue(queue: &mut Queue, words: &[&str], why: String, cell: u64) -> Result<bool, String> {
    match *words {
        ["priority", "strict"] => queue.schedule = Known::new(Schedule::Strict, why),
        ["no", "priority"] => {
            queue.schedule = Known::new(Schedule::Weight(queue.weight().unwrap_or(1)), why);
        }
        ["bandwidth", "percent", _] if queue.schedule.why.contains("priority strict") => {
            return Err("no effect beside `priority strict`".into());
        }
        ["bandwidth", "percent", percent] => {
            let why = if queue.weight().is_some() { format!("{}; {why}", queue.schedule.why) } else { why };
            queue.schedule = Known::new(Schedule::Weight(number(percent, 100)?.max(1) as u32), why);
        }
        ["shape", "rate", amount, ref unit @ ..] => {
            let each = match *unit {
                [] | ["kbps"] => 1000,
                ["pps"] => SMALLEST * 8,
                // Of the rate of the port, which `percent` puts in.
                ["percent"] => 1,
                _ => return Err("the unit of the rate is none of kbps, pps and percent".into()),
            };
            let rate = BitsPerSec::new(number(amount, MOST * 10 / each)? * each).ok_or("a rate of zero")?;
            queue.shaper = Some(Known::new(Bucket { rate, burst: None, packet: None }, why));
        }
        ["random-detect", "ecn", "count"] => return Err("a counter".into()),
        ["random-detect", "ecn", ref rest @ ..] => queue.mark = Some(Known::new(ramp(rest, cell)?, why)),
        ["random-detect", "drop", ref rest @ ..] => queue.drop = Some(Known::new(ramp(rest, cell)?, why)),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Thresholds, probability and weight.
fn ramp(mut words: &[&str], cell: u64) -> Result<Ramp, String> {
    let (mut min, mut max, mut ramp) = (None, None, Ramp::step(Bytes::ZERO));
    while let [word, value, rest @ ..] = words {
        words = rest;
        match (*word, rest) {
            ("minimum-threshold" | "maximum-threshold", [unit, rest @ ..]) => {
                let units = [("segments", cell), ("bytes", 1), ("kbytes", 1000), ("mbytes", 1_000_000)];
                let each = units
                    .into_iter()
                    .find(|it| it.0 == *unit)
                    .ok_or("thresholds are read in bytes or segments only")?
                    .1;
                let size = Some(Bytes::new(number(value, MOST / each)? * each));
                *(if word.starts_with("min") { &mut min } else { &mut max }) = size;
                words = rest;
            }
            ("max-mark-probability" | "drop-probability", _) => {
                ramp.probability = number(value, 100)?.max(1) as f64 / 100.0;
            }
            ("weight", _) => ramp.weight = number(value, 15)? as u32,
            ("drop-precedence", _) if *value == "0" => {}
            _ => return Err(format!("`{word} {value}` is not understood here")),
        }
    }
    let (Some(min), Some(max)) = (min, max) else { return Err("a threshold is missing".into()) };
    if !words.is_empty() || min > max || min == Bytes::ZERO {
        return Err("not two thresholds above zero in ascending order".into());
    }
    Ok(Ramp { min, max, ..ramp })
}

/// Adds a port to the ports with equal settings, or as a new kind.
fn add(ports: &mut Vec<Port>, mut port: Port) {
    port.label = port.label.replace("shallop-", "");
    match ports.iter_mut().find(|kind| kind.rate == port.rate && kind.queues == port.queues) {
        Some(kind) => kind.interfaces.append(&mut port.interfaces),
        None => ports.push(port),
    }
}

/// The queues of a port, with their memory, and with percents as the smallest weights of equal ratio.
fn of(mut queues: Queues, memory: &Queues) -> Vec<Queue> {
    for (&number, memory) in memory {
        let queue = queues.entry(number).or_insert_with(|| fresh(number));
        let Queue { reserved, alpha, limit, .. } = memory.clone();
        (queue.reserved, queue.alpha, queue.limit) = (reserved, alpha, limit);
    }
    let divisor = queues.values().filter_map(Queue::weight).fold(0, gcd).max(1);
    for queue in queues.values_mut() {
        if let Schedule::Weight(weight) = &mut queue.schedule.value {
            *weight /= divisor;
        }
    }
    queues.into_values().collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Settles what depends on the role of a queue: drops above a step are the limit of a queue of credits.
fn settle(queue: &mut Queue, cell: u64) {
    if matches!(queue.role, Role::Metered | Role::Returned) {
        queue.shaper.iter_mut().for_each(|shaper| shaper.value.packet = Some(Bytes::new(SMALLEST)));
        let step = queue.drop.take_if(|drop| drop.is_step()).map(|drop| Known::new(drop.max, drop.why));
        let depth = step.or(queue.reserved.take()).or(queue.limit.take());
        let packets = |bytes: Bytes| Bytes::new(bytes.get() / SMALLEST.div_ceil(cell) / cell * SMALLEST);
        queue.limit = depth.map(|it| Known::new(packets(it.value), it.why)).filter(|it| it.value > Bytes::ZERO);
        (queue.reserved, queue.alpha) = (None, None);
    }
}

/// Numbers up to `most`: several words, lists with commas, ranges.
fn numbers(words: &[&str], most: u64) -> Result<Vec<u8>, String> {
    let mut found = Vec::new();
    for part in words.iter().flat_map(|word| word.split(',')).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        found.extend(number(from, most)? as u8..=number(to, most)? as u8);
    }
    if found.is_empty() { Err("a number is missing".into()) } else { Ok(found) }
}

/// The rate in a word such as `100g-4`, `25gfull` or `10000full`.
fn speed(word: &str) -> Result<BitsPerSec, String> {
    let end = word.find(|it: char| !it.is_ascii_digit()).unwrap_or(word.len());
    let each = if word[end..].starts_with(['g', 'G']) { 1_000_000_000 } else { 1_000_000 };
    BitsPerSec::new(number(&word[..end], MOST * 10 / each)? * each).ok_or_else(|| "a rate of zero".into())
}
