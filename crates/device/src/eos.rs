//! Arista EOS: a qos profile for each kind of port, an mmu queue profile for the chip, and global maps. The texts are
//! templates (`eos/*.j2`); here is what EOS can express of each value.
//!
//! | setting | line |
//! |---|---|
//! | ECN of a queue | `random-detect ecn minimum-threshold ..`, weight 0 for the present length |
//! | ECN of shared memory | `qos random-detect ecn global-buffer ..`, which has no probability |
//! | packets that are not ECN-capable | dropped above the ECN thresholds, in all queues or (`allow non-ect`) in none |
//! | credits, emulation packets | `priority strict`, `shape rate N kbps`; `random-detect drop` caps the queue |
//! | private memory, alpha | `egress unicast queue N reserved cells ..`, `.. threshold 1/8`, for all ports alike |

mod read;

pub use read::read;

use crate::model::{Device, Known, Port, Queue, Ramp};
use crate::text::Written;
use minijinja::Environment;
use serde_json::{Value, json};
use shallop_core::Bytes;
use std::collections::BTreeMap;

/// The values of `threshold` of an mmu queue profile, as powers of two.
const ALPHAS: [(i32, &str); 11] = [
    (-7, "1/128"),
    (-6, "1/64"),
    (-5, "1/32"),
    (-4, "1/16"),
    (-3, "1/8"),
    (-2, "1/4"),
    (-1, "1/2"),
    (0, "1"),
    (1, "2"),
    (2, "4"),
    (3, "8"),
];
/// Size of a memory cell (`segments`) in bytes, for chips whose cell size is not known: Trident and Tomahawk have it.
const CELL: u64 = 208;
const LEAST: &str = "the least share of free memory that there is";

/// The configuration as `show running-config` prints it.
pub fn write(device: &Device) -> Written {
    render(device, include_str!("eos/config.j2"))
}

/// The configuration as the data (YAML) from which pyavd makes it.
pub fn structured(device: &Device) -> Written {
    render(device, include_str!("eos/structured.j2"))
}

fn render(device: &Device, template: &str) -> Written {
    let mut out = Written::default();
    let values = values(device, &mut out);
    let text = Environment::new().render_str(template, values);
    // The templates are part of the program.
    out.text = text.unwrap_or_else(|why| format!("! {why:#}\n"));
    out
}

/// The values of a device as EOS can express them. What it cannot goes to the notes.
fn values(device: &Device, out: &mut Written) -> Value {
    let port = |port: &Port, out: &mut Written| {
        let queues: Vec<Value> = port.queues.iter().map(|it| queue(port, it, device, out)).collect();
        let interfaces: Vec<Value> =
            port.interfaces.iter().map(|it| json!({ "name": it.name, "far": it.far })).collect();
        json!({ "label": port.label, "interfaces": interfaces, "queues": queues })
    };
    let ports: Vec<Value> = device.ports.iter().map(|it| port(it, out)).collect();
    let queues = || device.ports.iter().flat_map(|port| &port.queues);
    let pool = device.pool.as_ref().and_then(|pool| pool.mark.as_ref());
    let own = queues()
        .filter(|queue| queue.packet().is_none() && queue.drop.is_none())
        .filter_map(|queue| queue.mark.as_ref());
    let marks: Vec<bool> = own.chain(pool).map(|mark| mark.not_ect_dropped).collect();
    if marks.contains(&true) && marks.contains(&false) {
        out.refuse("packets that are not ECN-capable dropped above some ECN thresholds only", "all queues drop them");
    }
    let mut classes: Vec<u8> = device.dscp.iter().map(|entry| entry.1).collect();
    classes.sort_unstable();
    classes.dedup();
    let dscp = |entry: &Known<(u8, u8)>| json!({ "dscp": entry.0, "queue": entry.1, "why": entry.why });
    json!({
        "name": device.name,
        "chip": device.chip,
        "hosts": device.hosts,
        "memory": memory(device, out),
        "ports": ports,
        "keep": marks.contains(&false) && !marks.contains(&true),
        "pool": pool.map(|mark| global_buffer(mark, out)),
        "dscp": device.dscp.iter().map(dscp).collect::<Vec<_>>(),
        "classes": classes,
    })
}

