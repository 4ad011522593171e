//! Writing: the values of a device as a system expresses them, and the templates that show them.

use super::{CREDIT, stored};
use crate::Os;
use crate::model::{Device, Known, Port, Queue};
use crate::text::Written;
use minijinja::Environment;
use serde_json::{Map, Value, json};
use shallop_core::Bytes;
use std::collections::BTreeMap;

/// Rates of links in Mbit/s that NVUE has names for.
const SPEEDS: [u64; 11] = [10, 100, 1_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000];

/// The configuration of a device. JSON has no comments: derivations are notes.
pub fn write(os: Os, device: &Device) -> Written {
    let mut out = Written::default();
    let sonic = os == Os::Sonic;
    let mut ports: Vec<Value> = device.ports.iter().map(|port| values(sonic, port, device, &mut out)).collect();
    // NVUE sets the memory of queues for all ports alike.
    let mut memory: BTreeMap<u64, Value> = BTreeMap::new();
    for queue in ports.iter_mut().filter_map(|port| port["queues"].as_array_mut()).flatten() {
        let first = memory.entry(queue["number"].as_u64().unwrap_or(0)).or_insert_with(|| queue.clone());
        if !sonic && ["limit", "alpha", "reserved"].iter().any(|it| first["memory"][it] != queue["memory"][it]) {
            let what = format!("{}: memory unlike other ports", queue["name"].as_str().unwrap_or_default());
            out.refuse(what, "memory as of the first port");
        }
    }
    let fixed = |port: &Value| {
        let sum = |queue: &Value| Some(queue["memory"]["limit"].as_u64()? + queue["memory"]["reserved"].as_u64()?);
        let sum: u64 = port["queues"].as_array().into_iter().flatten().filter_map(sum).sum();
        sum * port["interfaces"].as_array().map_or(0, Vec::len) as u64
    };
    let fixed: u64 = ports.iter().map(fixed).sum();
    if let Some(pool) = &device.pool {
        if pool.mark.is_some() {
            out.refuse("ECN marks by the occupancy of shared memory", "a threshold for each queue: C x RTT x lambda");
        }
        if let Some(ports) = pool.ports {
            out.refuse(format!("shared memory of {ports} ports each"), "the chip divides its memory by itself");
        }
    }
    if !sonic && (device.pool.is_some() || fixed > 0) {
        out.refuse("sizes of pools", "memory-percent of egress-service-pool, by the memory of the chip");
    }
    let dscp = |entry: &Known<(u8, u8)>| json!({ "dscp": entry.0, "queue": entry.1, "why": clean(&entry.why) });
    let is_name =
        !device.name.is_empty() && device.name.chars().all(|it| it.is_ascii_alphanumeric() || "-.".contains(it));
    let values = json!({
        "name": is_name.then_some(&device.name),
        "title": clean(&device.name),
        "hosts": device.hosts.iter().map(|host| clean(host)).collect::<Vec<_>>(),
        "ports": ports,
        "memory": memory.into_values().filter(|queue| !queue["memory"].is_null()).collect::<Vec<_>>(),
        "fixed": fixed,
        "pool": device.pool.as_ref().map(|pool| json!({ "size": pool.size.get(), "why": clean(&pool.size.why) })),
        "dscp": device.dscp.iter().map(dscp).collect::<Vec<_>>(),
    });
    let template = if sonic { include_str!("sonic.j2") } else { include_str!("nvue.j2") };
    // The templates are part of the program.
    let text = Environment::new().render_str(template, values).unwrap_or_else(|error| format!("# {error:#}"));
    out.text = if sonic { tables(&text, &mut out) } else { format!("{text}\n") };
    if sonic {
        device.hosts.iter().for_each(|host| out.derived("hosts", host));
    }
    out
}

