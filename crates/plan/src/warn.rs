//! Warnings before a run: settings that cannot have the intended effect. The comment of each function states its rule.

use crate::network::PortKind;
use crate::plan::{Connections, Driver, Group, QueueMarking, Scheme, Switch, Transport};
use crate::{resolved::ResolvedRun, sources, switches::in_bytes};
use shallop_core::Bytes;
use shallop_proto::wire;
use std::collections::BTreeSet;

/// The most groups, links or switches that a warning names one by one.
const MAX_NAMED: usize = 5;

/// All warnings except those about flows that start too late ([`late`]). `offered` is the payload offered to each port
/// in bit/s ([`ResolvedRun::offered_load`]), if known.
pub fn warnings(run: &ResolvedRun<'_>, offered: Option<&[f64]>) -> Vec<String> {
    let kinds = data_ports(run);
    let mut warnings: Vec<String> = unmarked(run, &kinds).into_iter().collect();
    warnings.extend(rarely_marked(run, &kinds));
    warnings.extend(coarse_l4s(run));
    warnings.extend(never_reached(run, &kinds));
    warnings.extend(never_empty(run, &kinds));
    warnings.extend(never_kept(run));
    warnings.extend(offered.and_then(|offered| overloaded(run, offered)));
    warnings
}

/// All warnings that can be given before the run.
pub fn before(run: &ResolvedRun<'_>) -> Vec<String> {
    let offered = run.offered_load();
    [warnings(run, offered.as_deref()), late(run, &sources::starting_by_group(run))].concat()
}

/// Rule: warn if some flows of a group do not start before the run ends. `started` gives for each group the flows that
/// do.
pub fn late(run: &ResolvedRun<'_>, started: &[usize]) -> Vec<String> {
    let duration = run.plan.duration;
    let groups = run.plan.groups.iter().zip(started);
    let late = groups.zip(&run.rates).filter(|((group, started), _)| group.flows > **started);
    let text = |((group, started), rate): ((&Group, &usize), &Option<f64>)| {
        let end = rate.and_then(|rate| sources::mean_last_start(group, rate));
        let end = end.map(|end| format!("; on average the last starts at {end:.3} s"));
        format!(
            "only {started} of the {} flows of group \"{}\" start within the duration, {duration}{}",
            group.flows,
            group.name,
            end.unwrap_or_default()
        )
    };
    bounded(late.map(text).collect(), "groups")
}

/// Rule: warn if a group keeps connections and real hosts send its flows.
fn never_kept(run: &ResolvedRun<'_>) -> Vec<String> {
    let plan = run.plan;
    let has_quic = plan.driver != Driver::Simulator;
    let is_real = |group: usize| {
        let is_quic = has_quic && matches!(plan.transport(run.scheme, group).transport, Transport::FlashPass(_));
        is_quic || plan.kernel(run.scheme, group).is_some()
    };
    let groups = plan.groups.iter().enumerate();
    let kept = groups.filter(|(index, group)| group.connections == Connections::Kept && is_real(*index));
    let text = |(_, group): (usize, &Group)| {
        let name = &group.name;
        format!("connections = \"kept\" of group \"{name}\" has no effect: real hosts open one for each flow")
    };
    bounded(kept.map(text).collect(), "groups")
}

/// Shortens a list of lines: all but the first [`MAX_NAMED`] become one line that counts them.
fn bounded(mut lines: Vec<String>, what: &str) -> Vec<String> {
    let more = lines.split_off(lines.len().min(MAX_NAMED)).len();
    if more > 0 {
        lines.push(format!("likewise {more} more {what}"));
    }
    lines
}

/// The kinds of all switch ports that data may cross.
fn data_ports(run: &ResolvedRun<'_>) -> BTreeSet<PortKind> {
    let crossed = |port: &u32| run.traffic_paths.ports[*port as usize].data;
    run.network.port_kinds(run.network.switch_ports().filter(crossed))
}

/// The first transport, of the scheme or of a group, for which `holds` is true.
fn first<'a>(run: &'a ResolvedRun<'_>, holds: impl Fn(&Transport) -> bool) -> Option<&'a Scheme> {
    let plan = run.plan;
    let transports = (0..plan.groups.len()).map(|group| plan.transport(run.scheme, group));
    transports.into_iter().find(|scheme| holds(&scheme.transport))
}

/// The names of switches that satisfy `holds`, among those with ports of these kinds.
fn named<'a>(run: &'a ResolvedRun<'_>, kinds: &BTreeSet<PortKind>, holds: impl Fn(&Switch) -> bool) -> Vec<&'a str> {
    let switches = run.plan.switches(run.scheme);
    let numbers: BTreeSet<usize> = kinds.iter().map(|(switch, ..)| *switch).collect();
    let chosen = numbers.into_iter().map(|number| &switches[number]);
    chosen.filter(|switch| holds(switch)).map(|switch| switch.name.as_str()).collect()
}

/// The first [`MAX_NAMED`] names, in quotes and separated by commas.
fn list(names: &[&str]) -> String {
    let mut quoted: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("\"{name}\"")).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        quoted.push(format!("{more} more"));
    }
    quoted.join(", ")
}

