//! Warnings of a run: an assumption of a transport that did not hold, and the part of the network where it did not.
//! Each warning has a function with its rule.

use shallop_core::Class;
use shallop_switch::PortCounters;

use shallop_plan::Setup;
use shallop_plan::flows;
use shallop_plan::transport::Credits;

/// The most ports that are named one by one.
const MAX_NAMED_PORTS: usize = 5;

/// The warnings of a run that has ended.
pub(crate) fn warnings(setup: &Setup<'_>, ports: &[PortCounters]) -> Vec<String> {
    let mut warnings: Vec<String> = unmarked(setup).into_iter().collect();
    let Some(credits) = setup.requirements.credits else { return warnings };
    warnings.extend(without_emulation(setup, credits));
    warnings.extend(asymmetric(setup, credits));
    warnings.extend(lost(setup, credits, ports));
    warnings
}

/// Rule: a transport responds to congestion marks, and no switch marks packets.
fn unmarked(setup: &Setup<'_>) -> Option<String> {
    let plan = setup.plan;
    let answers = |group| {
        let scheme = plan.transport(setup.scheme, group);
        scheme.transport.responds_to_marks().then_some(&scheme.name)
    };
    let scheme = &plan.schemes[setup.scheme];
    let proxied = scheme.clean.as_ref().map(|_| &scheme.name);
    let name = proxied.or_else(|| (0..plan.groups.len()).find_map(answers))?;
    plan.switches(setup.scheme).iter().all(|switch| !switch.marks()).then(|| {
        format!(
            "{name} answers congestion marks and no switch makes any: a `mark` with `above` in a \
             [switch.NAME] is the threshold, or `aqm` a discipline that marks"
        )
    })
}

/// Rule: a switch port does not meter the credits or emulation packets that release data there.
fn without_emulation(setup: &Setup<'_>, credits: &Credits) -> Vec<String> {
    let network = &setup.network;
    let crossed = |port: &u32| {
        let crossing = setup.traffic_paths.ports[*port as usize];
        if credits.releases_reverse { crossing.returns } else { crossing.data }
    };
    let bare = |port: &u32| network.is_switch_port(*port) && !switch(setup, *port).emulation;
    let ports: Vec<u32> =
        (0..network.graph.ports() as u32).filter(|port| bare(port) && crossed(port)).collect();
    let text = |place: String| {
        let Credits { name, packets, .. } = credits;
        format!(
            "{place} does not meter {packets}: {name} may send more there than the link carries"
        )
    };
    lines(setup, ports, text)
}

fn switch<'a>(setup: &'a Setup<'_>, port: u32) -> &'a shallop_plan::plan::Switch {
    let node = setup.network.graph.near(port).0 as usize;
    &setup.plan.switches(setup.scheme)[setup.network.switch_of[node]]
}

/// A line for each of these ports, up to the number of ports that are named.
fn lines(setup: &Setup<'_>, ports: Vec<u32>, text: impl Fn(String) -> String) -> Vec<String> {
    let more = ports.len().saturating_sub(MAX_NAMED_PORTS);
    let named = ports.into_iter().take(MAX_NAMED_PORTS);
    let mut lines: Vec<String> = named.map(|port| text(setup.network.port_name(port))).collect();
    if more > 0 {
        lines.push(format!("likewise at {more} more places"));
    }
    lines
}

/// Rule: credits of `ExpressPass` take other links than their data.
fn asymmetric(setup: &Setup<'_>, credits: &Credits) -> Option<String> {
    if !credits.releases_reverse || setup.plan.symmetric {
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

/// Rule: data packets sent on credits were dropped.
fn lost(setup: &Setup<'_>, credits: &Credits, ports: &[PortCounters]) -> Vec<String> {
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
        format!(
            "{name} lost {count} data {packets} that credits had allowed at {}{why}",
            place(port)
        )
    };
    let mut lines: Vec<String> = worst.iter().map(text).collect();
    if !more.is_empty() {
        let count: u64 = more.iter().map(|&port| dropped(port)).sum();
        lines.push(format!("and {count} more at {} other places", more.len()));
    }
    lines
}

/// The explanation of data loss at this port, if there is one.
fn why(setup: &Setup<'_>, port: u32) -> &'static str {
    let switch = switch(setup, port);
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