fn global_buffer(mark: &Known<Ramp>, out: &mut Written) -> Value {
    let [min, max] = [mark.min.get().max(1), mark.max.get().max(1)];
    let (unit, step) = if min % 1000 == 0 && max % 1000 == 0 { ("kbytes", 1000) } else { ("bytes", 1) };
    if mark.probability < 1.0 || mark.weight > 0 {
        let what = format!("probability {} and weight {} of shared memory's ECN", mark.probability, mark.weight);
        out.refuse(what, "the switch has its own");
    }
    json!({ "unit": unit, "min": min / step, "max": max / step, "why": mark.why })
}

/// The memory of queues by their numbers, for all ports alike.
fn memory(device: &Device, out: &mut Written) -> Vec<Value> {
    let mut queues: BTreeMap<u8, (Option<u64>, Value)> = BTreeMap::new();
    for queue in device.ports.iter().flat_map(|port| &port.queues) {
        let (cells, cells_why) = cells(queue, device, out).unzip();
        let (alpha, alpha_why) = alpha(queue, device, out).unzip();
        if cells.is_none() && alpha.is_none() {
            continue;
        }
        let value = json!({
            "number": queue.number, "cells": cells, "cells_why": cells_why, "alpha": alpha, "alpha_why": alpha_why,
        });
        let entry = queues.entry(queue.number).or_insert_with(|| (cells, value.clone()));
        if entry.0 != cells || entry.1["alpha"] != value["alpha"] {
            let what = format!("memory of queue {} that differs between ports", queue.number);
            out.refuse(what, "what most private memory goes with, at all ports");
            if entry.0 < cells {
                *entry = (cells, value);
            }
        }
    }
    queues.into_values().map(|(_, value)| value).collect()
}

/// The private memory of a queue, in cells of the chip, and its derivation.
fn cells(queue: &Queue, device: &Device, out: &mut Written) -> Option<(u64, String)> {
    let cell = cell(device);
    let what = |what: &str| format!("queue {} ({}), {what}", queue.number, queue.role.name());
    let why = |why: &str| format!("{why}, cells of {cell} B");
    match (&queue.limit, queue.packet(), &queue.reserved) {
        (Some(limit), Some(packet), _) => {
            Some((limit.get() / packet.get() * packet.get().div_ceil(cell), why(&limit.why)))
        }
        (_, None, Some(own)) => {
            let cells = (own.get() + cell / 2) / cell;
            out.rounded(what("private memory"), own.get() as f64, (cells * cell) as f64, " B");
            Some((cells, why(&own.why)))
        }
        (Some(limit), None, None) if device.pool.is_none() => {
            let cells = ((limit.get() + cell / 2) / cell).max(1);
            out.rounded(what("buffer"), limit.get() as f64, (cells * cell) as f64, " B");
            let nearest = format!("{cells} cells of its own, and {} of the free shared memory", ALPHAS[0].1);
            out.refuse(what(&format!("a buffer of {} that is all it can have", limit.value)), nearest);
            Some((cells, why(&limit.why)))
        }
        _ => None,
    }
}

/// The share of free shared memory that a queue may take, and its derivation.
fn alpha(queue: &Queue, device: &Device, out: &mut Written) -> Option<(&'static str, String)> {
    let what = |what: &str| format!("queue {} ({}), {what}", queue.number, queue.role.name());
    let nearest = |alpha: f64| ALPHAS[(alpha.log2().round().clamp(-7.0, 3.0) + 7.0) as usize];
    match (&queue.alpha, &queue.limit, &device.pool) {
        (_, Some(limit), Some(pool)) if queue.packet().is_none() => {
            let share = limit.ratio(pool.size.value).min(0.99);
            let (_, word) = nearest(share / (1.0 - share));
            out.refuse(what(&format!("a fixed limit of {} in shared memory", limit.value)), format!("alpha {word}"));
            Some((word, format!("alone, it may hold {}", limit.why)))
        }
        (_, Some(_), _) => Some((ALPHAS[0].1, LEAST.to_owned())),
        (Some(alpha), None, _) => {
            let (power, word) = nearest(alpha.value);
            out.rounded(what("alpha"), alpha.value, f64::from(power).exp2(), "");
            Some((word, alpha.why.clone()))
        }
        (None, None, _) => None,
    }
}

