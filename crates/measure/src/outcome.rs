//! The outcome of a run: its summary, computed from the counts of the probe, the ports and the flow log.

use crate::flow_log::{FlowLog, FlowRow};
use crate::flow_trace::FlowTrace;
use crate::fractions::{above, data, rate, ratio};
use crate::groups;
use crate::links::{self, bounded, bounded_map, used_part};
use crate::series::{Samples, Series};
use crate::{offered, pools, probe::Measurements};
use crate::{shares::fairness, warn};
use shallop_core::{Bytes, Class, DropCause, Span};
use shallop_plan::ResolvedRun;
use shallop_proto::EndpointCounters;
use shallop_results::Link;
use shallop_results::summary::{Credit, DropCount, Drops, Queue, Run, Window};
use shallop_switch::{Limit, Occupancy, Pool, PortCounters};
use std::collections::BTreeMap;

/// Everything that a run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub run: Run,
    /// Results of each flow, in order of start.
    pub flows: Vec<FlowRow>,
    pub series: Samples,
    /// Captured packets as a pcapng file; `None` if the scenario captures no links.
    pub capture: Option<Vec<u8>>,
}

impl Outcome {
    /// Adds the traces of flows to the series, and a warning if they are less dense than the plan says.
    pub fn add_traces(&mut self, traces: &FlowTrace) {
        self.series.add_traces(traces.values());
        self.run.warnings.extend(traces.note());
    }
}

/// Computes the summary of a run that has ended.
pub fn summarise(
    setup: &ResolvedRun<'_>, measure: &Measurements, ports: &[PortCounters], pools: &[Pool], log: &FlowLog<'_>,
    series: &Series,
) -> Run {
    let (end, total) = (series.end, Totals::new(ports, log.total()));
    let (dropped, lost) = (total.dropped, total.lost);
    let gone = |class: Class| dropped[class.index()] + lost[class.index()];
    let data = gone(Class::Data) + gone(Class::Unscheduled) + gone(Class::Legacy);
    let offered = setup.offered_load();
    let mut warnings = warn::warnings(setup, measure, ports, offered.as_deref(), series);
    warnings.extend(measure.load_phase.warning(end));
    warnings.extend(series.note());
    let places = Places::new(setup, measure, ports, offered.as_deref(), end);
    let longest = longest_data_queue(setup, measure);
    let final_second = series.at(end.saturating_sub(Span::from_secs(1))).zip(series.at(end));
    Run {
        scheme: setup.plan.schemes[setup.scheme].name.clone(),
        seed: setup.seed,
        point: BTreeMap::new(),
        duration_s: end.as_secs_f64(),
        flows: u64::from(measure.flows.started()),
        throughput_bps: rate(measure.ip_bytes(), end),
        wire_bps: rate(measure.wire_bytes, end),
        goodput_bps: rate(total.counters.received, end),
        kernel: None,
        rehearsal: None,
        programs: Vec::new(),
        load_throughput_bps: measure.load_phase.throughput(),
        windows: windows(setup, measure, series),
        loss_rate: ratio(data, total.counters.sent),
        mean_port_drop_rate: mean_drop_rate(setup, ports),
        drops: drops(&gone, setup.layout.unscheduled),
        drops_by_cause: places.drops_by_cause,
        loss_by_place: places.loss_by_place,
        loss_by_set: loss_by_set(setup, ports, total.counters.sent),
        utilization_by_place: places.utilization_by_place,
        links: places.links,
        groups: groups::groups(setup, measure, log, series),
        warnings,
        marks: measure.marks,
        queues: places.queues,
        left_out: places.left_out,
        pools: pools::occupancies(setup, pools),
        max_queue_bytes: longest.map_or(0, |(bytes, _)| bytes),
        max_queue_place: longest.map(|(_, port)| setup.network.port_name(port)),
        mean_queue_bytes: data_queues(setup, measure).map(|(_, queue)| queue.mean()).fold(0.0, f64::max),
        queue_limit_bytes: queue_limit(setup, pools),
        max_pool_bytes: pools.iter().map(|pool| pool.occupancy().max().get()).max(),
        offered: offered::offered(setup),
        rtt: measure.rtts().summary(),
        jain: final_second.and_then(|(from, to)| fairness(measure, from, to, |_| true)),
        jain_095_s: series.converge.reached().map(Span::as_secs_f64),
        utilization: utilization(setup, ports, end),
        retransmits: total.counters.retransmits,
        timeouts: total.counters.timeouts,
        credit: credit(setup, &total, gone(Class::Emulation) + gone(Class::Credit), measure.data),
        fct: log.fct(),
        packet_hops: ports.iter().flat_map(|port| port.sent).sum(),
        delivered_data_packets: measure.data,
        capture: None,
        wall_s: None,
    }
}

