//! `ExpressPass` in a network that meters credits on every link, hosts' links included.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its network should fail there")]

use shallop_core::{
    BitsPerSec, BufferSize, Bytes, Class, DropCause, Envelope, Node, Probe, QueueId, Seed, Share,
    Span, Time,
};
use shallop_proto::Endpoint;
use shallop_proto::expresspass::rule::{CodeConfig, CodeRule, PaperConfig, PaperRule, Rule};
use shallop_proto::expresspass::{Config, Peer, Receiver, Sender, StopPolicy};
use shallop_sim::{Flow, Network, World};
use shallop_switch::{Limit, Meter, PortBuffer, PortConfig, QueueConfig};
use shallop_topology::topo::{LinkSpec, dumbbell};
use shallop_topology::{Graph, NicMode, Paths};

const LINK: BitsPerSec = BitsPerSec::gbps(10);
const FRAME: u64 = 1538;
const CREDIT: u64 = 84;
const PAYLOAD: u64 = 1460;
/// Queue of data, acknowledgements and control packets; credits have queue 0.
const DATA_QUEUE: u8 = 1;

/// What is counted, from some time on.
#[derive(Default)]
struct Tally {
    from: Time,
    credits_dropped: u64,
    data_dropped: u64,
    /// Data on the wire that reached its host.
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

/// Ports with a metered queue of eight credits before one for everything else.
fn network(graph: Graph, buffer: &str) -> Network {
    let share = Share::of(Bytes::new(CREDIT), Bytes::new(FRAME)).unwrap();
    let port = |number| {
        let link = graph.link_of(number);
        let meter = Meter::new(link.rate.share(share), Bytes::new(2 * CREDIT));
        let metered = QueueConfig { meter: Some(meter), ..QueueConfig::default() };
        let rest = QueueConfig { priority: 1, ..QueueConfig::default() };
        PortConfig {
            rate: link.rate,
            delay: link.delay,
            queues: vec![metered, rest],
            queue_of: [
                DATA_QUEUE, DATA_QUEUE, DATA_QUEUE, 0, 0, DATA_QUEUE, DATA_QUEUE, DATA_QUEUE,
            ],
            impairment: None,
            changes: vec![],
        }
    };
    let ports: Vec<_> = (0..graph.ports() as u32).map(port).collect();
    let buffer: BufferSize = buffer.parse().unwrap();
    let own = vec![Some(Limit { packets: 8, ..Limit::NONE }), None];
    let room = |port: &PortConfig| PortBuffer::new(Limit::of(buffer, port.rate), own.clone());
    let buffers = ports.iter().map(room).collect();
    let routes = Paths::of(&graph).routes(true, 0);
    Network { graph, ports, buffers, pools: vec![], routes, nic: NicMode::Fair }
}

/// A flow of `frames` full frames, or without end, that starts at `start`.
struct Job {
    start: Span,
    frames: Option<u64>,
}

/// What is the same for all flows of a run.
struct Setting {
    config: Config,
    rule: Rule,
    /// Of every port.
    buffer: &'static str,
    end: Time,
}

/// Flows of these jobs, each from a host of its own behind its delay, to one host.
fn run(setting: &Setting, jobs: &[(Span, Job)]) -> World<'static, Peer<Rule>, Tally> {
    let mut world = start(setting, jobs);
    world.run_until(setting.end);
    world
}

