//! A dumbbell whose hosts are kernels.

pub mod child;
mod transcript;

use shallop_core::{BitsPerSec, Bytes, Facts, Node, Seed, Span, Time};
use shallop_hosts::{FlowMonitor, FlowProtocol, HostEndpoint, HostFlow, HostFlows};
use shallop_kernel::installed::{self, Installed};
use shallop_kernel::{BOOTED, KernelCounters, Kernels, Mode, Module, Settings, Start};
use shallop_proto::UdpEnd;
use shallop_sim::{Flow, Network, Simulator};
use shallop_switch::discipline::{Discipline, FifoConfig};
use shallop_switch::{Limit, MarkAt, MarkThreshold, PortBuffer, PortConfig, QueueConfig};
use shallop_testing::{Cause, Stop, need, programs};
use shallop_topology::builder::NetworkBuilder;
use shallop_topology::{Dumbbell, Fabric, Largest, NicMode, Paths, SenderDelay, SwitchNames};
use std::path::Path;

pub use transcript::Transcript;

pub fn kernel() -> Result<Installed, Stop> {
    programs(&["setsid"])?;
    need(Cause::Kernel, installed::folder().and_then(|folder| installed::find(&folder, None)))
}

#[derive(Clone, Debug)]
pub struct Run {
    pub rate: BitsPerSec,
    /// The rate of hosts' links; `None` for the rate of the bottleneck.
    pub access: Option<BitsPerSec>,
    /// The round-trip time in an empty network.
    pub rtt: Span,
    pub buffer: Bytes,
    /// The size of each flow; each has a sending and a receiving host of its own.
    pub flows: Vec<Option<u64>>,
    pub controller: &'static str,
    pub modules: Vec<Module>,
    pub qdisc: &'static str,
    pub gso_max_segs: Option<u32>,
    pub duration: Span,
    /// The time from which goodput and bursts are measured.
    pub measure_from: Span,
    pub mode: Mode,
    pub moderation: Span,
    pub mark_above: Option<Bytes>,
    /// The number of sending kernels. All receivers are in one more.
    pub kernels: usize,
    pub seed: u64,
    /// The interval at which the states of connections are recorded.
    pub record: Option<Span>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            rate: BitsPerSec::gbps(1),
            access: None,
            rtt: Span::from_ms(2),
            buffer: Bytes::new(250_000),
            flows: vec![None],
            controller: "cubic",
            modules: vec![],
            qdisc: "fq",
            gso_max_segs: None,
            duration: Span::from_ms(60),
            measure_from: Span::from_ms(30),
            mode: Mode::Shared,
            moderation: Span::from_us(20),
            mark_above: None,
            kernels: 1,
            seed: 1,
            record: None,
        }
    }
}

#[derive(Debug)]
pub struct Outcome {
    pub transcript: Transcript,
    /// Received payload of each flow, in bytes.
    pub received: Vec<u64>,
    pub complete: Vec<bool>,
    pub retransmits: u64,
    pub counters: KernelCounters,
    pub logs: Vec<String>,
    /// Memory of all kernels at the end, in bytes.
    pub memory: u64,
    /// Processor time of all kernels, in seconds.
    pub processor: f64,
}

type KernelSimulator = Simulator<
    'static,
    HostEndpoint<UdpEnd>,
    Transcript,
    shallop_proto::PassThrough<shallop_hosts::Head<shallop_proto::udp::Head>>,
    Kernels,
>;

impl Run {
    /// The goodput of all flows over the measured time, in bits per second.
    pub fn goodput(&self, outcome: &Outcome) -> f64 {
        let span = self.duration.saturating_sub(self.measure_from);
        outcome.transcript.payload as f64 * 8.0 / span.as_secs_f64()
    }

    /// The largest goodput at the rate of the bottleneck, in bits per second.
    pub fn line(&self) -> f64 {
        self.rate.get() as f64 * 1_448.0 / 1_538.0
    }

    pub fn run(&self, installed: &Installed) -> Outcome {
        let count = self.flows.len();
        let access = self.access.unwrap_or(self.rate);
        let net = Dumbbell {
            rate: self.rate,
            access_rate: access,
            delay: self.rtt / 4,
            senders: count,
            sender_delay: SenderDelay::One(self.rtt / 8),
            receivers: count,
            largest: Largest { mtu: Bytes::new(1500) },
        }
        .build(Seed::new(self.seed), &SwitchNames::default());
        let network = self.network(&net);
        let mut host_flows = HostFlows::default();
        host_flows.flows.extend((0..count as u32).map(|number| self.flow(number)));
        host_flows.controllers.push(self.controller.to_owned());
        let simulated = |flow: &HostFlow| simulated(flow, &net.sites[0], &net.sites[1]);
        let flows: Vec<_> = host_flows.flows.iter().map(simulated).collect();
        let settings = self.settings();
        let hosts = self.hosts(count as u32);
        let start = Start {
            installed,
            settings: &settings,
            hosts: &hosts,
            flows: &host_flows,
            scenario: Path::new(""),
            stop: BOOTED + self.duration.as_ps() / 1_000,
            seed: self.seed,
            mode: self.mode,
            memory_mb: 512,
            spin_seconds: 30,
        };
        let kernels = Kernels::boot(&start, self.moderation, false).unwrap();
        let transcript = self.transcript(&net, access);
        let mut sim: KernelSimulator = Simulator::with_hosts(network, Box::new(flows.into_iter()), transcript, kernels);
        sim.run_until(Time::after_start(self.duration));
        self.outcome(sim)
    }

