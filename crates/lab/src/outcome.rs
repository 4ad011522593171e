//! From what was counted to what it means: the outcome of a run.

use std::collections::BTreeMap;

use shallop_core::{Class, Span};
use shallop_proto::Report;
use shallop_switch::{Counts, Occupancy, Pool};

use crate::groups;
use crate::journal::{FlowRow, Journal};
use crate::load;
use crate::measure::Measure;
use crate::pools;
use crate::records::Record;
use crate::run::{Setup, rate};
use crate::series::{Mark, Rows, Series};
use crate::summary::{Credit, Drops, Queue, Run, Window, jain};
use crate::warn;

/// What comes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary.
    pub run: Run,
    /// A row for each flow, in the order they started.
    pub flows: Vec<FlowRow>,
    /// What was looked at while it went on.
    pub series: Rows,
    /// The packets of the links that were to be captured, as pcapng.
    pub capture: Option<Vec<u8>>,
}

/// The summary of a run that has ended.
#[must_use]
pub fn summarise(
    setup: &Setup<'_>,
    measure: &Measure,
    (ports, pools): (&[Counts], &[Pool]),
    journal: &Journal<'_>,
    series: &Series,
) -> Run {
    let (end, total) = (series.end, Totals::of(ports, journal.total()));
    let (dropped, lost) = (total.dropped, total.lost);
    let gone = |class: Class| dropped[class.index()] + lost[class.index()];
    let unscheduled = setup.layout.unscheduled.then(|| gone(Class::Unscheduled));
    let data = gone(Class::Data) + gone(Class::Unscheduled) + gone(Class::Legacy);
    let final_second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    Run {
        scheme: setup.plan.schemes[setup.scheme].name.clone(),
        seed: setup.seed,
        point: BTreeMap::new(),
        duration_s: end.as_secs_f64(),
        flows: u64::from(measure.flows.started()),
        throughput_bps: rate(measure.ip_bytes(), end),
        wire_bps: rate(measure.wire_bytes, end),
        goodput_bps: rate(total.report.received, end),
        windows: windows(setup, measure, series),
        loss_rate: ratio(data, total.report.sent),
        mean_port_drop_rate: mean_drop_rate(setup, ports),
        drops: Drops {
            data,
            scheduled: unscheduled.map(|_| gone(Class::Data)),
            unscheduled,
            emulation: gone(Class::Emulation),
            credit: gone(Class::Credit),
            ack: gone(Class::Ack) + gone(Class::LegacyAck),
            control: gone(Class::Control),
        },
        loss_by_place: loss_by_place(setup, ports),
        loss_by_set: loss_by_set(setup, ports, total.report.sent),
        utilization_by_place: utilizations(setup, ports, end),
        groups: groups::groups(setup, measure, journal, series),
        warnings: warn::warnings(setup, ports),
        marks: measure.marks,
        queues: queues(setup, measure),
        pools: pools::held(setup, pools),
        max_queue_bytes: longest_data_queue(setup, measure),
        mean_queue_bytes: data_queues(setup, measure).map(Occupancy::mean).fold(0.0, f64::max),
        max_pool_bytes: pools.iter().map(|pool| pool.occupancy().max().get()).max(),
        offered: load::offered(setup),
        rtt: measure.rtts().summary(),
        jain: final_second.and_then(|(from, to)| fairness(measure, (from, to), |_| true)),
        jain_095_s: series.converge.reached().map(Span::as_secs_f64),
        utilization: utilization(setup, ports, end),
        retransmits: total.report.retransmits,
        timeouts: total.report.timeouts,
        credit: credit(setup, &total, gone(Class::Emulation) + gone(Class::Credit), measure.data),
        fct: journal.tally.fct(),
        packet_hops: ports.iter().flat_map(|port| port.sent).sum(),
        delivered_data_packets: measure.data,
        capture: None,
        wall_s: None,
    }
}

/// Sums over all ports and ends.
struct Totals {
    dropped: [u64; Class::COUNT],
    lost: [u64; Class::COUNT],
    report: Report,
}

