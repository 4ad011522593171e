//! `ExpressPass` in a network that meters credits on every link, hosts' links included.

use crate::support::{DATA_QUEUE, FRAME, credit_network, dumbbell, flow};
use shallop_core::{BitsPerSec, Bytes, Class, DropCause, Envelope, Probe, QueueId, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::expresspass::rule::{CodeConfig, PaperConfig, Rule};
use shallop_proto::expresspass::{Config, Peer, StopPolicy};
use shallop_sim::{Flow, Simulator};
use shallop_topology::SenderDelay;

const LINK: BitsPerSec = BitsPerSec::gbps(10);
const PAYLOAD: u64 = 1460;

/// Totals over the run; `delivered` only from the time `from` on.
#[derive(Default)]
struct Tally {
    from: Time,
    credits_dropped: u64,
    data_dropped: u64,
    /// Data that reached its host, in bytes on the wire.
    delivered: Bytes,
    longest: Bytes,
}

impl Probe for Tally {
    fn on_queue(&mut self, _: Time, at: QueueId, held: Bytes) {
        if at.queue == DATA_QUEUE {
            self.longest = self.longest.max(held);
        }
    }
    fn on_drop(&mut self, _: Time, _: QueueId, packet: &Envelope, _: DropCause) {
        self.credits_dropped += u64::from(packet.class == Class::Credit);
        self.data_dropped += u64::from(packet.class == Class::Data);
    }
    fn on_deliver(&mut self, now: Time, packet: &Envelope) {
        if packet.class == Class::Data && now >= self.from {
            self.delivered += packet.bytes();
        }
    }
}

/// A flow of `frames` full frames, or without end.
struct Job {
    start: Span,
    frames: Option<u64>,
}

struct Setting {
    config: Config,
    rule: Rule,
    buffer: &'static str,
    end: Time,
}

/// Runs flows from one host each to one receiver. The span of a job is the delay of its host's link.
fn run(setting: &Setting, jobs: &[(Span, Job)]) -> Simulator<'static, Peer<Rule>, Tally> {
    let mut sim = start(setting, jobs);
    sim.run_until(setting.end);
    sim
}

/// The run at time zero.
fn start(setting: &Setting, jobs: &[(Span, Job)]) -> Simulator<'static, Peer<Rule>, Tally> {
    let Setting { config, rule, end, .. } = *setting;
    let net = dumbbell(
        [LINK, LINK],
        Span::from_us(5),
        (jobs.len(), 1),
        SenderDelay::Each(jobs.iter().map(|(delay, _)| *delay).collect()),
    );
    let mut flows: Vec<Flow<Peer<Rule>>> = (0..)
        .zip(jobs)
        .map(|(number, (_, job))| {
            let size = job.frames.map(|frames| frames * PAYLOAD);
            let hosts = [net.sites[0][number as usize], net.sites[1][0]];
            flow(hosts, Time::after_start(job.start), size, &config, rule, (7, number))
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    let tally = Tally { from: Time::ZERO + end.since_start() / 2, ..Tally::default() };
    Simulator::new(credit_network(net.graph, setting.buffer), Box::new(flows.into_iter()), tally)
}

fn code() -> Rule {
    Rule::code(CodeConfig::default())
}

fn paper() -> Rule {
    Rule::paper(PaperConfig::default())
}

fn at(ms: u64) -> Time {
    Time::after_start(Span::from_ms(ms))
}

fn endless(rule: Rule) -> Setting {
    Setting { config: Config::new(LINK), rule, buffer: "20KB/Gbps", end: at(40) }
}

/// Data on the bottleneck in the second half of the run, as a share of the link.
fn utilisation(sim: &Simulator<Peer<Rule>, Tally>) -> f64 {
    sim.probe.delivered.per(sim.now().since_start() / 2) / LINK.get() as f64
}

#[test]
fn one_flow_uses_94_8_percent_of_its_link() {
    for (rule, most_lost) in [(code(), 0.01), (paper(), 0.092)] {
        let jobs = [(Span::from_us(20), Job { start: Span::ZERO, frames: None })];
        let sim = run(&endless(rule), &jobs);
        let share = utilisation(&sim);
        assert!((share - 0.948).abs() < 0.001, "{rule:?}: {share}");
        let lost = sim.probe.credits_dropped as f64 / sim.ends().nth(1).unwrap().counters().metered as f64;
        assert!(lost <= most_lost, "{rule:?}: {lost} of its credits were lost");
        assert_eq!((sim.probe.data_dropped, sim.probe.longest), (0, Bytes::ZERO));
    }
}

#[test]
fn flows_with_equal_round_trip_times_share_a_link_fairly_and_queue_under_four_frames() {
    let attributed = PaperConfig { attribute: true, ..PaperConfig::default() };
    let rules = [(code(), 0.9), (paper(), 0.78), (Rule::paper(attributed), 0.88)];
    for (rule, least) in rules {
        for flows in [2, 4, 16, 64] {
            let job = |number| Job { start: Span::from_us(number), frames: None };
            let jobs: Vec<_> = (0..flows).map(|number| (Span::from_us(20), job(number))).collect();
            let sim = run(&endless(rule), &jobs);
            let share = utilisation(&sim);
            assert!((least..0.949).contains(&share), "{flows} flows, {rule:?}: {share}");
            let received = sim.ends().skip(1).step_by(2);
            let shares: Vec<f64> = received.map(|end| end.counters().received as f64).collect();
            let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
            let fairness = sum * sum / (shares.len() as f64 * squares);
            assert!(fairness > 0.95, "{flows} flows, {rule:?}: {fairness}");
            let longest = sim.probe.longest.ratio(Bytes::new(FRAME));
            assert!(longest < 4.0 && sim.probe.data_dropped == 0, "{flows} flows: {longest} frames");
        }
    }
}

/// Runs two flows whose credits follow each other without a gap (Figure 4 of flashpass-icnp21, a hundred times faster).
fn run_back_to_back_credits(
    other_delay: Span, other_start: Span, buffer: &'static str,
) -> Simulator<'static, Peer<Rule>, Tally> {
    let job = |start| Job { start, frames: Some(154) };
    let jobs = [(Span::from_us(195), job(Span::ZERO)), (other_delay, job(other_start))];
    let stop = StopPolicy::Demand;
    let config = Config { stop, min_jitter: 0.0, max_jitter: 0.0, ..Config::new(LINK) };
    let rule = Rule::code(CodeConfig { alpha: 1.0, ..CodeConfig::default() });
    let sim = run(&Setting { config, rule, buffer, end: at(300) }, &jobs);
    assert!(sim.ends().all(Endpoint::is_complete) && sim.is_idle());
    sim
}

