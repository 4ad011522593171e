//! What each group of flows came to by itself: throughput, loss, round trips and fairness over the run, throughput in
//! its windows.

use shallop_core::Span;
use shallop_proto::Report;

use crate::journal::Journal;
use crate::measure::{GroupCounts, Measure};
use crate::outcome::{fairness, ratio};
use crate::run::{Setup, rate};
use crate::series::{Mark, Series};
use crate::summary::{Group, GroupWindow};

/// A row for each group.
pub(crate) fn groups(
    setup: &Setup<'_>,
    measure: &Measure,
    journal: &Journal<'_>,
    series: &Series,
) -> Vec<Group> {
    let end = series.end;
    let second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    let plan = setup.plan;
    let counted = measure.groups.iter().zip(&journal.groups).enumerate();
    let row = |(number, (counts, report)): (usize, (&GroupCounts, &Report))| Group {
        name: plan.groups[number].name.clone(),
        transport: plan.transport(setup.scheme, number).name.clone(),
        flows: counts.started,
        throughput_bps: rate(counts.ip_bytes, end),
        goodput_bps: rate(report.received, end),
        loss_rate: ratio(counts.lost, report.sent),
        rtt: counts.rtts.summary(),
        jain: second.and_then(|second| {
            fairness(measure, second, |flow| flow.facts.group as usize == number)
        }),
    };
    counted.map(row).collect()
}

/// Each group's throughput between two looks.
pub(crate) fn windows(setup: &Setup<'_>, from: &Mark, to: &Mark) -> Vec<GroupWindow> {
    let bytes = to.groups.iter().zip(&from.groups).map(|(to, from)| to - from);
    let row = |(group, bytes): (&crate::plan::Group, u64)| {
        let throughput_bps = rate(bytes, to.at - from.at);
        GroupWindow { name: group.name.clone(), throughput_bps }
    };
    setup.plan.groups.iter().zip(bytes).map(row).collect()
}
