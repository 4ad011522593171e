//! What each group of flows came to: throughput, loss and fairness by themselves, over the run and its windows.

use shallop_core::Span;
use shallop_proto::Report;

use crate::measure::Measure;
use crate::run::{Setup, rate};
use crate::series::{Mark, Series};
use crate::summary::{Group, GroupWindow, jain};

/// The numbers of the flows of a group that have started.
fn members<'a>(
    setup: &'a Setup<'_>,
    group: usize,
    started: usize,
) -> impl Iterator<Item = usize> + 'a {
    (0..started).filter(move |&flow| setup.flows[flow].group == group)
}

/// A row for each group.
pub(crate) fn groups(
    setup: &Setup<'_>,
    measure: &Measure,
    reports: &[Report],
    series: &Series,
) -> Vec<Group> {
    let (end, started) = (series.end, reports.len() / 2);
    let second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    let plan = setup.plan;
    let row = |number: usize| {
        let counts = |flow| measure.flows.get(flow).copied().unwrap_or_default();
        let sum = |count: &dyn Fn(usize) -> u64| members(setup, number, started).map(count).sum();
        let arrived: u64 = sum(&|flow| counts(flow).ip_bytes);
        let (sent, lost): (u64, u64) =
            (sum(&|flow| reports[flow * 2].sent), sum(&|flow| counts(flow).lost));
        Group {
            name: plan.groups[number].name.clone(),
            transport: plan.transport(setup.scheme, number).name.clone(),
            flows: members(setup, number, started).count() as u64,
            throughput_bps: rate(arrived, end),
            goodput_bps: rate(sum(&|flow| reports[flow * 2 + 1].received), end),
            loss_rate: if sent == 0 { 0.0 } else { lost as f64 / sent as f64 },
            jain: second.and_then(|(from, to)| {
                let shares: Vec<f64> = members(setup, number, started)
                    .map(|flow| (to.flows[flow] - from.flows[flow]) as f64)
                    .collect();
                jain(&shares)
            }),
        }
    };
    (0..plan.groups.len()).map(row).collect()
}

/// Each group's throughput between two looks.
pub(crate) fn windows(setup: &Setup<'_>, from: &Mark, to: &Mark) -> Vec<GroupWindow> {
    let flows = to.flows.len();
    let row = |(number, group): (usize, &crate::plan::Group)| {
        let arrived = members(setup, number, flows).map(|flow| to.flows[flow] - from.flows[flow]);
        let throughput_bps = rate(arrived.sum(), to.at - from.at);
        GroupWindow { name: group.name.clone(), throughput_bps }
    };
    setup.plan.groups.iter().enumerate().map(row).collect()
}