/// A queue of a qos profile: its order of service, its shaper, its ECN and its drops.
fn queue(port: &Port, queue: &Queue, device: &Device, out: &mut Written) -> Value {
    let what = |what: &str| format!("queue {} ({}) at {}, {what}", queue.number, queue.role.name(), port.label);
    let (weight, weights): (_, Vec<u32>) = (queue.weight(), port.queues.iter().filter_map(Queue::weight).collect());
    let sum: u32 = weights.iter().sum();
    let percent = weight.filter(|_| weights.len() > 1).map(|weight| {
        let exact = f64::from(weight) * 100.0 / f64::from(sum);
        out.rounded(what("part of the rate"), exact, exact.round().clamp(1.0, 99.0), " %") as u32
    });
    let kbps = queue.shaper.as_ref().map(|shaper| {
        let kbps = (shaper.rate.get() / 1000).max(1);
        out.rounded(what("shape rate"), shaper.rate.get() as f64, kbps as f64 * 1e3, " b/s");
        if let Some(burst) = shaper.burst {
            out.refuse(what(&format!("burst of {burst}")), "the burst of the chip");
        }
        kbps
    });
    if let Some(aqm) = &queue.aqm {
        out.refuse(what(&aqm.name), "drops only when the queue has no room");
    }
    if let Some(policer) = &queue.policer {
        out.refuse(what(&format!("policer of {}", policer.rate)), "`shape rate`, which delays");
    }
    let mut ramp = |kind: &str, ramp: &Ramp, unit: &str, why: &str| {
        let percent = (ramp.probability * 100.0).round().clamp(1.0, 100.0);
        out.rounded(what(&format!("probability of {kind}")), ramp.probability * 100.0, percent, " %");
        let (min, max, percent) = (ramp.min.get().max(1), ramp.max.get().max(1), percent as u32);
        json!({ "min": min, "max": max, "unit": unit, "percent": percent, "weight": ramp.weight, "why": why })
    };
    let cap = queue.limit.as_ref().zip(queue.packet()).map(|(limit, packet)| {
        let cells = limit.get() / packet.get() * packet.get().div_ceil(cell(device));
        ramp("drop", &Ramp::step(Bytes::new(cells)), "segments", &limit.why)
    });
    let ecn = queue.mark.as_ref().filter(|_| cap.is_none()).map(|it| ramp("ecn", it, "bytes", &it.why));
    let drop = cap.clone().or_else(|| queue.drop.as_ref().map(|it| ramp("drop", it, "bytes", &it.why)));
    if cap.is_some() && queue.mark.is_some() {
        out.refuse(what("selective drop"), "drops that limit the length of the queue leave no other threshold");
    }
    json!({
        "number": queue.number,
        "role": queue.role.name(),
        "why": queue.schedule.why,
        "priority": if weight.is_some() { "no priority" } else { "priority strict" },
        "weight": weight,
        "weights": sum,
        "percent": percent,
        "kbps": kbps,
        "pps": queue.shaper.as_ref().and_then(|it| it.packets_per_second()).map(|pps| pps.round() as u64),
        "shape_why": queue.shaper.as_ref().map(|it| &it.why),
        "ecn": ecn,
        "drop": drop,
    })
}

fn cell(device: &Device) -> u64 {
    device.pool.as_ref().map(|pool| pool.cell.get()).filter(|&cell| cell > 1).unwrap_or(CELL)
}