impl Totals {
    fn of(ports: &[Counts], report: Report) -> Self {
        let (mut dropped, mut lost) = ([0; Class::COUNT], [0; Class::COUNT]);
        for port in ports {
            for class in 0..Class::COUNT {
                dropped[class] += port.dropped[class];
                lost[class] += port.lost[class];
            }
        }
        Self { dropped, lost, report }
    }
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn windows(setup: &Setup<'_>, measure: &Measure, series: &Series) -> Vec<Window> {
    let edges = setup.plan.windows.iter().filter(|(from, _)| *from < series.end);
    edges
        .filter_map(|&(from, to)| {
            let (from, to) = (series.at(from)?, series.at(to)?);
            let span = to.at - from.at;
            let bytes = to.bytes() - from.bytes();
            let (kept, lost) = (to.metered.0 - from.metered.0, to.metered.1 - from.metered.1);
            Some(Window {
                from_s: from.at.as_secs_f64(),
                to_s: to.at.as_secs_f64(),
                throughput_bps: rate(bytes, span),
                jain: fairness(measure, (from, to), |_| true),
                groups: groups::windows(setup, from, to),
                metered_loss: (kept + lost > 0).then(|| ratio(lost, kept + lost)),
            })
        })
        .collect()
}

/// Jain's index of the flows that count and were there: those that had started by the end of the window and had not
/// ended before its start. None if there are more flows than are remembered.
pub(crate) fn fairness(
    measure: &Measure,
    (from, to): (&Mark, &Mark),
    counts: impl Fn(&Record) -> bool,
) -> Option<f64> {
    let (from_flows, to_flows) = (from.flows.as_ref()?, to.flows.as_ref()?);
    let shares =
        measure.flows.all()?.iter().zip(to_flows).enumerate().filter_map(|(number, flow)| {
            let (flow, arrived) = flow;
            let ended = flow.complete.is_some_and(|at| at.since_start() <= from.at);
            let before = from_flows.get(number).copied().unwrap_or(0);
            (!ended && counts(flow)).then_some((arrived - before) as f64)
        });
    jain(&shares.collect::<Vec<f64>>())
}

fn mean_drop_rate(setup: &Setup<'_>, ports: &[Counts]) -> f64 {
    let (mut sum, mut used) = (0.0, 0u32);
    for (_, counts) in switch_ports(setup, ports) {
        let dropped = counts.dropped.iter().sum();
        let came = dropped + counts.sent.iter().sum::<u64>();
        sum += ratio(dropped, came);
        used += u32::from(came > 0);
    }
    sum / f64::from(used.max(1))
}

fn loss_by_place(setup: &Setup<'_>, ports: &[Counts]) -> BTreeMap<String, f64> {
    let places = ports.iter().enumerate().filter_map(|(port, counts)| {
        let dropped = data(&counts.dropped);
        let gone = dropped + data(&counts.lost);
        let offered = dropped + data(&counts.sent);
        (gone > 0).then(|| (setup.network.port_name(port as u32), ratio(gone, offered)))
    });
    places.collect()
}

fn loss_by_set(setup: &Setup<'_>, ports: &[Counts], sent: u64) -> BTreeMap<String, f64> {
    let gone = |port: &u32| {
        let counts = &ports[*port as usize];
        data(&counts.dropped) + data(&counts.lost)
    };
    let sets = setup.network.links.iter().map(|(name, of)| {
        let gone: u64 = of.iter().map(gone).sum();
        (name.clone(), ratio(gone, sent))
    });
    sets.collect()
}

/// The data among packets counted by class.
fn data(counts: &[u64; Class::COUNT]) -> u64 {
    Class::ALL.iter().filter(|class| class.is_payload()).map(|class| counts[class.index()]).sum()
}

fn queues(setup: &Setup<'_>, measure: &Measure) -> Vec<Queue> {
    let held = measure.queues.iter().filter(|(_, queue)| queue.max().get() > 0);
    held.map(|(place, queue)| Queue {
        place: setup.network.port_name(place.port),
        class: setup.layout.queues[usize::from(place.queue)].to_owned(),
        max_bytes: queue.max().get(),
        mean_bytes: queue.mean(),
        p50_bytes: queue.quantile(0.5).get(),
        p99_bytes: queue.quantile(0.99).get(),
        p9999_bytes: queue.quantile(0.9999).get(),
        above: above(setup, queue),
    })
    .collect()
}

/// The part of the time at more than each of the levels that are asked for.
pub(crate) fn above(setup: &Setup<'_>, held: &Occupancy) -> BTreeMap<String, f64> {
    let levels = setup.plan.levels.iter();
    levels.map(|&level| (level.to_string(), held.above(level))).collect()
}

/// The ports of switches, by their numbers.
fn switch_ports<'a>(
    setup: &'a Setup<'_>,
    ports: &'a [Counts],
) -> impl Iterator<Item = (u32, &'a Counts)> {
    (0u32..).zip(ports).filter(|&(port, _)| setup.network.is_switch_port(port))
}

/// The data queues of switches.
fn data_queues<'a>(
    setup: &'a Setup<'_>,
    measure: &'a Measure,
) -> impl Iterator<Item = &'a Occupancy> {
    let data = setup.layout.data;
    let switches = measure.queues.iter().filter(move |(place, _)| {
        usize::from(place.queue) == data && setup.network.is_switch_port(place.port)
    });
    switches.map(|(_, queue)| queue)
}

fn longest_data_queue(setup: &Setup<'_>, measure: &Measure) -> u64 {
    data_queues(setup, measure).map(|queue| queue.max().get()).max().unwrap_or(0)
}

fn utilization(setup: &Setup<'_>, ports: &[Counts], end: Span) -> f64 {
    let busiest = switch_ports(setup, ports).map(|(port, counts)| {
        let capacity = setup.network.graph.link_of(port).rate.bytes_in(end).get();
        ratio(counts.bytes, capacity)
    });
    busiest.fold(0.0, f64::max)
}

fn utilizations(setup: &Setup<'_>, ports: &[Counts], end: Span) -> BTreeMap<String, f64> {
    let carried = switch_ports(setup, ports).filter(|(_, counts)| data(&counts.sent) > 0);
    let part = |(port, counts): (u32, &Counts)| {
        let capacity = setup.network.graph.link_of(port).rate.bytes_in(end).get();
        (setup.network.port_name(port), ratio(counts.bytes, capacity))
    };
    carried.map(part).collect()
}

fn credit(setup: &Setup<'_>, total: &Totals, lost: u64, data: u64) -> Option<Credit> {
    setup.demand.proactive?;
    let Report { credits, metered, .. } = total.report;
    Some(Credit {
        granted: credits.granted,
        used: credits.used,
        wasted: credits.wasted,
        waste_rate: ratio(credits.wasted, credits.granted),
        waste_volume: ratio(credits.wasted, data),
        sent: metered,
        loss_rate: ratio(lost, metered),
    })
}
