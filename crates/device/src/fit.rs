//! A device rounded to what a system expresses, with notes on the differences.

use crate::model::{Device, Known, Port, Queue, Schedule};
use crate::system::{CREDIT, System};
use crate::text::Written;
use shallop_core::{BitsPerSec, Bytes};
use std::collections::BTreeMap;

/// The device as the system expresses it.
pub fn fit(system: &System, device: &Device, out: &mut Written) -> Device {
    let mut fitted = device.clone();
    let cell = device.pool.as_ref().map_or(1, |pool| pool.cell.get().max(1));
    for (at, port) in fitted.ports.iter_mut().enumerate() {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if port.label.is_empty() || port.label.len() > 24 || !port.label.chars().all(fits) {
            port.label = format!("port{at}");
        }
        weights(system, &mut port.queues, &port.label, out);
        for queue in &mut port.queues {
            let name = format!("{}_q{}", port.label, queue.number);
            memory(system, queue, &name, cell, out);
            shaper(system, queue, &name, out);
            curve(queue, &name, out);
        }
    }
    if !system.of_queues {
        alike(&mut fitted.ports, out);
    }
    if let Some(pool) = &mut fitted.pool {
        pool.cell = Bytes::new(1);
        if pool.mark.take().is_some() {
            out.refuse("ECN marks by the occupancy of shared memory", "a threshold for each queue: C x RTT x lambda");
        }
        if let Some(ports) = pool.ports.take() {
            out.refuse(format!("shared memory of {ports} ports each"), "the chip divides its memory by itself");
        }
    }
    fitted
}

/// Memory of queues is set for all ports alike: as of the first port that has the queue.
fn alike(ports: &mut [Port], out: &mut Written) {
    let mut first = BTreeMap::new();
    for port in ports {
        for queue in &mut port.queues {
            let memory = (queue.limit.clone(), queue.alpha.clone(), queue.reserved.clone());
            let common = first.entry(queue.number).or_insert_with(|| memory.clone()).clone();
            if memory != common {
                out.refuse(
                    format!("{}_q{}: memory unlike other ports", port.label, queue.number),
                    "memory as of the first port",
                );
                (queue.limit, queue.alpha, queue.reserved) = common;
            }
        }
    }
}

/// Weights from 1 to 100; their sum is 100 if profiles are of ports.
fn weights(system: &System, queues: &mut [Queue], label: &str, out: &mut Written) {
    let sum = queues.iter().filter_map(Queue::weight).map(f64::from).sum::<f64>().max(1.0);
    let scale = if system.of_queues { 1.0 } else { 100.0 / sum };
    let share = |weight: u32| (f64::from(weight) * scale).round().clamp(1.0, 100.0) as u32;
    let total: u32 = queues.iter().filter_map(Queue::weight).map(share).sum();
    let largest = queues.iter().filter_map(Queue::weight).map(share).max().unwrap_or(1);
    let mut left = Some((largest + 100).saturating_sub(total).max(1)).filter(|_| !system.of_queues);
    for queue in queues {
        let Schedule::Weight(weight) = &mut queue.schedule.value else { continue };
        let asked = f64::from(*weight) * scale;
        *weight = share(*weight);
        if *weight == largest {
            *weight = left.take().unwrap_or(*weight);
        }
        out.rounded(format!("{label}_q{}: weight", queue.number), asked, f64::from(*weight), "");
    }
}

fn shaper(system: &System, queue: &mut Queue, name: &str, out: &mut Written) {
    if queue.policer.take().is_some() {
        out.refuse(format!("{name}: policer"), "a shaper with a short queue");
    }
    let Some(shaper) = queue.shaper.as_mut().map(|known| &mut known.value) else { return };
    if let Some(size) = shaper.packet.filter(|size| !system.of_queues || size.get() != CREDIT) {
        let nearest =
            "by bytes on the wire; a chip that counts frames without preamble and gap needs 20 B less a packet";
        out.refuse(format!("{name}: shaper by packets of {size}"), nearest);
        shaper.packet = None;
    }
    let size = shaper.packet.map_or(1, Bytes::get);
    let step = if size > 1 { size * 8 } else { system.step };
    let asked = shaper.rate.get();
    // Rounded down, since metered queues leave the rest of a link to data.
    let rate = (asked / step).max(1) * step;
    out.rounded(format!("{name}: rate"), asked as f64, rate as f64, "bit/s");
    shaper.rate = BitsPerSec::at_least_one(rate);
    if let Some(burst) = shaper.burst.filter(|_| !system.bursts) {
        out.refuse(format!("{name}: burst of {burst}"), "the burst of the chip");
        shaper.burst = None;
    }
    shaper.burst = shaper.burst.map(|burst| {
        let packets = (burst.get() as f64 / size as f64).round().clamp(1.0, 4e9);
        Bytes::new(out.rounded(format!("{name}: burst"), burst.get() as f64, packets * size as f64, "B") as u64)
    });
}

/// Marks and drops of a queue have one curve, of the present length.
fn curve(queue: &mut Queue, name: &str, out: &mut Written) {
    if let Some(aqm) = queue.aqm.take() {
        out.refuse(format!("{name}: {}", aqm.value.name), "marks or drops by the present length");
    }
    if let Some((mark, drop)) = queue.mark.as_mut().zip(queue.drop.as_ref()) {
        if (mark.min, mark.max) != (drop.min, drop.max) {
            out.refuse(format!("{name}: drops on another curve than marks"), "drops on the curve of marks");
        }
        (mark.value.not_ect_dropped, queue.drop) = (true, None);
    }
    let Some(ramp) = queue.mark.as_mut().or(queue.drop.as_mut()).map(|known| &mut known.value) else { return };
    if std::mem::take(&mut ramp.weight) != 0 {
        out.refuse(format!("{name}: average queue length"), "the present length");
    }
    let percent = (ramp.probability * 100.0).round().clamp(1.0, 100.0);
    ramp.probability = out.rounded(format!("{name}: probability"), ramp.probability, percent / 100.0, "");
    ramp.max = ramp.max.max(ramp.min);
}

/// A fixed limit in whole cells, or a power of two as alpha. Preamble and gap, 20 B a packet, are not stored.
fn memory(system: &System, queue: &mut Queue, name: &str, cell: u64, out: &mut Written) {
    let packet = queue.packet().map(Bytes::get).filter(|&size| cell > 1 && size > 20);
    if let Some(limit) = &mut queue.limit {
        let bytes = match packet {
            Some(size) => (limit.get() / size).max(1).saturating_mul((size - 20).next_multiple_of(cell)),
            None => limit.get().div_ceil(cell).saturating_mul(cell),
        };
        limit.value = Bytes::new(out.rounded(format!("{name}: limit"), limit.get() as f64, bytes as f64, "B") as u64);
        if queue.alpha.take().is_some() {
            out.refuse(format!("{name}: alpha beside a fixed limit"), "the fixed limit");
        }
    } else if queue.reserved.is_some() && queue.alpha.is_none() {
        out.refuse(format!("{name}: private memory without a share of the pool"), "alpha 8");
        queue.alpha = Some(Known::new(8.0, ""));
    }
    if let Some(alpha) = &mut queue.alpha {
        let exponent = alpha.value.log2().round().clamp(system.alpha[0].into(), system.alpha[1].into());
        alpha.value = out.rounded(format!("{name}: alpha"), alpha.value, exponent.exp2(), "");
    }
}
