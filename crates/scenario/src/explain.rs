//! What `check --explain` prints: values derived from a scenario before anything runs, each with its formula.

mod gemini;
mod links;
mod main_values;
mod rules;
mod traffic;

use shallop_options::{Key, StringEnum};
use std::collections::BTreeSet;

pub use links::LinkRow;
pub use main_values::main_values;
pub use rules::rules;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Pace, Share, Span};
use shallop_plan::plan::{FlashPass, GraphLink, Plan, Scheme, Signals, Switch, Topology, Transport};
use shallop_plan::wait::{self, WaitMargin};
use shallop_plan::{ResolvedNetwork, ResolvedRun, SetupError};
use shallop_plan::{bcc::Thresholds, flows};
use shallop_plan::{pools, proxy::Clean, study::Study, traffic_paths::PairRtt, transport::Configured};
use shallop_proto::wire;
use shallop_results::DerivedValue;
use shallop_topology::Imported;

/// A list of derived values under a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What the values are about: a network, or a scheme on it.
    pub title: String,
    pub lines: Vec<DerivedValue>,
    /// The two directions of each link of a network, the most loaded first.
    pub links: Vec<LinkRow>,
}

impl Section {
    fn say(&mut self, what: impl Into<String>, value: impl Into<String>, how: impl Into<String>) {
        self.lines.push(DerivedValue { what: what.into(), value: value.into(), how: how.into() });
    }
}