/// Dropped and lost packets by class. If `unscheduled`, data that needs no credit is also counted separately.
fn drops(gone: &impl Fn(Class) -> u64, unscheduled: bool) -> Drops {
    let without_credit = unscheduled.then(|| gone(Class::Unscheduled));
    Drops {
        data: gone(Class::Data) + gone(Class::Unscheduled) + gone(Class::Legacy),
        scheduled: without_credit.map(|_| gone(Class::Data)),
        unscheduled: without_credit,
        emulation: gone(Class::Emulation),
        credit: gone(Class::Credit),
        ack: gone(Class::Ack) + gone(Class::LegacyAck),
        control: gone(Class::Control),
    }
}

/// Results of ports, links and queues. In a large network each list keeps only its largest [`links::MAX_PLACES`].
struct Places {
    drops_by_cause: Vec<DropCount>,
    loss_by_place: BTreeMap<String, f64>,
    utilization_by_place: BTreeMap<String, f64>,
    links: Vec<Link>,
    queues: Vec<Queue>,
    left_out: BTreeMap<String, u64>,
}

impl Places {
    fn new(
        setup: &ResolvedRun<'_>, measure: &Measurements, ports: &[PortCounters], offered: Option<&[f64]>, end: Span,
    ) -> Self {
        let mut left_out = BTreeMap::new();
        let links = links::links(setup, measure, ports, offered, end);
        let drops = drops_by_cause(setup, measure);
        let queues = queues(setup, measure);
        let (lost, used) = (loss_by_place(setup, ports), utilizations(setup, ports, end));
        Self {
            drops_by_cause: bounded(drops, |drop| drop.packets as f64, "drops_by_cause", &mut left_out),
            loss_by_place: bounded_map(lost, "loss_by_place", &mut left_out),
            utilization_by_place: bounded_map(used, "utilization_by_place", &mut left_out),
            links: bounded(links, links::weight, "links", &mut left_out),
            queues: bounded(queues, |it| it.max_bytes as f64, "queues", &mut left_out),
            left_out,
        }
    }
}

/// Sums over all ports and endpoints of the run.
struct Totals {
    dropped: [u64; Class::COUNT],
    lost: [u64; Class::COUNT],
    counters: EndpointCounters,
}

impl Totals {
    fn new(ports: &[PortCounters], counters: EndpointCounters) -> Self {
        let (mut dropped, mut lost) = ([0; Class::COUNT], [0; Class::COUNT]);
        for port in ports {
            for class in 0..Class::COUNT {
                dropped[class] += port.dropped[class];
                lost[class] += port.lost[class];
            }
        }
        Self { dropped, lost, counters }
    }
}

fn windows(setup: &ResolvedRun<'_>, measure: &Measurements, series: &Series) -> Vec<Window> {
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
                jain: fairness(measure, from, to, |_| true),
                groups: groups::windows(setup, from, to),
                metered_loss: (kept + lost > 0).then(|| ratio(lost, kept + lost)),
            })
        })
        .collect()
}

fn mean_drop_rate(setup: &ResolvedRun<'_>, ports: &[PortCounters]) -> f64 {
    let (mut sum, mut used) = (0.0, 0u32);
    for (_, counts) in switch_ports(setup, ports) {
        let dropped = counts.dropped.iter().sum();
        let arrived = dropped + counts.sent.iter().sum::<u64>();
        sum += ratio(dropped, arrived);
        used += u32::from(arrived > 0);
    }
    sum / f64::from(used.max(1))
}