/// Rule: warn if a transport sends ECN-capable packets but no switch on its paths marks, or if it needs marks and some
/// switch on its paths does not mark.
fn unmarked(run: &ResolvedRun<'_>, kinds: &BTreeSet<PortKind>) -> Option<String> {
    let own = &run.plan.schemes[run.scheme];
    let proxied = own.clean.as_ref().map(|_| own);
    let capable = proxied.or_else(|| first(run, Transport::responds_to_marks))?;
    let bare = named(run, kinds, |switch| !switch.marks());
    let all = named(run, kinds, |_| true).len();
    let remedy = "`mark = { above = \"...\" }` in [switch.NAME] sets a threshold, `aqm` a discipline that marks";
    if bare.len() == all && all > 0 {
        let name = &capable.name;
        return Some(format!(
            "{name} sends ECN-capable packets, and no switch on their way marks any (ECN): queues grow until they \
             drop; {remedy}"
        ));
    }
    let reliant = first(run, Transport::relies_on_marks).filter(|_| !bare.is_empty())?;
    Some(format!(
        "{} relies on marks (ECN), and the switches {} on its way mark nothing; {remedy}",
        reliant.name,
        list(&bare)
    ))
}

/// Rule: warn if a transport that needs marks in proportion to the queue meets a queue discipline that marks only
/// single packets.
fn rarely_marked(run: &ResolvedRun<'_>, kinds: &BTreeSet<PortKind>) -> Option<String> {
    let reliant = first(run, Transport::relies_on_marks)?;
    let rare = |switch: &Switch| switch.aqm.is_some_and(|aqm| aqm.marks() && !aqm.marks_in_proportion());
    let names = named(run, kinds, rare);
    (!names.is_empty()).then(|| {
        format!(
            "{} needs a mark on every packet above a threshold, and the `aqm` of {} marks one now and then: its queue \
             may fill the buffer; `ce_threshold` sets such a threshold",
            reliant.name,
            list(&names)
        )
    })
}

/// Rule: warn if a sender with `l4s = true` keeps alpha in integers of 1/1024, which lose sparse marks.
fn coarse_l4s(run: &ResolvedRun<'_>) -> Option<String> {
    let scheme = first(run, Transport::misses_sparse_marks)?;
    Some(format!(
        "{} has `l4s = true`, but hardly answers sparse marks, as of DualPI2: its integers round them down; \
         `transport = \"prague\"` answers them, and DCTCP with `arithmetic = \"real\"`",
        scheme.name
    ))
}

/// Rule: warn if a marking threshold is not below the buffer of its queue or the size of its pool, so that nothing is
/// ever marked. Transports that do not respond to marks are not warned, unless the threshold also drops.
fn never_reached(run: &ResolvedRun<'_>, kinds: &BTreeSet<PortKind>) -> Vec<String> {
    let switches = run.plan.switches(run.scheme);
    let responds = run.plan.schemes[run.scheme].clean.is_some() || first(run, Transport::responds_to_marks).is_some();
    let matters = |marking: &QueueMarking| responds || marking.drops();
    let mut lines = Vec::new();
    for &(number, rate, mtu) in kinds {
        let switch = &switches[number];
        let frame = Bytes::new(u64::from(wire::frame(mtu.get())));
        let buffer = match switch.shared {
            Some(shared) => shared.share_of_queue(1),
            None => in_bytes(switch.buffer, rate, frame),
        };
        let queue = switch.marking(rate).filter(matters).map(|marking| ("marks", "queue", marking.min, buffer));
        let pool = switch.shared.and_then(|shared| Some((shared.mark.filter(matters)?.min, shared.size)));
        let pool = pool.map(|(min, size)| ("marks", "pool", min, size));
        let drop = switch.drop.map(|drop| ("drops before it is full", "queue", drop.min, buffer));
        for (verb, what, min, most) in [queue, pool, drop].into_iter().flatten() {
            let threshold = in_bytes(min, rate, frame);
            if threshold >= most {
                lines.push(format!(
                    "switch \"{}\" at {rate} never {verb}: its threshold, {threshold}, is not below the {most} that \
                     its {what} may hold",
                    switch.name
                ));
            }
        }
    }
    bounded(lines, "kinds of port")
}

/// Rule: warn if the token bucket of a switch has the rate of its fastest link or more, so that it is never empty.
fn never_empty(run: &ResolvedRun<'_>, kinds: &BTreeSet<PortKind>) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, switch) in run.plan.switches(run.scheme).iter().enumerate() {
        let rates = kinds.iter().filter(|kind| kind.0 == number).map(|kind| kind.1);
        let Some(fastest) = rates.max() else { continue };
        for (name, bucket) in [("shaper", switch.shaper), ("policer", switch.policer)] {
            if let Some((rate, _)) = bucket.filter(|(rate, _)| *rate >= fastest) {
                let of = &switch.name;
                lines.push(format!("the {name} of switch \"{of}\", {rate}, does nothing: no link there is faster"));
            }
        }
    }
    bounded(lines, "token buckets")
}

/// Rule: warn if random arrivals or traces offer a link more payload than it can carry.
fn overloaded(run: &ResolvedRun<'_>, offered: &[f64]) -> Option<String> {
    let rate = |port: usize| run.network.graph.link_of(port as u32).rate;
    let load = |(port, bits): (usize, &f64)| (port, bits / rate(port).get() as f64);
    let over: Vec<(usize, f64)> = offered.iter().enumerate().map(load).filter(|(_, load)| *load > 1.0).collect();
    let (port, load) = over.iter().copied().reduce(|most, one| if one.1 > most.1 { one } else { most })?;
    let others = match over.len() - 1 {
        0 => String::new(),
        1 => ", and another link more than it carries".to_owned(),
        more => format!(", and {more} other links more than they carry"),
    };
    let (place, rate) = (run.network.port_name(port as u32), rate(port));
    Some(format!(
        "the arrivals offer the link {place} {load:.2} times its {rate}{others}: flows pile up to the end of the run"
    ))
}
