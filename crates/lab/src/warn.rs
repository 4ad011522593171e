//! What somebody should know of a run before believing its figures: a promise of a transport that was broken, and what
//! of the network breaks it. A rule for each; a run that breaks none has no warnings.

use shallop_core::Class;
use shallop_proto::tcp::Capable;
use shallop_switch::Counts;

use crate::flows;
use crate::mix::Kind;
use crate::plan::Transport;
use crate::run::Setup;

/// So many places are told one by one.
const MOST_PLACES: usize = 5;

/// The warnings of a run that has ended.
pub(crate) fn warnings(setup: &Setup<'_>, ports: &[Counts]) -> Vec<String> {
    let mut warnings: Vec<String> = unmarked(setup).into_iter().collect();
    let Some(kind) = setup.demand.proactive else { return warnings };
    warnings.extend(without_emulation(setup, kind));
    warnings.extend(asymmetric(setup, kind));
    warnings.extend(lost(setup, kind, ports));
    warnings
}

/// Rule: a transport answers congestion marks, and no switch makes any.
fn unmarked(setup: &Setup<'_>) -> Option<String> {
    let plan = setup.plan;
    let answers = |group| {
        let scheme = plan.transport(setup.scheme, group);
        match scheme.transport {
            Transport::Tcp { config, .. } if config.marks.capable != Capable::Nothing => {
                Some(&scheme.name)
            }
            _ => None,
        }
    };
    let scheme = &plan.schemes[setup.scheme];
    let proxied = scheme.clean.as_ref().map(|_| &scheme.name);
    let name = proxied.or_else(|| (0..plan.groups.len()).find_map(answers))?;
    plan.switches(setup.scheme).iter().all(|switch| !switch.marks()).then(|| {
        format!(
            "{name} answers congestion marks and no switch makes any: a `mark` with `above` in a \
             [switch.NAME] is the threshold"
        )
    })
}

/// Rule: a switch that data wait for credits of has no queue that meters these.
fn without_emulation(setup: &Setup<'_>, kind: Kind) -> Vec<String> {
    let network = &setup.network;
    let crossed = |port: &u32| {
        let crossing = setup.reach.crossings[*port as usize];
        if kind == Kind::ExpressPass { crossing.returns } else { crossing.data }
    };
    let bare = |port: &u32| network.is_switch_port(*port) && !switch(setup, *port).emulation;
    let ports: Vec<u32> =
        (0..network.graph.ports() as u32).filter(|port| bare(port) && crossed(port)).collect();
    let what = if kind == Kind::ExpressPass { "credits" } else { "emulation packets" };
    let text = |place: String| {
        let name = kind.name();
        format!("{place} does not meter {what}: {name} may send more there than the link carries")
    };
    places(setup, ports, text)
}

fn switch<'a>(setup: &'a Setup<'_>, port: u32) -> &'a crate::plan::Switch {
    let node = setup.network.graph.near(port).0 as usize;
    &setup.plan.switches(setup.scheme)[setup.network.switch_of[node]]
}

/// A line for each of these ports, up to a number.
fn places(setup: &Setup<'_>, ports: Vec<u32>, text: impl Fn(String) -> String) -> Vec<String> {
    let more = ports.len().saturating_sub(MOST_PLACES);
    let named = ports.into_iter().take(MOST_PLACES);
    let mut lines: Vec<String> = named.map(|port| text(setup.network.port_name(port))).collect();
    if more > 0 {
        lines.push(format!("likewise at {more} more places"));
    }
    lines
}

/// Rule: credits of `ExpressPass` meter links that its data do not take.
fn asymmetric(setup: &Setup<'_>, kind: Kind) -> Option<String> {
    if kind != Kind::ExpressPass || setup.plan.symmetric {
        return None;
    }
    let mine = |flow: &flows::Flow| {
        let transport = &setup.plan.transport(setup.scheme, flow.group).transport;
        matches!(transport, Transport::ExpressPass(_))
    };
    let (all, same) = flows::same_way(setup, mine);
    let crooked = all - same;
    let first = if setup.plan.flows() > flows::LOOKED_AT { "the first " } else { "" };
    (crooked > 0).then(|| {
        format!(
            "the credits of {crooked} of {first}{all} ExpressPass flows take other links than their data, which \
             they cannot hold back there: ecmp = \"symmetric\" mends that"
        )
    })
}

/// Rule: data that a credit had promised room for were dropped.
fn lost(setup: &Setup<'_>, kind: Kind, ports: &[Counts]) -> Vec<String> {
    let dropped = |port: u32| ports[port as usize].dropped[Class::Data.index()];
    let all: Vec<u32> = (0..ports.len() as u32).filter(|&port| dropped(port) > 0).collect();
    let mut worst = all;
    worst.sort_by_key(|&port| (std::cmp::Reverse(dropped(port)), port));
    let place = |port: u32| setup.network.port_name(port);
    let more = worst.split_off(worst.len().min(MOST_PLACES));
    let text = |&port: &u32| {
        let (count, name) = (dropped(port), kind.name());
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

/// What at this port explains lost data, if anything does.
fn why(setup: &Setup<'_>, port: u32) -> &'static str {
    let switch = switch(setup, port);
    if !setup.network.is_switch_port(port) {
        ""
    } else if !switch.emulation {
        ": it has no queue that meters what releases them"
    } else if setup.reach.crossings[port as usize].legacy && switch.weights.is_none() {
        ": transports without credits share its data queue (a `legacy_weight` gives them their own)"
    } else {
        ""
    }
}