fn drops_by_cause(setup: &ResolvedRun<'_>, measure: &Measurements) -> Vec<DropCount> {
    let count = |(port, class, cause, packets): (u32, Class, DropCause, u64)| DropCount {
        place: setup.network.port_name(port),
        class: class.name().to_owned(),
        cause: cause.name().to_owned(),
        packets,
    };
    measure.drops.all().map(count).collect()
}

fn loss_by_place(setup: &ResolvedRun<'_>, ports: &[PortCounters]) -> BTreeMap<String, f64> {
    let places = ports.iter().enumerate().filter_map(|(port, counts)| {
        let dropped = data(&counts.dropped);
        let gone = dropped + data(&counts.lost);
        let offered = dropped + data(&counts.sent);
        (gone > 0).then(|| (setup.network.port_name(port as u32), ratio(gone, offered)))
    });
    places.collect()
}

fn loss_by_set(setup: &ResolvedRun<'_>, ports: &[PortCounters], sent: u64) -> BTreeMap<String, f64> {
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

fn queues(setup: &ResolvedRun<'_>, measure: &Measurements) -> Vec<Queue> {
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

/// Ports of switches, each with its number.
fn switch_ports<'a>(
    setup: &'a ResolvedRun<'_>, ports: &'a [PortCounters],
) -> impl Iterator<Item = (u32, &'a PortCounters)> {
    (0u32..).zip(ports).filter(|&(port, _)| setup.network.is_switch_port(port))
}

/// Data queues of switches, each with its port.
fn data_queues<'a>(
    setup: &'a ResolvedRun<'_>, measure: &'a Measurements,
) -> impl Iterator<Item = (u32, &'a Occupancy)> {
    let data = setup.layout.data;
    let switches = measure
        .queues
        .iter()
        .filter(move |(place, _)| usize::from(place.queue) == data && setup.network.is_switch_port(place.port));
    switches.map(|(place, queue)| (place.port, queue))
}

/// Largest maximum length of the data queues of switches, in bytes, and the queue's port, the first of several; `None`
/// if all were always empty.
fn longest_data_queue(setup: &ResolvedRun<'_>, measure: &Measurements) -> Option<(u64, u32)> {
    let lengths = data_queues(setup, measure).map(|(port, queue)| (queue.max().get(), port));
    let longest = lengths.max_by_key(|&(bytes, port)| (bytes, std::cmp::Reverse(port)));
    longest.filter(|(bytes, _)| *bytes > 0)
}

/// Largest limit of the data queues of switches, in bytes on the wire; `None` if one is unlimited.
fn queue_limit(setup: &ResolvedRun<'_>, pools: &[Pool]) -> Option<u64> {
    let limit = |port: u32| {
        let buffer = &setup.layout.memory.buffers[port as usize];
        if let Some(member) = buffer.member() {
            // Besides a pool, a queue may have private memory.
            let private = setup.switch(port).shared.map_or(Bytes::ZERO, |shared| shared.private);
            return Some((pools[member.pool as usize].size() + private).get());
        }
        let limit = buffer.limit(setup.layout.data)?;
        let frame = setup.network.full_frame(port).get();
        let bytes = limit.bytes.get().min(u64::from(limit.packets).saturating_mul(frame));
        (limit != Limit::NONE).then_some(bytes)
    };
    let limits = setup.network.switch_ports().map(limit);
    limits.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn utilization(setup: &ResolvedRun<'_>, ports: &[PortCounters], end: Span) -> f64 {
    let used = switch_ports(setup, ports).map(|(port, counts)| used_part(setup, port, counts, end));
    used.fold(0.0, f64::max)
}

fn utilizations(setup: &ResolvedRun<'_>, ports: &[PortCounters], end: Span) -> BTreeMap<String, f64> {
    let carried = switch_ports(setup, ports).filter(|(_, counts)| data(&counts.sent) > 0);
    carried.map(|(port, counts)| (setup.network.port_name(port), used_part(setup, port, counts, end))).collect()
}

fn credit(setup: &ResolvedRun<'_>, total: &Totals, lost: u64, data: u64) -> Option<Credit> {
    setup.requirements.credits?;
    let EndpointCounters { credits, metered, .. } = total.counters;
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
