//! From what was counted to what it means: the outcome of a run.

use std::collections::BTreeMap;

use shallop_core::{Class, Span, Time};
use shallop_proto::Report;
use shallop_switch::Counts;

use crate::groups;
use crate::measure::Measure;
use crate::run::{Setup, rate};
use crate::series::{Mark, Rows, Series};
use crate::summary::{Completion, Credit, Drops, Fct, Queue, Rtt, Run, Window, jain};
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
}

/// A flow, after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Its group.
    pub group: String,
    /// The host that sent.
    pub from: String,
    /// The host that received.
    pub to: String,
    /// When it started, in seconds.
    pub start_s: f64,
    /// Payload bytes to send, if there is an end to them.
    pub size_bytes: Option<u64>,
    /// From its start to the arrival of its last byte, in seconds, if that came.
    pub fct_s: Option<f64>,
    /// Different payload bytes that arrived.
    pub received_bytes: u64,
    /// IP bytes of data that arrived, in bits per second from its start to its end or that of the run.
    pub throughput_bps: f64,
    /// Data packets sent, repeats included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Credits that arrived at the sender, released data, and were in vain.
    pub credits: (u64, u64, u64),
}

/// The outcome of a run that has ended.
#[must_use]
pub fn outcome(
    setup: &Setup<'_>,
    measure: &Measure,
    ports: &[Counts],
    reports: &[Report],
    series: Series,
) -> Outcome {
    let flows = flow_rows(setup, measure, reports, series.end);
    let run = summarise(setup, measure, ports, reports, &series);
    Outcome { run, flows, series: series.rows }
}

