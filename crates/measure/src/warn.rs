//! Warnings about a run: the warnings of its plan (`shallop_plan::warn`), what the run left out, and assumptions of a
//! transport that did not hold, with the links where they did not. Each warning has a function, whose comment states
//! its rule.

use crate::{flow_records::FlowRecord, probe::Measurements, series::Series, shares::shares};
use shallop_core::{Class, Span};
use shallop_plan::plan::{Ecmp, Group};
use shallop_plan::transport::CreditRequirements;
use shallop_plan::{ResolvedRun, flows};
use shallop_results::summary::jain;
use shallop_switch::PortCounters;

/// Largest number of ports that a warning names one by one.
const MAX_NAMED_PORTS: usize = 5;

/// Jain's index below which flows that should share equally do not: fewer than a fifth of them get almost everything.
const UNFAIR: f64 = 0.2;

/// All warnings about a run that has ended. `offered` is the payload offered to each port in bit/s, if known.
pub(crate) fn warnings(
    setup: &ResolvedRun<'_>, measure: &Measurements, ports: &[PortCounters], offered: Option<&[f64]>, series: &Series,
) -> Vec<String> {
    let mut warnings = shallop_plan::warn::warnings(setup, offered);
    warnings.extend(late(setup, measure, series.end));
    warnings.extend(uncaptured(setup, measure));
    warnings.extend(unfair(setup, measure, series));
    let Some(credits) = setup.requirements.credits else { return warnings };
    warnings.extend(without_emulation(setup, credits));
    warnings.extend(asymmetric(setup, credits));
    warnings.extend(lost(setup, credits, ports));
    warnings
}

/// Warns about groups with flows that start after the end of the run. A run that ends early, because all counted flows
/// are complete, gives no warning if the late flows are not counted.
fn late(setup: &ResolvedRun<'_>, measure: &Measurements, end: Span) -> Vec<String> {
    let groups = setup.plan.groups.iter().zip(&measure.starting);
    let started = |(group, &starting): (&Group, &usize)| {
        let uncounted = starting + group.uncounted.1 >= group.flows;
        if end < setup.plan.duration && uncounted { group.flows } else { starting }
    };
    shallop_plan::warn::late(setup, &groups.map(started).collect::<Vec<_>>())
}

/// Warns if the packet capture reached its limit.
fn uncaptured(setup: &ResolvedRun<'_>, measure: &Measurements) -> Option<String> {
    let capture = measure.capture.as_ref()?;
    let (since, packets) = capture.left_out()?;
    Some(format!(
        "the capture has the first {} packets, until {}; {packets} more were not captured: `capture_limit` is {}",
        capture.recorded(),
        since.since_start(),
        setup.plan.capture.1
    ))
}

/// Warns if, for the last second, Jain's index is below [`UNFAIR`] among those flows of a group that never end and were
/// active for the whole second.
fn unfair(setup: &ResolvedRun<'_>, measure: &Measurements, series: &Series) -> Vec<String> {
    let end = series.end;
    let from = end.saturating_sub(Span::from_secs(1));
    let Some((first, last)) = series.at(from).zip(series.at(end)) else { return Vec::new() };
    let line = |(index, group): (usize, &Group)| {
        let counts = |flow: &FlowRecord| {
            flow.facts.group as usize == index && flow.facts.size.is_none() && flow.start.since_start() <= from
        };
        let shares = shares(measure, first, last, counts)?;
        let jain = jain(&shares).filter(|jain| *jain < UNFAIR)?;
        let most = shares.iter().copied().fold(0.0, f64::max) / shares.iter().sum::<f64>();
        Some(format!(
            "one flow of group \"{}\" has {:.0} % of what its {} flows got in the last second (Jain's index \
             {jain:.3}); \
             they should share equally",
            group.name,
            most * 100.0,
            shares.len()
        ))
    };
    setup.plan.groups.iter().enumerate().filter_map(line).take(MAX_NAMED_PORTS).collect()
}