/// The amount of work of a study: "2 points × 3 schemes × 5 seeds = 30 runs of 10s each".
pub fn work(study: &Study) -> String {
    let schemes: BTreeSet<usize> = study.points.iter().map(|p| p.plan.schemes.len()).collect();
    let range = |least: String, most: String| {
        if least == most { least } else { format!("{least} to {most}") }
    };
    let few = schemes.first().copied().unwrap_or(0);
    let many = schemes.last().copied().unwrap_or(0);
    let durations: BTreeSet<Span> = study.points.iter().map(|p| p.plan.duration).collect();
    let shortest = durations.first().copied().unwrap_or_default();
    let longest = durations.last().copied().unwrap_or_default();
    let counted = |count: String, noun: &str| match count.as_str() {
        "1" => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    format!(
        "{} × {} × {} = {} of {} each",
        counted(study.points.len().to_string(), "point"),
        counted(range(few.to_string(), many.to_string()), "scheme"),
        counted(study.seeds.len().to_string(), "seed"),
        counted(study.jobs().len().to_string(), "run"),
        range(shortest.to_string(), longest.to_string()),
    )
}

/// The derived values of every point and scheme. Random delays are those of the first seed.
///
/// # Errors
/// If some run cannot be made.
pub fn explain(study: &Study) -> Result<Vec<Section>, SetupError> {
    let seed = study.seeds.first().copied().unwrap_or_default();
    let mut sections = Vec::new();
    for point in &study.points {
        let named = |what: &str| {
            if point.name.is_empty() { what.to_owned() } else { format!("{what}, point {}", point.name) }
        };
        let common = ResolvedNetwork::new(&point.plan, seed)?;
        for scheme in 0..point.plan.schemes.len() {
            let setup = common.scheme(scheme)?;
            if scheme == 0 {
                let links = links::rows(&setup);
                sections.push(Section { links, ..network(&setup, named("network")) });
            }
            let title = named(&format!("scheme {}", point.plan.schemes[scheme].name));
            let mut section = transport(&setup, title)?;
            if let (Some(own), Some(longest)) = (&point.plan.schemes[scheme].switches, setup.traffic_paths.longest) {
                switches(&setup, own, longest.base_rtt, &mut section);
            }
            sections.push(section);
        }
    }
    sections.extend(study.points.first().into_iter().flat_map(|point| parameters(&point.plan)));
    Ok(sections)
}

/// The parameters of every scheme, written or by default, each with its description.
fn parameters(plan: &Plan) -> Vec<Section> {
    let of = |scheme: &Scheme| {
        let title = format!("parameters of scheme {}", scheme.name);
        let mut section = Section { title, ..Section::default() };
        for (key, value) in scheme.transport.values() {
            let about = key.about.trim().trim_end_matches('.');
            section.say(key.name, value.unwrap_or_else(|| "–".to_owned()), about);
        }
        section
    };
    plan.schemes.iter().map(of).collect()
}

/// The network and the traffic of a run: nodes, links, round trips, arrivals.
pub fn network(setup: &ResolvedRun<'_>, title: String) -> Section {
    let (plan, graph) = (setup.plan, &setup.network.graph);
    let mut section = Section { title, ..Section::default() };
    let hosts = graph.hosts().count();
    section.say("nodes", graph.nodes.len().to_string(), format!("{hosts} hosts, the others switches"));
    section.say("ports", graph.ports().to_string(), "two for each link");
    if let Topology::File(imported, faults) = plan.topology.unscaled() {
        of_file(imported, faults, &mut section);
    }
    let (looked, same) = flows::symmetric_flows(setup, |_| true);
    section.say(
        "flows with symmetric paths",
        same.to_string(),
        format!("of the first {looked}: acknowledgements cross the links of the data"),
    );
    links::bursts(setup, &mut section);
    links::changes(setup, &mut section);
    traffic::explain(setup, &mut section);
    let how = "a run ends earlier once all counted flows are complete";
    section.say("duration", plan.duration.to_string(), how);
    if let Some(interval) = plan.record {
        let times = plan.duration.as_ps() / interval.as_ps();
        let how = format!("at most {times} samples of a flow: duration / {interval}");
        section.say("traces of flows", format!("every {interval}"), how);
    }
    let rtt = |pair: Option<PairRtt>| pair.map(|pair| pair.base_rtt);
    let (least, most) = (rtt(setup.traffic_paths.shortest), rtt(setup.traffic_paths.longest));
    let (Some(least), Some(most)) = (least, most) else { return section };
    let how = "84 B there and back through idle links: propagation + transmission at every hop";
    section.say("smallest base round trip", time(least), how);
    section.say(
        "largest base round trip",
        time(most),
        format!("the same on the longest path; delays of seed {}", setup.seed),
    );
    switches(setup, &plan.switches, most, &mut section);
    section
}

/// Adds what a network file gives: hosts that were made for its nodes, the origin of its links, and their faults.
fn of_file(imported: &Imported, faults: &[(usize, GraphLink)], section: &mut Section) {
    let sites: Vec<&(String, usize)> = imported.nodes.iter().filter(|node| node.1 > 0).collect();
    if let Some((first, each)) = sites.first() {
        let (count, rate) = (sites.len(), imported.access.rate);
        let how = format!("{each} at each of {count} nodes on links of {rate}; \"{first}\" is {first}.h0 and so on");
        section.say("hosts made for nodes of the file", (each * count).to_string(), how);
    }
    section.say("links of the file", imported.links.len().to_string(), imported.origin.to_string());
    if !faults.is_empty() {
        let ends = |(_, link): &(usize, GraphLink)| {
            let (a, b) = link.between;
            format!("{}-{}", imported.nodes[a].0, imported.nodes[b].0)
        };
        let names: Vec<String> = faults.iter().map(ends).collect();
        section.say("links of the file with faults", faults.len().to_string(), names.join(", "));
    }
}

/// Adds the settings of the ports of `switches`, for each rate of links. `most` is the largest base round-trip time.
fn switches(setup: &ResolvedRun<'_>, switches: &[Switch], most: Span, section: &mut Section) {
    for (switch, rate, mtu) in switch_ports(setup) {
        let switch = &switches[switch];
        let at = format!("of \"{}\" at {rate}", switch.name);
        let frame = u64::from(wire::frame(mtu.get()));
        let (buffer, how) = buffer(switch, rate, frame);
        section.say(format!("buffer {at}"), size(buffer), how);
        let product = rate.bytes_in(most).get();
        let how = format!("{rate} × {}, the largest base round trip", time(most));
        section.say(format!("bandwidth-delay product {at}"), size(product), how);
        let part = ratio(buffer, product) * 100.0;
        section.say(format!("buffer over bandwidth-delay product {at}"), format!("{part:.3} %"), "of one port");
        discipline(switch, Pace::new(rate).quote(Bytes::new(buffer)), &at, section);
        if let Some(shared) = switch.shared {
            let how = match shared.limits[0] {
                Some(_) => "static, at most half of the size, + private",
                None => "alpha × size / (1 + 2 × alpha) + private",
            };
            let what = format!("most that each of two full queues holds {at}");
            section.say(what, size(shared.share_of_queue(2).get()), how);
        }
        if let Some(marking) = switch.marking(rate) {
            let [min, max] = [marking.min, marking.max].map(|it| in_bytes(it, rate, frame));
            let how = match (switch.mark, switch.bcc) {
                (None, Some(bcc)) => format!("{rate} × {} × {}: C RTT lambda", bcc.rtt, bcc.lambda),
                _ => marking.max.to_string(),
            };
            if min < max {
                let what = format!("lower ECN threshold {at}");
                section.say(what, size(min), marking.min.to_string());
            }
            section.say(format!("ECN threshold {at}"), size(max), how);
        }
        for (name, bucket) in [("shaper", switch.shaper), ("policer", switch.policer)] {
            let Some((to, burst)) = bucket else { continue };
            let how = format!("tokens for {burst} at once after a pause of {}", time(Pace::new(to).quote(burst)));
            section.say(format!("{name} {at}"), to.to_string(), how);
        }
        if let Some(drop) = switch.drop {
            let [min, max] = [drop.min, drop.max].map(|it| size(in_bytes(it, rate, frame)));
            let whom = if drop.signals == Signals::DropAll { "all packets" } else { "packets not ECN-capable" };
            let how = format!("up to {} at {max}, above it all: {whom}", drop.max_probability);
            section.say(format!("drops from {at}"), min, how);
        }
    }
    pools(setup, switches, section);
}

/// Adds the queue discipline of the data queues, if not FIFO, and the time to drain a full buffer.
fn discipline(switch: &Switch, drain: Span, at: &str, section: &mut Section) {
    let Some(aqm) = switch.aqm else { return };
    let written = |(key, value): (&Key, Option<String>)| Some(format!("{} = {}", key.name, value?));
    let options: Vec<String> = aqm.values().into_iter().filter_map(written).collect();
    section.say(format!("discipline {at}"), aqm.name().word(), options.join(", "));
    let how = "buffer / rate: a discipline whose target is longer acts only when the buffer is full";
    section.say(format!("time to drain a full buffer {at}"), time(drain), how);
}

/// Adds the memory pools, pools with equal settings once.
fn pools(setup: &ResolvedRun<'_>, switches: &[Switch], section: &mut Section) {
    let network = &setup.network;
    let mut seen = BTreeSet::new();
    for pool in pools::pools(switches, network) {
        let switch = &switches[pool.switch];
        let (rate, ports) = (pool.rate(network), pool.ports.len());
        let Some(shared) = switch.shared.filter(|_| seen.insert((pool.switch, rate, ports))) else {
            continue;
        };
        let at = format!("of \"{}\" with {ports} ports up to {rate}", switch.name);
        let of = |bytes: Bytes| size(bytes.get());
        let each = of(shared.private);
        let how = match shared.limits[0] {
            Some(limit) => format!("at most {} of it in each queue; {each} private for each queue", of(limit)),
            None => format!("Dynamic Thresholds, alpha = {}; {each} private for each queue", shared.alpha),
        };
        section.say(format!("shared memory {at}"), of(shared.size), how);
        if let Some(marking) = shared.mark {
            let when = format!("{:?}", marking.at).to_lowercase();
            let how = format!("at {when}; above {} every packet", marking.max);
            section.say(format!("shared memory marks above {at}"), marking.min.to_string(), how);
        }
        let thresholds = pool.thresholds(switches, network);
        for (what, value, how) in thresholds.iter().flat_map(Thresholds::lines) {
            section.say(format!("{what} {at}"), value, how);
        }
    }
}

/// The distinct kinds of switch ports: index of the switch's settings, rate, and largest packet.
fn switch_ports(setup: &ResolvedRun<'_>) -> BTreeSet<(usize, BitsPerSec, Bytes)> {
    setup.network.port_kinds(setup.network.switch_ports())
}

fn transport(setup: &ResolvedRun<'_>, title: String) -> Result<Section, SetupError> {
    let mut section = Section { title, ..Section::default() };
    for (rate, mtu, share, weights) in links(setup) {
        let frame = u64::from(wire::frame(mtu.get()));
        let Some(share) = share else {
            let most = rate.get() as f64 * ratio(mtu.get(), frame);
            let how = format!("{rate} × {} B of IP / {frame} B on the wire; acknowledgements take more", mtu.get());
            section.say(format!("highest data rate at {rate}"), gigabits(most), how);
            continue;
        };
        let formula = Formula::of(share, frame, weights);
        let (at, text) = (format!("at {rate}"), formula.text());
        section.say(format!("metered share {at}"), format!("{:.4} %", share.as_f64() * 100.0), text);
        let metered = rate.get() as f64 * share.as_f64();
        section.say(format!("metered rate {at}"), gigabits(metered), format!("{rate} × share"));
        let packets = metered / (f64::from(wire::MIN_FRAME) * 8.0);
        let most = packets * mtu.get() as f64 * 8.0;
        let how = format!("metered rate / 84 B × {} B at IP", mtu.get());
        section.say(format!("highest data rate {at}"), gigabits(most), how);
    }
    traffic::datagrams(&setup.plan.schemes[setup.scheme].transport, &mut section);
    if let Transport::FlashPass(config) = &setup.plan.schemes[setup.scheme].transport {
        waiting(setup, config, &mut section)?;
    }
    gemini::guidance(setup, &mut section);
    if let Some(clean) = &setup.plan.schemes[setup.scheme].clean {
        proxy(setup, clean, &mut section);
    }
    Ok(section)
}

/// Adds the ports of a CLEAN proxy, and the constants of its window law as rounded.
fn proxy(setup: &ResolvedRun<'_>, clean: &Clean, section: &mut Section) {
    let names = |ports: &[u32]| {
        let names: Vec<String> = ports.iter().map(|&port| setup.network.port_name(port)).collect();
        names.join(", ")
    };
    let (edges, last_hop) = (names(&clean.edges), names(&clean.last_hop));
    let how = "ports whose packets the proxy makes ECN-capable";
    section.say("CLEAN's edge", edges, how);
    let how = "ports behind whose queues the proxy counts marks and clears them";
    section.say("CLEAN's last hop", last_hop, how);
    let law = &clean.config.law;
    let (scale, shift) = (law.scale.units(), law.gain.shift());
    let (c, gain) = (f64::from(scale) / 1024.0, f64::from(1_u32 << shift));
    let how = format!("`scale`, rounded to {scale} / 1024");
    section.say("CLEAN's C", format!("{c:.6}"), how);
    section.say("CLEAN's g", format!("{:.6}", 1.0 / gain), format!("`gain`, 1 / 2^{shift}"));
}

fn waiting(setup: &ResolvedRun<'_>, config: &FlashPass, section: &mut Section) -> Result<(), SetupError> {
    let wait = wait::wait(setup, config)?;
    let Some(largest) = setup.traffic_paths.longest.map(|way| way.base_rtt) else {
        return Ok(());
    };
    if config.options.wait.is_some() {
        let over = wait.as_secs_f64() - largest.as_secs_f64();
        let how = format!("as given; {:.3} ms above the largest base round trip", over * 1e3);
        section.say("waiting time", time(wait), how);
        return Ok(());
    }
    let margin = WaitMargin::for_run(setup, config);
    let how = format!(
        "{} hops there × ({} × {} + {}) + {} hops back × ({} × {} + {})",
        margin.hops,
        margin.queued + 1,
        time(margin.gap),
        time(margin.frame),
        margin.hops,
        margin.returned,
        time(margin.gap),
        time(margin.frame)
    );
    section.say("margin of the waiting time", time(margin.total()), how);
    let how = format!("{} + {}: largest base round trip + margin", time(largest), time(margin.total()));
    section.say("waiting time", time(wait), how);
    Ok(())
}

/// The capacity in bytes of the data queue of a port, and its formula.
pub(crate) fn buffer(switch: &Switch, rate: BitsPerSec, frame: u64) -> (u64, String) {
    let Some(shared) = switch.shared else {
        let buffer = in_bytes(switch.buffer, rate, frame);
        return (buffer, format!("{} = {:.1} frames of {frame} B", switch.buffer, ratio(buffer, frame)));
    };
    let buffer = shared.share_of_queue(1).get();
    let part = match shared.limits[0] {
        Some(limit) => format!("{limit} of {}", shared.size),
        None => format!("{} × {} / (1 + {})", shared.alpha, shared.size, shared.alpha),
    };
    let (private, frames) = (shared.private, ratio(buffer, frame));
    let how = format!("{part} + {private}, of one full queue alone = {frames:.1} frames of {frame} B");
    (buffer, how)
}

/// A kind of link: rate, largest packet, metered share, and the weights that reduce the share.
type LinkKind = (BitsPerSec, Bytes, Option<Share>, Option<(u32, u32)>);

/// The distinct kinds of links, by what their ports meter.
fn links(setup: &ResolvedRun<'_>) -> Vec<LinkKind> {
    let ports = 0..setup.network.graph.ports() as u32;
    let mut kinds = Vec::new();
    for port in ports {
        let link = setup.network.graph.link_of(port);
        let shares = setup.layout.shares[port as usize];
        let kind = (link.rate, link.mtu, shares.metered, shares.weights);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// The terms of a metered share: a number of metered packets, the size of a data frame for each, and the bytes of
/// returning credits.
struct Formula {
    packets: u64,
    frame: u64,
    credit: u64,
    /// The weight of the data queue, and the sum of the weights, where transports without credits have a queue.
    weights: Option<(u64, u64)>,
}

/// The formula of a metered share.
pub(crate) fn metered_formula(share: Share, frame: u64, weights: Option<(u32, u32)>) -> String {
    Formula::of(share, frame, weights).text()
}

impl Formula {
    fn of(share: Share, frame: u64, weights: Option<(u32, u32)>) -> Self {
        let (part, whole) = share.parts();
        let smallest = u64::from(wire::MIN_FRAME);
        let packets = (part / smallest).max(1);
        let weights = weights.map(|(data, legacy)| (data.into(), u64::from(data + legacy)));
        let (own, all) = weights.unwrap_or((1, 1));
        let credit = whole.saturating_sub(packets * smallest + packets / own * all * frame);
        Self { packets, frame, credit, weights }
    }

    fn text(&self) -> String {
        let Self { packets, frame, credit, weights } = self;
        if let Some((own, all)) = weights {
            let frames = packets / own * all;
            let credit = if *credit == 0 { String::new() } else { format!(" + {credit}") };
            return format!("{packets}·84 / ({packets}·84 + {frames}·{frame}{credit}): data have {own}/{all} of it");
        }
        match (packets, credit) {
            (1, 0) => format!("84 / (84 + {frame})"),
            (1, credit) => format!("84 / (84 + {frame} + {credit}): credits come back this way"),
            (n, 0) => format!("{n}·84 / ({n}·(84 + {frame}))"),
            (n, credit) => {
                format!("{n}·84 / ({n}·(84 + {frame}) + {credit}): credits come back, {n} a packet")
            }
        }
    }
}

fn in_bytes(size: BufferSize, rate: BitsPerSec, frame: u64) -> u64 {
    match size {
        BufferSize::Packets(packets) => u64::from(packets) * frame,
        _ => size.bytes_at(rate).map_or(0, Bytes::get),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e6 => format!("{:.3} KB", bytes / 1e3),
        bytes => format!("{:.3} MB", bytes / 1e6),
    }
}

fn gigabits(bits: f64) -> String {
    format!("{:.6} Gb/s", bits / 1e9)
}

fn time(span: Span) -> String {
    let seconds = span.as_secs_f64();
    match seconds {
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_plan::study::Variant;
    use std::collections::BTreeMap;

    fn study() -> Study {
        let plan = crate::reference_run::plan(20, Span::from_secs(5)).unwrap();
        Study {
            title: plan.title.clone(),
            about: String::new(),
            takes: (String::new(), String::new()),
            quick: false,
            notes: Vec::new(),
            points: vec![Variant { name: String::new(), set: BTreeMap::new(), plan }],
            seeds: vec![1, 2],
            claims: Vec::new(),
            question: None,
        }
    }

    fn value<'a>(sections: &'a [Section], title: &str, what: &str) -> &'a DerivedValue {
        let section = sections.iter().find(|section| section.title == title).unwrap();
        let lines: Vec<&str> = section.lines.iter().map(|line| line.what.as_str()).collect();
        let found = section.lines.iter().find(|line| line.what == what);
        found.unwrap_or_else(|| panic!("{what} is not among {lines:?}"))
    }

    #[test]
    fn the_work_is_counted() {
        assert_eq!(work(&study()), "1 point × 3 schemes × 2 seeds = 6 runs of 5s each");
    }

    #[test]
    fn every_derived_value_has_its_formula() {
        let sections = explain(&study()).unwrap();
        let buffer = value(&sections, "network", "buffer of \"default\" at 10Gbps");
        assert_eq!(buffer.value, "200.000 KB");
        assert!(buffer.how.ends_with("/Gbps = 130.0 frames of 1538 B"), "{}", buffer.how);
        let share = value(&sections, "scheme flashpass", "metered share at 10Gbps");
        assert_eq!((share.value.as_str(), share.how.as_str()), ("5.1788 %", "84 / (84 + 1538)"));
        let most = value(&sections, "scheme flashpass", "highest data rate at 10Gbps");
        assert_eq!(most.value, "9.247842 Gb/s");
        let most = value(&sections, "scheme cubic", "highest data rate at 10Gbps");
        assert_eq!(most.value, "9.752926 Gb/s");
        let wait = value(&sections, "scheme flashpass", "waiting time");
        assert!(wait.how.contains("largest base round trip + margin"), "{}", wait.how);
    }
}
