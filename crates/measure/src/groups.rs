//! Results of each group of flows: throughput, loss, round-trip times and fairness over the run, and throughput in its
//! windows.

use crate::flow_log::FlowLog;
use crate::fractions::{rate, ratio};
use crate::probe::{GroupCounts, Measurements};
use crate::series::{Checkpoint, Series};
use crate::shares::fairness;
use shallop_core::Span;
use shallop_plan::ResolvedRun;
use shallop_proto::EndpointCounters;
use shallop_results::summary::{Group, GroupWindow};

/// Results of each group, in the order of the scenario.
pub(crate) fn groups(
    setup: &ResolvedRun<'_>, measure: &Measurements, log: &FlowLog<'_>, series: &Series,
) -> Vec<Group> {
    let end = series.end;
    let second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    let plan = setup.plan;
    let counted = measure.groups.iter().zip(&log.groups).enumerate();
    let row = |(number, (counts, counters)): (usize, (&GroupCounts, &EndpointCounters))| Group {
        name: plan.groups[number].name.clone(),
        transport: plan.transport(setup.scheme, number).name.clone(),
        flows: counts.started,
        throughput_bps: rate(counts.ip_bytes, end),
        goodput_bps: rate(counters.received, end),
        loss_rate: ratio(counts.lost, counters.sent),
        retransmits: counters.retransmits,
        timeouts: counters.timeouts,
        rtt: counts.rtts.summary(),
        jain: second.and_then(|(from, to)| fairness(measure, from, to, |flow| flow.facts.group as usize == number)),
        fct: log.completion[number].fct(),
    };
    counted.map(row).collect()
}

/// Throughput of each group between two checkpoints.
pub(crate) fn windows(setup: &ResolvedRun<'_>, from: &Checkpoint, to: &Checkpoint) -> Vec<GroupWindow> {
    let bytes = to.groups.iter().zip(&from.groups).map(|(to, from)| to - from);
    let row = |(group, bytes): (&shallop_plan::plan::Group, u64)| {
        let throughput_bps = rate(bytes, to.at - from.at);
        GroupWindow { name: group.name.clone(), throughput_bps }
    };
    setup.plan.groups.iter().zip(bytes).map(row).collect()
}
