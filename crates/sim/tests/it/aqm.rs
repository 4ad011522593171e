//! TCP through queue disciplines that drop packets before the buffer is full: every flow completes and retires, and the
//! mean queue stays below the discipline's target.

use crate::support::{dumbbell, flow_between};
use shallop_control::{Reno, reno};
use shallop_core::{BitsPerSec, Bytes, DropCause, Envelope, Probe, QueueId, Seed, Span, Time};
use shallop_proto::tcp::{Config, EcnConfig, Receiver, Sender, Stack, Tcp};
use shallop_sim::{Flow, Network, Simulator};
use shallop_switch::{
    Aqm, AqmPort, Discipline, Limit, Occupancy, Pool, PoolConfig, PoolMember, PoolQuota, PortBuffer, PortConfig,
    QueueConfig,
};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use shallop_switch::{discipline::fq_codel::FqCoDelConfig, discipline::pie::PieConfig};
use shallop_topology::{Dumbbell, NicMode, Paths, SenderDelay};

const LINK: BitsPerSec = BitsPerSec::at_least_one(100_000_000);
const MTU: Bytes = Bytes::new(1538);
/// 100 Mb/s times 40 ms.
const BUFFER: Bytes = Bytes::new(500_000);
const FLOWS: u64 = 6;

fn second(second: u64) -> Time {
    Time::after_start(Span::from_secs(second))
}

/// Events at the port under test.
#[derive(Default)]
struct Watch {
    port: u32,
    queue: Occupancy,
    drops: Vec<(Time, DropCause)>,
    marks: u32,
}

impl Probe for Watch {
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        // From 2 s on, when slow start is over, to 4 s: 60 MB take 4.9 s.
        if at.port == self.port && now >= second(2) && now < second(4) {
            self.queue.set(now, held);
        }
    }
    fn on_drop(&mut self, now: Time, at: QueueId, _: &Envelope, why: DropCause) {
        assert_eq!(at.port, self.port, "nothing is dropped elsewhere");
        self.drops.push((now, why));
    }
    fn on_mark(&mut self, _: Time, _: QueueId, _: &Envelope) {
        self.marks += 1;
    }
}

#[derive(Clone, Debug)]
struct Setting {
    discipline: Discipline,
    /// Whether the port uses a shared memory pool instead of a buffer of its own.
    pooled: bool,
    ecn: bool,
    /// Whether the port under test belongs to the only sending host, whose queue is finite, instead of to the switch.
    at_host: bool,
}

impl Setting {
    fn new(discipline: Discipline) -> Self {
        Self { discipline, pooled: false, ecn: false, at_host: false }
    }
}

/// Six flows from six hosts, or from one, to one host over 20 ms and a link as fast as the hosts' links.
fn sim(setting: &Setting) -> Simulator<'static, Tcp<Reno>, Watch> {
    let hosts = if setting.at_host { 1 } else { FLOWS as usize };
    let net = dumbbell([LINK, LINK], Span::from_ms(5), (hosts, 1), SenderDelay::One(Span::from_ms(5)));
    // Port 2 is the first host's.
    let tested = if setting.at_host { 2 } else { Dumbbell::BOTTLENECK };
    let port = |number: u32| {
        let discipline = if number == tested { setting.discipline.clone() } else { Discipline::default() };
        let queues = vec![QueueConfig { discipline, ..QueueConfig::default() }];
        PortConfig::new(LINK, net.graph.link_of(number).delay, queues)
    };
    let ports: Vec<_> = (0..net.graph.ports() as u32).map(port).collect();
    let claim = PoolQuota { alpha: 1e6, limit: None, private: Bytes::ZERO };
    let room = |number: u32| match (number == tested, setting.pooled) {
        (true, true) => PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, vec![None], &[claim]),
        (true, false) => PortBuffer::new(Limit { bytes: BUFFER, ..Limit::NONE }, vec![None]),
        (false, _) => PortBuffer::new(Limit::NONE, vec![None]),
    };
    let buffers = (0..net.graph.ports() as u32).map(room).collect();
    let pool = PoolConfig { size: BUFFER, cell: Bytes::new(1), red: None };
    let pools = if setting.pooled { vec![Pool::new(&pool, 1)] } else { vec![] };
    let routes = Paths::new(&net.graph).routes(true, 0);
    let nic = if setting.at_host { NicMode::Fifo } else { NicMode::Fair };
    let graph = net.graph;
    let network = Network { graph, ports, buffers, pools, routes, nic };
    let marks = if setting.ecn { EcnConfig::CLASSIC } else { EcnConfig::OFF };
    let config = Config { ecn: marks, ..Stack::LINUX_IDEAL.tcp };
    let to = net.sites[1][0];
    let flows: Vec<Flow<Tcp<Reno>>> = (0..FLOWS)
        .map(|number| {
            let from = net.sites[0][number as usize % hosts];
            let size = Some(10_000_000 + 100_000 * number);
            let reno = Reno::new(&reno::Config::RFC, &config.start(LINK, number));
            let ends = [Tcp::sender(Sender::new(&config, reno, size)), Tcp::receiver(Receiver::new(&config, size))];
            flow_between([from, to], Time::after_start(Span::from_ms(10 * number)), ends)
        })
        .collect();
    Simulator::new(network, Box::new(flows.into_iter()), Watch { port: tested, ..Watch::default() })
}

