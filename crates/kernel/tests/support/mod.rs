//! A dumbbell whose hosts are kernels.

#![allow(clippy::unwrap_used, dead_code, reason = "each test uses some of it")]

use shallop_core::{
    BitsPerSec, Bytes, Class, DropCause, End, Envelope, Facts, Probe, QueueId, Span, Time,
};
use shallop_kernel::installed::{self, Installed};
use shallop_kernel::{
    AnyHostEnd, BOOTED, FlowOrder, KernelCounters, KernelEnd, Kernels, Mode, Settings, Start,
};
use shallop_proto::UdpEnd;
use shallop_sim::{Flow, Network, World};
use shallop_switch::{Limit, PortBuffer, PortConfig, QueueConfig};
use shallop_topology::topo::{LinkSpec, dumbbell};
use shallop_topology::{NicMode, Paths};

/// The kernel to test with; `None`, and a line that says how to get one, without.
pub fn kernel() -> Option<Installed> {
    match installed::find(&installed::folder(), None) {
        Ok(kernel) => Some(kernel),
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

/// What happened, packet by packet, as one number, and what was lost.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Transcript {
    pub hash: u64,
    pub packets: u64,
    pub drops: u64,
    pub marks: u64,
    pub delivered: u64,
}

impl Transcript {
    fn note(&mut self, now: Time, what: u64) {
        for value in [now.since_start().as_ps(), what] {
            self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
        }
    }
}

impl Probe for Transcript {
    fn on_send(&mut self, now: Time, port: u32, packet: &Envelope) {
        self.packets += 1;
        self.note(now, u64::from(port) << 32 | u64::from(packet.end.0));
    }
    fn on_drop(&mut self, now: Time, at: QueueId, _: &Envelope, _: DropCause) {
        self.drops += 1;
        self.note(now, u64::from(at.port));
    }
    fn on_mark(&mut self, _: Time, _: QueueId, _: &Envelope) {
        self.marks += 1;
    }
    fn on_deliver(&mut self, now: Time, packet: &Envelope) {
        self.delivered += 1;
        self.note(now, u64::from(packet.end.0));
    }
    fn on_complete(&mut self, now: Time, end: End) {
        self.note(now, u64::from(end.0) << 40);
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    pub rate: BitsPerSec,
    /// Round trip without queues.
    pub rtt: Span,
    pub buffer: Bytes,
    /// The size of each flow; each has a sending and a receiving host of its own.
    pub flows: Vec<Option<u64>>,
    pub controller: &'static str,
    pub qdisc: &'static str,
    pub gso_max_segs: Option<u32>,
    pub duration: Span,
    pub mode: Mode,
    pub moderation: Span,
    pub mark_above: Option<Bytes>,
    /// Sending kernels; receivers have one.
    pub kernels: usize,
    pub seed: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            rate: BitsPerSec::at_least_one(1_000_000_000),
            rtt: Span::from_ms(2),
            buffer: Bytes::new(250_000),
            flows: vec![None],
            controller: "cubic",
            qdisc: "fq",
            gso_max_segs: None,
            duration: Span::from_ms(300),
            mode: Mode::Shared,
            moderation: Span::from_us(20),
            mark_above: None,
            kernels: 1,
            seed: 1,
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub transcript: Transcript,
    /// Payload that each flow's receiver has.
    pub received: Vec<u64>,
    pub complete: Vec<bool>,
    pub retransmits: u64,
    pub counters: KernelCounters,
    pub logs: Vec<String>,
}

type KernelWorld = World<
    'static,
    AnyHostEnd<UdpEnd>,
    Transcript,
    shallop_proto::PassThrough<shallop_kernel::endpoint::Head<shallop_proto::udp::Head>>,
    Kernels,
>;

impl Run {
    /// Goodput of all flows in bits per second, over the whole run.
    pub fn goodput(&self, outcome: &Outcome) -> f64 {
        outcome.received.iter().sum::<u64>() as f64 * 8.0 / self.duration.as_secs_f64()
    }

    pub fn run(&self, installed: &Installed) -> Outcome {
        let count = self.flows.len();
        let trunk = LinkSpec {
            rate: self.rate,
            access: self.rate,
            delay: self.rtt / 4,
            mtu: Bytes::new(1500),
        };
        let net = dumbbell(&trunk, &vec![self.rtt / 8; count], count);
        let port = |number: u32| PortConfig {
            rate: self.rate,
            delay: net.graph.link_of(number).delay,
            queues: vec![QueueConfig::default()],
            queue_of: [0; Class::COUNT],
            impairment: None,
            changes: vec![],
        };
        let ports: Vec<_> = (0..net.graph.ports() as u32).map(port).collect();
        let limit = Limit { bytes: self.buffer, ..Limit::NONE };
        let buffer = |number: u32| {
            PortBuffer::new(if number == net.bottleneck { limit } else { Limit::NONE }, vec![None])
        };
        let buffers = (0..net.graph.ports() as u32).map(buffer).collect();
        let routes = Paths::of(&net.graph).routes(true, 0);
        let graph = net.graph.clone();
        let network = Network { graph, ports, buffers, pools: vec![], routes, nic: NicMode::Fifo };
        let orders: Vec<FlowOrder> = (0..count as u32).map(|number| self.order(number)).collect();
        let flows: Vec<_> =
            orders.iter().map(|order| self.flow(order, &net.left, &net.right)).collect();
        let settings = Settings {
            qdisc: self.qdisc.to_owned(),
            gso_max_segs: self.gso_max_segs,
            controllers: vec![self.controller.to_owned()],
            sysctls: match self.controller {
                "dctcp" => vec![("net.ipv4.tcp_ecn".to_owned(), "1".to_owned())],
                _ => vec![],
            },
            socket_buffer: 64 << 20,
        };
        let hosts = self.hosts(count as u32);
        let start = Start {
            installed,
            settings: &settings,
            hosts: &hosts,
            flows: &orders,
            stop: BOOTED + self.duration.as_ps() / 1_000,
            seed: self.seed,
            mode: self.mode,
            memory_mb: 512,
        };
        let kernels = Kernels::boot(&start, self.moderation, false).unwrap();
        let flows = Box::new(flows.into_iter());
        let mut world: KernelWorld =
            World::with_hosts(network, flows, Transcript::default(), kernels);
        world.run_until(Time::after_start(self.duration));
        self.outcome(world)
    }

    fn outcome(&self, world: KernelWorld) -> Outcome {
        use shallop_proto::Endpoint;
        let ends: Vec<_> = world.ends().map(|end| (end.counters(), end.is_complete())).collect();
        let receivers: Vec<_> = ends.chunks_exact(2).map(|pair| pair[1]).collect();
        let received = receivers.iter().map(|(counters, _)| counters.received).collect();
        let complete = receivers.iter().map(|(_, complete)| *complete).collect();
        let retransmits = ends.iter().map(|(counters, _)| counters.retransmits).sum();
        let (kernels, transcript) = world.into_hosts();
        let (counters, logs) = kernels.finish(Time::after_start(self.duration)).unwrap();
        Outcome { transcript, received, complete, retransmits, counters, logs }
    }

    /// The hosts of each kernel: senders first, receivers in the last kernel.
    fn hosts(&self, count: u32) -> Vec<Vec<u32>> {
        let kernels = self.kernels as u32;
        let senders = (0..kernels).map(|k| (0..count).filter(|host| host % kernels == k).collect());
        senders.chain([(count..2 * count).collect()]).collect()
    }

    /// Starts are spread over a millisecond.
    fn order(&self, number: u32) -> FlowOrder {
        let count = self.flows.len() as u64;
        let start = BOOTED + u64::from(number) * 1_000_000 / count;
        let size = self.flows[number as usize];
        let to = number + count as u32;
        FlowOrder { number, start, size, from: number, to, local: 10_000, controller: 0 }
    }

    fn flow(
        &self,
        order: &FlowOrder,
        left: &[shallop_core::Node],
        right: &[shallop_core::Node],
    ) -> Flow<AnyHostEnd<UdpEnd>> {
        let (from, to) = (left[order.number as usize], right[order.number as usize]);
        let ends = KernelEnd::pair(order.number, order.size);
        let [sender, receiver] = ends.map(|end| AnyHostEnd::Kernel(Box::new(end)));
        let start = Time::after_start(Span::from_ns(order.start - BOOTED));
        let facts = Facts { size: order.size, ..Facts::between(from, to) };
        Flow { start, from, to, sender, receiver, facts, connections: None }
    }
}