/// JSON of lines `TABLE|key|field=value`, whose derivations become notes.
fn tables(text: &str, out: &mut Written) -> String {
    let mut root: Map<String, Value> = Map::new();
    for line in text.lines() {
        let (setting, why) = line.split_once('\t').unwrap_or((line, ""));
        let Some((path, value)) = setting.split_once('=') else { continue };
        let Some((table, (key, field))) =
            path.split_once('|').and_then(|(table, rest)| Some((table, rest.rsplit_once('|')?)))
        else {
            continue;
        };
        root.entry(table).or_insert_with(|| json!({}))[key][field] = value.into();
        out.derived(path, why);
    }
    let rows = |rows: &Value| {
        let each = rows.as_object().into_iter().flatten().map(|(key, row)| format!("    {}: {row}", json!(key)));
        each.collect::<Vec<_>>().join(",\n")
    };
    let tables: Vec<String> = root.iter().map(|(name, it)| format!("  \"{name}\": {{\n{}\n  }}", rows(it))).collect();
    format!("{{\n{}\n}}\n", tables.join(",\n"))
}

/// A derivation on one line.
fn clean(why: &str) -> String {
    why.replace(['\n', '\r', '\t'], " ")
}

fn values(sonic: bool, port: &Port, device: &Device, out: &mut Written) -> Value {
    let label = port.label.replace('.', "-");
    let mbps = port.rate.map(|rate| rate.get() / 1_000_000);
    let speed = mbps
        .filter(|it| SPEEDS.contains(it))
        .map(|it| if it < 1000 { format!("{it}M") } else { format!("{}G", it / 1000) });
    if let Some(rate) = port.rate.filter(|_| speed.is_none() && !sonic) {
        out.refuse(format!("{label}: links of {rate}"), "the speed that ports negotiate");
    }
    let weights = weights(sonic, port, &label, out);
    let queues = port.queues.iter().zip(weights).map(|(queue, weight)| {
        let name = format!("{label}_q{}", queue.number);
        let curve = queue.mark.as_ref().or(queue.drop.as_ref());
        json!({
            "number": queue.number,
            "why": clean(&queue.schedule.why),
            "weight": weight,
            "marks": queue.mark.is_some(),
            "drops": queue.drop.is_some() || curve.is_some_and(|ramp| ramp.not_ect_dropped),
            "curve": self::curve(queue, &name, out),
            "memory": memory(sonic, queue, device, &name, out),
            "shaper": shaper(sonic, queue, &name, out),
            "name": name,
        })
    });
    json!({
        "label": label,
        "interfaces": port.interfaces.iter().map(|interface| &interface.name).collect::<Vec<_>>(),
        "mbps": mbps,
        "speed": speed,
        "shaped": port.queues.iter().any(|queue| queue.shaper.is_some()),
        "queues": queues.collect::<Vec<_>>(),
    })
}

/// Weights from 1 to 100, whose sum NVUE has at 100. None for strict priority.
fn weights(sonic: bool, port: &Port, label: &str, out: &mut Written) -> Vec<Option<u32>> {
    let sum = port.queues.iter().filter_map(Queue::weight).map(f64::from).sum::<f64>().max(1.0);
    let scale = if sonic { 1.0 } else { 100.0 / sum };
    let share = |queue: &Queue| Some((f64::from(queue.weight()?) * scale).round().clamp(1.0, 100.0) as u32);
    let mut shares: Vec<Option<u32>> = port.queues.iter().map(share).collect();
    let total: u32 = shares.iter().flatten().sum();
    if let Some(largest) = shares.iter_mut().flatten().max().filter(|_| !sonic) {
        *largest = (*largest + 100).saturating_sub(total).max(1);
    }
    for (queue, share) in port.queues.iter().zip(&shares) {
        if let (Some(weight), Some(share)) = (queue.weight(), share) {
            out.rounded(format!("{label}_q{}: weight", queue.number), f64::from(weight) * scale, (*share).into(), "");
        }
    }
    shares
}