    /// Packets of a burst have gaps of less than half a packet on the link of the first host.
    fn transcript(&self, net: &NetworkBuilder, access: BitsPerSec) -> Transcript {
        let ports = 0..net.graph.ports() as u32;
        let first = ports.into_iter().find(|&port| net.graph.near(port) == net.sites[0][0]).unwrap();
        let gap = Span::from_ps(1_538 * 8 * 1_000_000_000_000 / access.get() * 3 / 2);
        let since = Time::after_start(self.measure_from);
        Transcript::new(since, (first, gap))
    }

    fn network(&self, net: &NetworkBuilder) -> Network {
        let mark = |bytes| MarkThreshold { above: Limit { bytes, ..Limit::NONE }, at: MarkAt::Enqueue };
        let fifo = FifoConfig { mark: self.mark_above.map(mark), red: vec![] };
        let marking = QueueConfig { discipline: Discipline::Fifo(fifo), ..QueueConfig::default() };
        let port = |number: u32| {
            let queue = if number == Dumbbell::BOTTLENECK { marking.clone() } else { QueueConfig::default() };
            let link = net.graph.link_of(number);
            PortConfig::new(link.rate, link.delay, vec![queue])
        };
        let limit = Limit { bytes: self.buffer, ..Limit::NONE };
        let buffer =
            |number: u32| PortBuffer::new(if number == Dumbbell::BOTTLENECK { limit } else { Limit::NONE }, vec![None]);
        let ports = 0..net.graph.ports() as u32;
        Network {
            ports: ports.clone().map(port).collect(),
            buffers: ports.map(buffer).collect(),
            pools: vec![],
            routes: Paths::new(&net.graph).routes(true, 0),
            graph: net.graph.clone(),
            nic: NicMode::Fifo,
        }
    }

    fn settings(&self) -> Settings {
        let ecn = ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
        Settings {
            qdisc: self.qdisc.to_owned(),
            gso_max_segs: self.gso_max_segs,
            modules: self.modules.clone(),
            sysctls: if ["dctcp", "gemini"].contains(&self.controller) { vec![ecn] } else { vec![] },
            socket_buffer: 64 << 20,
            record: self.record.map(|interval| interval.as_ps() / 1_000),
        }
    }

    fn outcome(&self, sim: KernelSimulator) -> Outcome {
        use shallop_proto::Endpoint;
        let ends: Vec<_> = sim.ends().map(|end| (end.counters(), end.is_complete())).collect();
        let receivers: Vec<_> = ends.chunks_exact(2).map(|pair| pair[1]).collect();
        let received = receivers.iter().map(|(counters, _)| counters.received).collect();
        let complete = receivers.iter().map(|(_, complete)| *complete).collect();
        let retransmits = ends.iter().map(|(counters, _)| counters.retransmits).sum();
        let (mut kernels, transcript) = sim.into_hosts();
        let memory = kernels.processes().filter_map(|process| process.memory()).sum();
        let ticks: u64 = kernels.processes().filter_map(|process| process.processor_time()).sum();
        let processor = ticks as f64 / 100.0;
        let shallop_kernel::hosts::Finished { counters, logs, .. } =
            kernels.finish(Time::after_start(self.duration)).unwrap();
        Outcome { transcript, received, complete, retransmits, counters, logs, memory, processor }
    }

    /// The hosts of each kernel: senders first, receivers in the last kernel.
    fn hosts(&self, count: u32) -> Vec<Vec<u32>> {
        let kernels = self.kernels as u32;
        let senders = (0..kernels).map(|k| (0..count).filter(|host| host % kernels == k).collect());
        senders.chain([(count..2 * count).collect()]).collect()
    }

    /// The flow with this number. Starts are spread over a millisecond.
    fn flow(&self, number: u32) -> HostFlow {
        let count = self.flows.len() as u64;
        let start = BOOTED + u64::from(number) * 1_000_000 / count;
        let size = self.flows[number as usize];
        let to = number + count as u32;
        let protocol = FlowProtocol::Tcp { controller: 0 };
        HostFlow { number, start, size, from: number, to, source_port: 10_000, protocol }
    }
}

fn simulated(flow: &HostFlow, left: &[Node], right: &[Node]) -> Flow<HostEndpoint<UdpEnd>> {
    let (from, to) = (left[flow.number as usize], right[flow.number as usize]);
    let monitors = FlowMonitor::for_flow(flow);
    let [sender, receiver] = monitors.map(|end| HostEndpoint::Monitored(Box::new(end)));
    let start = Time::after_start(Span::from_ns(flow.start - BOOTED));
    let facts = Facts { size: flow.size, ..Facts::between(from, to) };
    Flow { start, from, to, sender, receiver, facts, connections: None }
}