/// Warns about switch ports that do not meter the credits or emulation packets that release data there.
fn without_emulation(setup: &ResolvedRun<'_>, credits: &CreditRequirements) -> Vec<String> {
    let network = &setup.network;
    let crossed = |port: &u32| {
        let crossing = setup.traffic_paths.ports[*port as usize];
        if credits.releases_reverse { crossing.returns } else { crossing.data }
    };
    let bare = |port: &u32| !setup.switch(*port).emulation;
    let ports = network.switch_ports().filter(|port| bare(port) && crossed(port));
    let ports: Vec<u32> = ports.collect();
    let text = |place: String| {
        let CreditRequirements { name, packets, .. } = credits;
        format!("{place} does not meter {packets}: {name} may send more there than the link carries")
    };
    lines(setup, ports, text)
}

/// One warning for each of the ports, up to [`MAX_NAMED_PORTS`]; the last one counts the other ports.
fn lines(setup: &ResolvedRun<'_>, ports: Vec<u32>, text: impl Fn(String) -> String) -> Vec<String> {
    let more = ports.len().saturating_sub(MAX_NAMED_PORTS);
    let named = ports.into_iter().take(MAX_NAMED_PORTS);
    let mut lines: Vec<String> = named.map(|port| text(setup.network.port_name(port))).collect();
    if more > 0 {
        lines.push(format!("likewise at {more} more places"));
    }
    lines
}

/// Warns if credits of `ExpressPass` take other links than the data that they release.
fn asymmetric(setup: &ResolvedRun<'_>, credits: &CreditRequirements) -> Option<String> {
    if !credits.releases_reverse || setup.plan.ecmp == Ecmp::Symmetric {
        return None;
    }
    let uses_credits = |flow: &flows::Flow| {
        let transport = &setup.plan.transport(setup.scheme, flow.group).transport;
        transport.credits().is_some_and(|it| it.releases_reverse)
    };
    let (all, same) = flows::symmetric_flows(setup, uses_credits);
    let asymmetric = all - same;
    let first = if setup.plan.flows() > flows::COMPARED_FLOWS { "the first " } else { "" };
    let name = credits.name;
    (asymmetric > 0).then(|| {
        format!(
            "the credits of {asymmetric} of {first}{all} {name} flows take other links than their data, which \
             they cannot hold back there: ecmp = \"symmetric\" mends that"
        )
    })
}

/// Warns if data packets that were sent on credits were dropped.
fn lost(setup: &ResolvedRun<'_>, credits: &CreditRequirements, ports: &[PortCounters]) -> Vec<String> {
    let dropped = |port: u32| ports[port as usize].dropped[Class::Data.index()];
    let all: Vec<u32> = (0..ports.len() as u32).filter(|&port| dropped(port) > 0).collect();
    let mut worst = all;
    worst.sort_by_key(|&port| (std::cmp::Reverse(dropped(port)), port));
    let place = |port: u32| setup.network.port_name(port);
    let more = worst.split_off(worst.len().min(MAX_NAMED_PORTS));
    let text = |&port: &u32| {
        let (count, name) = (dropped(port), credits.name);
        let packets = if count == 1 { "packet" } else { "packets" };
        let why = why(setup, port);
        format!("{name} lost {count} data {packets} that credits had allowed at {}{why}", place(port))
    };
    let mut lines: Vec<String> = worst.iter().map(text).collect();
    if !more.is_empty() {
        let count: u64 = more.iter().map(|&port| dropped(port)).sum();
        lines.push(format!("and {count} more at {} other places", more.len()));
    }
    lines
}

/// Probable cause of data loss at a port, as the end of a sentence; empty if unknown.
fn why(setup: &ResolvedRun<'_>, port: u32) -> &'static str {
    let switch = setup.switch(port);
    if !setup.network.is_switch_port(port) {
        ""
    } else if !switch.emulation {
        ": it has no queue that meters what releases them"
    } else if setup.traffic_paths.ports[port as usize].legacy && switch.weights.is_none() {
        ": transports without credits share its data queue (a `legacy_weight` gives them their own)"
    } else {
        ""
    }
}