fn disciplines() -> [Discipline; 4] {
    let stream = Seed::new(1).stream("aqm", 0);
    let all = [
        Aqm::CoDel(CoDelConfig::defaults(())),
        Aqm::FqCoDel(FqCoDelConfig::defaults(())),
        Aqm::DualPi2(DualPi2Config::defaults(())),
        Aqm::Pie(PieConfig::defaults(())),
    ];
    all.map(|aqm| Discipline::Aqm(aqm, AqmPort { mtu: MTU, stream: stream.clone() }))
}

/// Runs until all flows have retired. Returns the events and the time of the end.
fn run(setting: &Setting) -> (Watch, Time) {
    let mut sim = sim(setting);
    sim.enable_retirement();
    let mut retired = 0;
    while retired < FLOWS as usize {
        sim.run_until(sim.now() + Span::from_ms(100));
        assert!(sim.now() < second(30), "{setting:?}: flows end");
        retired += sim.take_retired().len();
    }
    assert!(sim.is_idle(), "no events are left once all flows have retired");
    assert_eq!(sim.in_network(), 0);
    for pool in sim.pools() {
        assert_eq!(pool.held(), Bytes::ZERO);
    }
    let end = sim.now();
    (sim.probe, end)
}

#[test]
fn flows_complete_and_retire_if_a_switch_drops_packets_at_dequeue() {
    let fifo = run(&Setting::new(Discipline::default())).0;
    assert!(fifo.drops.iter().all(|drop| drop.1 == DropCause::BufferFull));
    // Targets in bytes at 100 Mb/s: CoDel and FQ-CoDel 5 ms, 62.5 KB; DualPI2 and PIE 15 ms, 187.5 KB.
    for (discipline, target) in disciplines().into_iter().zip([62_500.0, 62_500.0, 187_500.0, 187_500.0]) {
        let setting = Setting::new(discipline);
        let (watch, end) = run(&setting);
        let by_law = watch.drops.iter().filter(|drop| drop.1 != DropCause::BufferFull).count();
        assert!(by_law > 20 && watch.marks == 0, "{setting:?}: {by_law} drops");
        // 61.5 MB of payload take 5.2 s.
        assert!(end < Time::after_start(Span::from_ms(6_000)), "{setting:?}: {end:?}");
        let (mean, before) = (watch.queue.mean(), fifo.queue.mean());
        assert!(mean < target && mean < before, "{setting:?}: {mean} B, a FIFO {before} B");
        assert_eq!(watch.drops, run(&setting).0.drops, "same inputs, same drops");
        let pooled = run(&Setting { pooled: true, ..setting }).0;
        assert_eq!(watch.drops, pooled.drops, "a pool as large as the buffer gives the same drops");
    }
}

#[test]
fn flows_complete_and_retire_if_their_own_host_drops_packets_at_dequeue() {
    for discipline in disciplines() {
        let setting = Setting { at_host: true, ..Setting::new(discipline) };
        let (watch, end) = run(&setting);
        assert!(watch.drops.len() > 10, "{setting:?}: {} drops", watch.drops.len());
        assert!(end < second(8), "{setting:?}: {end:?}");
    }
}

#[test]
fn ecn_capable_flows_are_marked_instead_of_dropped() {
    // PIE, which marks nothing for 150 ms, marks 19.
    for (discipline, least) in disciplines().into_iter().zip([20, 20, 20, 10]) {
        let setting = Setting { ecn: true, ..Setting::new(discipline) };
        let watch = run(&setting).0;
        let by_law = watch.drops.iter().filter(|drop| drop.1 != DropCause::BufferFull).count();
        assert!(watch.marks > least, "{setting:?}: {} marks", watch.marks);
        // Acknowledgements go the other way; only retransmissions are not ECN-capable (RFC 3168, 6.1.5).
        assert!(by_law < watch.marks as usize / 2, "{setting:?}: {by_law} drops");
    }
}