fn summarise(
    setup: &Setup<'_>,
    measure: &Measure,
    ports: &[Counts],
    reports: &[Report],
    series: &Series,
) -> Run {
    let (end, total) = (series.end, Totals::of(ports, reports));
    let arrived = |bytes: fn(&crate::measure::FlowCounts) -> u64| {
        rate(measure.flows.iter().map(bytes).sum(), end)
    };
    let (dropped, lost) = (total.dropped, total.lost);
    let gone = |class: Class| dropped[class.index()] + lost[class.index()];
    let data = gone(Class::Data) + gone(Class::Legacy);
    let final_second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    Run {
        scheme: setup.plan.schemes[setup.scheme].name.clone(),
        seed: setup.seed,
        point: BTreeMap::new(),
        duration_s: end.as_secs_f64(),
        flows: (reports.len() / 2) as u64,
        throughput_bps: arrived(|flow| flow.ip_bytes),
        wire_bps: arrived(|flow| flow.wire_bytes),
        goodput_bps: rate(total.report.received, end),
        windows: windows(setup, measure, series),
        loss_rate: ratio(data, total.report.sent),
        drops: Drops {
            data,
            scheduled: None,
            unscheduled: None,
            emulation: gone(Class::Emulation),
            credit: gone(Class::Credit),
            ack: gone(Class::Ack) + gone(Class::LegacyAck),
            control: gone(Class::Control),
        },
        loss_by_place: loss_by_place(setup, ports),
        utilization_by_place: utilizations(setup, ports, end),
        groups: groups::groups(setup, measure, reports, series),
        warnings: warn::warnings(setup, ports),
        marks: measure.marks,
        queues: queues(setup, measure),
        max_queue_bytes: longest_data_queue(setup, measure),
        rtt: rtt(measure),
        jain: final_second.and_then(|(from, to)| fairness(setup, measure, from, to)),
        jain_095_s: series.converge.reached().map(Span::as_secs_f64),
        utilization: utilization(setup, ports, end),
        retransmits: total.report.retransmits,
        timeouts: total.report.timeouts,
        credit: credit(setup, &total, gone(Class::Emulation) + gone(Class::Credit)),
        fct: completions(setup, measure, reports.len() / 2),
        packet_hops: ports.iter().flat_map(|port| port.sent).sum(),
        delivered_data_packets: measure.data,
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
    fn of(ports: &[Counts], reports: &[Report]) -> Self {
        let (mut dropped, mut lost) = ([0; Class::COUNT], [0; Class::COUNT]);
        for port in ports {
            for class in 0..Class::COUNT {
                dropped[class] += port.dropped[class];
                lost[class] += port.lost[class];
            }
        }
        let report = reports.iter().fold(Report::default(), |sum, each| sum.plus(each));
        Self { dropped, lost, report }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn windows(setup: &Setup<'_>, measure: &Measure, series: &Series) -> Vec<Window> {
    let edges = setup.plan.windows.iter().filter(|(from, _)| *from < series.end);
    edges
        .filter_map(|&(from, to)| {
            let (from, to) = (series.at(from)?, series.at(to)?);
            let span = to.at - from.at;
            let bytes: u64 = to.flows.iter().zip(&from.flows).map(|(to, from)| to - from).sum();
            let (kept, lost) = (to.metered.0 - from.metered.0, to.metered.1 - from.metered.1);
            Some(Window {
                from_s: from.at.as_secs_f64(),
                to_s: to.at.as_secs_f64(),
                throughput_bps: rate(bytes, span),
                jain: fairness(setup, measure, from, to),
                groups: groups::windows(setup, from, to),
                metered_loss: (kept + lost > 0).then(|| ratio(lost, kept + lost)),
            })
        })
        .collect()
}

/// Jain's index of the flows that were there: those that had started by the end of the window and had not ended before
/// its start.
fn fairness(setup: &Setup<'_>, measure: &Measure, from: &Mark, to: &Mark) -> Option<f64> {
    let there = setup.flows.iter().enumerate().filter(|(number, flow)| {
        let complete = measure.flows.get(*number).and_then(|counts| counts.complete);
        let ended = complete.is_some_and(|at| at.since_start() <= from.at);
        flow.start.since_start() < to.at && !ended
    });
    let shares: Vec<f64> =
        there.map(|(number, _)| (to.flows[number] - from.flows[number]) as f64).collect();
    jain(&shares)
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

/// The data among packets counted by class.
fn data(counts: &[u64; Class::COUNT]) -> u64 {
    Class::ALL.iter().filter(|class| class.is_data()).map(|class| counts[class.index()]).sum()
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
    })
    .collect()
}

fn longest_data_queue(setup: &Setup<'_>, measure: &Measure) -> u64 {
    let data = setup.layout.data;
    let switches = measure.queues.iter().filter(|(place, _)| {
        usize::from(place.queue) == data && setup.network.is_switch_port(place.port)
    });
    switches.map(|(_, queue)| queue.max().get()).max().unwrap_or(0)
}

fn rtt(measure: &Measure) -> Rtt {
    let Some(mean) = measure.mean_rtt() else { return Rtt::default() };
    let quantile =
        |part: f64| measure.rtt.as_ref().map(|rtt| rtt.value_at_quantile(part) as f64 * 1e-9);
    Rtt { mean_s: Some(mean), p50_s: quantile(0.5), p99_s: quantile(0.99) }
}

fn utilization(setup: &Setup<'_>, ports: &[Counts], end: Span) -> f64 {
    let busiest = (0u32..).zip(ports).filter(|&(port, _)| setup.network.is_switch_port(port)).map(
        |(port, counts)| {
            let capacity = setup.network.graph.link_of(port).rate.bytes_in(end).get();
            ratio(counts.bytes, capacity)
        },
    );
    busiest.fold(0.0, f64::max)
}

fn utilizations(setup: &Setup<'_>, ports: &[Counts], end: Span) -> BTreeMap<String, f64> {
    let carried = (0u32..)
        .zip(ports)
        .filter(|&(port, counts)| setup.network.is_switch_port(port) && data(&counts.sent) > 0);
    let part = |(port, counts): (u32, &Counts)| {
        let capacity = setup.network.graph.link_of(port).rate.bytes_in(end).get();
        (setup.network.port_name(port), ratio(counts.bytes, capacity))
    };
    carried.map(part).collect()
}

fn credit(setup: &Setup<'_>, total: &Totals, lost: u64) -> Option<Credit> {
    setup.demand.proactive?;
    let Report { credits, metered, .. } = total.report;
    Some(Credit {
        granted: credits.granted,
        used: credits.used,
        wasted: credits.wasted,
        sent: metered,
        loss_rate: ratio(lost, metered),
    })
}

fn completions(setup: &Setup<'_>, measure: &Measure, started: usize) -> Fct {
    let ending = setup.flows[..started].iter().enumerate().filter(|(_, flow)| flow.size.is_some());
    let (mut times, mut unfinished, mut any) = (Vec::new(), 0, false);
    for (number, flow) in ending {
        any = true;
        match measure.flows.get(number).and_then(|counts| counts.complete) {
            Some(at) => times.push((at - flow.start).as_secs_f64()),
            None => unfinished += 1,
        }
    }
    Fct { all: any.then(|| Completion::of(times, unfinished)), ..Fct::default() }
}

fn flow_rows(setup: &Setup<'_>, measure: &Measure, reports: &[Report], end: Span) -> Vec<FlowRow> {
    let name = |node: shallop_core::Node| setup.network.names[node.0 as usize].clone();
    let pairs = reports.chunks_exact(2).zip(&setup.flows).enumerate();
    pairs
        .map(|(number, (ends, flow))| {
            let [sender, receiver] = ends else { unreachable!("flows have two ends") };
            let counts = measure.flows.get(number).copied().unwrap_or_default();
            let until = counts.complete.map_or(end, Time::since_start);
            let lasted = until.saturating_sub(flow.start.since_start());
            let credits = sender.credits;
            FlowRow {
                group: setup.plan.groups[flow.group].name.clone(),
                from: name(flow.from),
                to: name(flow.to),
                start_s: flow.start.since_start().as_secs_f64(),
                size_bytes: flow.size,
                fct_s: counts.complete.map(|at| (at - flow.start).as_secs_f64()),
                received_bytes: receiver.received,
                throughput_bps: rate(counts.ip_bytes, lasted),
                sent: sender.sent,
                retransmits: sender.retransmits,
                timeouts: sender.timeouts,
                credits: (credits.granted, credits.used, credits.wasted),
            }
        })
        .collect()
}