#[test]
fn paced_credits_cause_a_data_queue_if_round_trip_times_differ() {
    let queue = |delay, start| {
        let sim = run_back_to_back_credits(Span::from_us(delay), Span::from_us(start), "1MB");
        sim.probe.longest.ratio(Bytes::new(FRAME))
    };
    for start in [0, 100, 200, 300] {
        assert!(queue(195, start) <= 6.0, "same round trips, {start} us apart");
    }
    // Both flows send 154 frames in the time that the link needs for 154: the data of one flow is queued.
    let crushed = queue(95, 300);
    assert!((140.0..=154.0).contains(&crushed), "{crushed} frames");
}

#[test]
fn data_dropped_from_that_queue_is_retransmitted() {
    let sim = run_back_to_back_credits(Span::from_us(95), Span::from_us(300), "50KB");
    assert!(sim.probe.data_dropped > 50, "{}", sim.probe.data_dropped);
    let received = sim.ends().map(|end| end.counters().received).sum::<u64>();
    assert_eq!(received, 2 * 154 * PAYLOAD);
}

#[test]
fn retirement_bounds_the_number_of_endpoints_and_changes_no_counter() {
    let config = Config::new(LINK);
    let setting = Setting { config, rule: code(), buffer: "200KB", end: at(100) };
    let job = |number: u64| {
        let (start, frames) = (Span::from_us(900 * number), Some(1 + number * 7 % 50));
        (Span::from_us(number % 30), Job { start, frames })
    };
    let jobs: Vec<_> = (0..100).map(job).collect();
    let kept = run(&setting, &jobs);
    let mut retiring = start(&setting, &jobs);
    retiring.enable_retirement();
    let mut reports = Vec::new();
    for ms in 1..=100 {
        retiring.run_until(at(ms));
        assert!(retiring.ends().count() <= 20, "at most ten flows are in progress");
        let over = retiring.take_retired().into_iter();
        reports.extend(over.map(|flow| (flow.flow, [flow.sender, flow.receiver])));
    }
    assert_eq!((retiring.ends().count(), retiring.started(), retiring.in_network()), (0, 100, 0));
    assert!(retiring.is_exhausted() && retiring.is_idle());
    reports.sort_by_key(|(flow, _)| *flow);
    let of_kept: Vec<_> = kept.ends().map(Endpoint::counters).collect();
    assert_eq!(reports.iter().flat_map(|(_, ends)| *ends).collect::<Vec<_>>(), of_kept);
}