fn shaper(sonic: bool, queue: &Queue, name: &str, out: &mut Written) -> Option<Value> {
    if queue.policer.is_some() {
        out.refuse(format!("{name}: policer"), "a shaper with a short queue");
    }
    let shaper = queue.shaper.as_ref()?;
    let by_packets = sonic && shaper.packet.is_some_and(|size| size.get() == CREDIT);
    if let Some(size) = shaper.packet.filter(|_| !by_packets) {
        let nearest = "by bytes on the wire; a chip that leaves out preamble and gap needs 20 B less for each packet";
        out.refuse(format!("{name}: shaper by packets of {size}"), nearest);
    }
    let size = if by_packets { CREDIT } else { 1 };
    let step = if sonic { size * 8 } else { 1000 };
    // Rounded down, since a metered queue leaves the rest of a link to data.
    let rate = (shaper.rate.get() / step).max(1);
    out.rounded(format!("{name}: rate"), shaper.rate.get() as f64, (rate * step) as f64, " bit/s");
    if let Some(burst) = shaper.burst.filter(|_| !sonic) {
        out.refuse(format!("{name}: burst of {burst}"), "the burst of the chip");
    }
    let burst = shaper.burst.filter(|_| sonic).map(|burst| {
        let whole = ((burst.get() + size / 2) / size).clamp(1, u32::MAX.into());
        out.rounded(format!("{name}: burst"), burst.get() as f64, (whole * size) as f64, " B");
        whole
    });
    let meter = if by_packets { "packets" } else { "bytes" };
    Some(json!({ "meter": meter, "rate": rate, "burst": burst, "why": clean(&shaper.why) }))
}

/// Marks and drops of a queue have one curve, of the present length.
fn curve(queue: &Queue, name: &str, out: &mut Written) -> Option<Value> {
    if let Some(aqm) = &queue.aqm {
        out.refuse(format!("{name}: {}", aqm.name), "marks or drops by the present length");
    }
    if queue
        .mark
        .as_ref()
        .zip(queue.drop.as_ref())
        .is_some_and(|(mark, drop)| (mark.min, mark.max) != (drop.min, drop.max))
    {
        out.refuse(format!("{name}: drops on another curve than marks"), "drops on the curve of marks");
    }
    let ramp = queue.mark.as_ref().or(queue.drop.as_ref())?;
    if ramp.weight != 0 {
        out.refuse(format!("{name}: average queue length"), "the present length");
    }
    let percent = (ramp.probability * 100.0).round().clamp(1.0, 100.0);
    out.rounded(format!("{name}: probability"), ramp.probability * 100.0, percent, " %");
    let max = ramp.max.max(ramp.min).get();
    Some(json!({ "min": ramp.min.get(), "max": max, "percent": percent as u32, "why": clean(&ramp.why) }))
}

/// A fixed limit in whole cells, or a power of two as alpha.
fn memory(sonic: bool, queue: &Queue, device: &Device, name: &str, out: &mut Written) -> Option<Value> {
    let reserved = queue.reserved.as_ref().map_or(0, |it| it.get());
    let cell = device.pool.as_ref().map_or(1, |pool| pool.cell.get().max(1));
    if let Some(limit) = &queue.limit {
        let bytes = match queue.packet().filter(|_| cell > 1).map(Bytes::get) {
            Some(size) => (limit.get() / size.max(1)).max(1).saturating_mul(stored(size, cell)),
            None => limit.get().div_ceil(cell).saturating_mul(cell),
        };
        out.rounded(format!("{name}: limit"), limit.get() as f64, bytes as f64, " B");
        if queue.alpha.is_some() {
            out.refuse(format!("{name}: alpha beside a fixed limit"), "the fixed limit");
        }
        return Some(json!({ "reserved": reserved, "limit": bytes, "why": clean(&limit.why) }));
    }
    if queue.alpha.is_none() && reserved > 0 {
        out.refuse(format!("{name}: private memory without a share of the pool"), "alpha 8");
    }
    let alpha = queue.alpha.clone().or((reserved > 0).then(|| Known::new(8.0, "")))?;
    let exponent = alpha.log2().round().clamp(-7.0, if sonic { 3.0 } else { 6.0 });
    out.rounded(format!("{name}: alpha"), alpha.value, exponent.exp2(), "");
    let word =
        if exponent < 0.0 { format!("alpha_1_{}", (-exponent).exp2()) } else { format!("alpha_{}", exponent.exp2()) };
    Some(json!({ "reserved": reserved, "exponent": exponent as i32, "alpha": word, "why": clean(&alpha.why) }))
}