/// The same before anything has happened.
fn start(setting: &Setting, jobs: &[(Span, Job)]) -> World<'static, Peer<Rule>, Tally> {
    let Setting { config, rule, end, .. } = *setting;
    let delays: Vec<Span> = jobs.iter().map(|(delay, _)| *delay).collect();
    let trunk =
        LinkSpec { rate: LINK, access: LINK, delay: Span::from_us(5), mtu: Bytes::new(1500) };
    let net = dumbbell(&trunk, &delays, 1);
    let mut flows: Vec<Flow<Peer<Rule>>> = (0..)
        .zip(jobs)
        .map(|(number, (_, job))| {
            let chance = Seed::new(7).stream("credits", number);
            let size = job.frames.map(|frames| frames * PAYLOAD);
            let from: Node = net.left[number as usize];
            Flow {
                facts: shallop_core::Facts::between(from, net.right[0]),
                start: Time::after_start(job.start),
                from,
                to: net.right[0],
                sender: Peer::sender(Sender::new(&config, size)),
                receiver: Peer::receiver(Receiver::new(&config, rule, chance)),
                connections: None,
            }
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    let tally = Tally { from: Time::ZERO + end.since_start() / 2, ..Tally::default() };
    World::new(network(net.graph, setting.buffer), Box::new(flows.into_iter()), tally)
}

fn code() -> Rule {
    Rule::Code(CodeRule::new(CodeConfig::default()))
}

fn paper() -> Rule {
    Rule::Paper(PaperRule::new(PaperConfig::default()))
}

fn at(ms: u64) -> Time {
    Time::after_start(Span::from_ms(ms))
}

fn endless(rule: Rule) -> Setting {
    Setting { config: Config::new(LINK), rule, buffer: "20KB/Gbps", end: at(40) }
}

/// Data on the bottleneck in the second half of the run, as a share of the link.
fn utilisation(world: &World<Peer<Rule>, Tally>) -> f64 {
    world.probe.delivered.per(world.now().since_start() / 2) / LINK.get() as f64
}

#[test]
fn one_flow_fills_what_credits_leave_of_its_link() {
    for (rule, most_lost) in [(code(), 0.01), (paper(), 0.092)] {
        let jobs = [(Span::from_us(20), Job { start: Span::ZERO, frames: None })];
        let world = run(&endless(rule), &jobs);
        let share = utilisation(&world);
        assert!((share - 0.948).abs() < 0.001, "{rule:?}: {share}");
        let lost = world.probe.credits_dropped as f64
            / world.ends().nth(1).unwrap().counters().metered as f64;
        assert!(lost <= most_lost, "{rule:?}: {lost} of its credits were lost");
        assert_eq!((world.probe.data_dropped, world.probe.longest), (0, Bytes::ZERO));
    }
}

#[test]
fn flows_of_one_round_trip_time_share_a_link_and_queue_next_to_nothing() {
    let attributed = PaperConfig { attribute: true, ..PaperConfig::default() };
    let rules = [(code(), 0.9), (paper(), 0.78), (Rule::Paper(PaperRule::new(attributed)), 0.88)];
    for (rule, least) in rules {
        for flows in [2, 4, 16, 64] {
            let job = |number| Job { start: Span::from_us(number), frames: None };
            let jobs: Vec<_> = (0..flows).map(|number| (Span::from_us(20), job(number))).collect();
            let world = run(&endless(rule), &jobs);
            let share = utilisation(&world);
            assert!((least..0.949).contains(&share), "{flows} flows, {rule:?}: {share}");
            let received = world.ends().skip(1).step_by(2);
            let shares: Vec<f64> = received.map(|end| end.counters().received as f64).collect();
            let (sum, squares) =
                (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
            let fairness = sum * sum / (shares.len() as f64 * squares);
            assert!(fairness > 0.95, "{flows} flows, {rule:?}: {fairness}");
            let longest = world.probe.longest.ratio(Bytes::new(FRAME));
            assert!(
                longest < 4.0 && world.probe.data_dropped == 0,
                "{flows} flows: {longest} frames"
            );
        }
    }
}

/// Two flows whose credits follow each other without a gap (Figure 4 of flashpass-icnp21, a hundred times faster).
fn crush(
    other_delay: Span,
    other_start: Span,
    buffer: &'static str,
) -> World<'static, Peer<Rule>, Tally> {
    let job = |start| Job { start, frames: Some(154) };
    let jobs = [(Span::from_us(195), job(Span::ZERO)), (other_delay, job(other_start))];
    let stop = StopPolicy::Demand;
    let config = Config { stop, min_jitter: 0.0, max_jitter: 0.0, ..Config::new(LINK) };
    let rule = Rule::Code(CodeRule::new(CodeConfig { alpha: 1.0, ..CodeConfig::default() }));
    let world = run(&Setting { config, rule, buffer, end: at(300) }, &jobs);
    assert!(world.ends().all(Endpoint::is_complete) && world.is_idle());
    world
}

#[test]
fn credits_in_good_order_crush_their_data_if_round_trips_differ() {
    let queue = |delay, start| {
        let world = crush(Span::from_us(delay), Span::from_us(start), "1MB");
        world.probe.longest.ratio(Bytes::new(FRAME))
    };
    for start in [0, 100, 200, 300] {
        assert!(queue(195, start) <= 6.0, "same round trips, {start} us apart");
    }
    // 154 frames of each arrive in the time of 154 and a little.
    let crushed = queue(95, 300);
    assert!((140.0..=154.0).contains(&crushed), "{crushed} frames");
}

#[test]
fn crushed_data_that_is_dropped_is_sent_again() {
    let world = crush(Span::from_us(95), Span::from_us(300), "50KB");
    assert!(world.probe.data_dropped > 50, "{}", world.probe.data_dropped);
    let received = world.ends().map(|end| end.counters().received).sum::<u64>();
    assert_eq!(received, 2 * 154 * PAYLOAD);
}

#[test]
fn flows_that_are_over_give_up_their_seats_and_nothing_else_changes() {
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
        assert!(retiring.ends().count() <= 20, "few flows are under way at a time");
        let over = retiring.take_retired().into_iter();
        reports.extend(over.map(|flow| (flow.flow, [flow.sender, flow.receiver])));
    }
    assert_eq!((retiring.ends().count(), retiring.started(), retiring.in_network()), (0, 100, 0));
    assert!(retiring.is_exhausted() && retiring.is_idle());
    reports.sort_by_key(|(flow, _)| *flow);
    let of_kept: Vec<_> = kept.ends().map(Endpoint::counters).collect();
    assert_eq!(reports.iter().flat_map(|(_, ends)| *ends).collect::<Vec<_>>(), of_kept);
}
