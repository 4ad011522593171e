//! Runs a plan whose hosts, or some of them, are kernels.

use std::collections::BTreeMap;

use shallop_core::options::Words;
use shallop_core::{Node, Time};
use shallop_lab::ends::{self, EndpointFactory};
use shallop_lab::{RunError, run_with_hosts};
use shallop_measure::Outcome;
use shallop_measure::observer::Observer;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::{CONTROLLERS, controllers};
use shallop_plan::plan::Plan;
use shallop_plan::{Setup, SetupError};
use shallop_proto::AnyEnd;
use shallop_results::summary::KernelOfRun;

use crate::endpoint::{AnyHostEnd, KernelEnd};
use crate::error::KernelError;
use crate::hosts::Kernels;
use crate::installed::Installed;
use crate::kernel::SPIN_SECONDS;
use crate::launch::{BOOTED, Start};
use crate::orders::{self, FlowOrder, Settings};
use crate::time_travel::Mode;

/// The most hosts that one kernel carries: a card and a network namespace each.
const MAX_HOSTS_OF_KERNEL: usize = 200;
/// As many hosts share a kernel before there is another, up to this many kernels.
const HOSTS_OF_KERNEL: usize = 16;
const KERNELS: usize = 16;
/// The most kernels of a run.
const MAX_KERNELS: usize = 64;
/// The most bytes of a socket's send and receive buffer.
const SOCKET_BUFFER: u64 = 64 << 20;
/// Memory of each kernel in MiB; it takes what it uses.
const MEMORY_MB: u32 = 1_024;

/// Why a run with kernels has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum KernelRunError {
    /// As any run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A kernel failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The plan asks for what kernels cannot do.
    #[error("{0}")]
    Refused(String),
}

impl From<SetupError> for KernelRunError {
    fn from(why: SetupError) -> Self {
        Self::Run(why.into())
    }
}

/// Runs a scheme of a plan with a seed, in which some hosts are kernels. Rows of flows go to the observer.
///
/// # Errors
/// If the run cannot be set up, was stopped, or a kernel failed.
pub fn run_observed(
    plan: &Plan,
    (scheme, seed): (usize, u64),
    installed: &Installed,
    observer: &mut dyn Observer,
) -> Result<Outcome, KernelRunError> {
    let setup = Setup::new(plan, scheme, seed)?;
    let traffic = Traffic::of(&setup)?;
    let written = plan.kernel.sysctls.iter().filter_map(|text| text.split_once('='));
    let written = written.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let settings = Settings {
        qdisc: plan.kernel.qdisc.word().to_owned(),
        gso_max_segs: plan.kernel.gso_max_segs,
        controllers: traffic.controllers.iter().map(|&name| name.to_owned()).collect(),
        sysctls: traffic.ecn().into_iter().chain(written).collect(),
        socket_buffer: SOCKET_BUFFER,
    };
    let start = Start {
        installed,
        settings: &settings,
        hosts: &traffic.kernels()?,
        flows: &traffic.orders,
        stop: BOOTED + plan.duration.as_ps().div_ceil(1_000),
        seed,
        mode: Mode::default(),
        memory_mb: MEMORY_MB,
        spin_seconds: SPIN_SECONDS,
    };
    let legacy = plan.groups.iter().any(|group| group.transport.is_some());
    let kernels = Kernels::boot(&start, plan.kernel.interrupt_gap, legacy)?;
    let factory = Factory { setup: &setup, simulated: ends::mixed(&setup)?, traffic: &traffic };
    let (mut outcome, kernels) = run_with_hosts(&setup, &factory, kernels, observer)?;
    let end = Time::after_start(plan.duration);
    let (counters, logs) = kernels.finish(end)?;
    check_reports(&logs)?;
    outcome.run.kernel = Some(KernelOfRun {
        release: installed.release.clone(),
        digest: installed.digest.clone(),
        qdisc: plan.kernel.qdisc.word().to_owned(),
        gso_max_segs: plan.kernel.gso_max_segs.map(u64::from),
        interrupts: counters.interrupts,
        receive_ring_drops: counters.no_receive_buffer,
        stray_frames: counters.strays,
    });
    Ok(outcome)
}

/// Checks that no kernel's limit on memory held a flow back, and that agents had no errors.
fn check_reports(logs: &[String]) -> Result<(), KernelRunError> {
    for (kernel, log) in logs.iter().enumerate() {
        for line in log.lines() {
            let words = line.split_whitespace().filter_map(|word| word.split_once('='));
            let short = |(name, value): (&str, &str)| {
                ["TCPMemoryPressures", "TCPAbortOnMemory"].contains(&name) && value != "0"
            };
            if line.starts_with("error:") || words.into_iter().any(short) {
                let log = format!("its agent said: {line}");
                return Err(KernelError::Ended { kernel, log }.into());
            }
        }
    }
    Ok(())
}

/// The flows between kernels, and the hosts that they are between.
struct Traffic {
    orders: Vec<FlowOrder>,
    /// The order of each flow between kernels, by the flow's number.
    order_of: BTreeMap<u32, u32>,
    controllers: Vec<&'static str>,
    hosts: usize,
}

impl Traffic {
    fn of(setup: &Setup<'_>) -> Result<Self, KernelRunError> {
        let mut hosts = BTreeMap::<Node, u32>::new();
        let (mut controllers, mut local) = (Vec::new(), BTreeMap::<u32, u16>::new());
        let (mut all, mut order_of) = (Vec::new(), BTreeMap::new());
        let end = Time::after_start(setup.plan.duration);
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let Some(name) = setup.plan.transport(setup.scheme, flow.group).transport.kernel()
            else {
                continue;
            };
            let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
            let name = known.ok_or_else(|| unknown(name))?.1;
            let controller = position(&mut controllers, name);
            let mut host = |node: Node| {
                let next = hosts.len() as u32;
                *hosts.entry(node).or_insert(next)
            };
            let (from, to) = (host(flow.from), host(flow.to));
            let used = local.entry(from).or_insert(0);
            if usize::from(*used) >= orders::MAX_FLOWS_OF_HOST {
                let most = orders::MAX_FLOWS_OF_HOST;
                return Err(KernelRunError::Refused(format!(
                    "a kernel's host sends at most {most} flows in a run"
                )));
            }
            let port = orders::FIRST_LOCAL_PORT + *used;
            *used += 1;
            let number = all.len() as u32;
            order_of.insert(flow.number, number);
            let start = BOOTED + flow.start.since_start().as_ps().div_ceil(1_000);
            let size = flow.size;
            all.push(FlowOrder { number, start, size, from, to, local: port, controller });
        }
        Ok(Self { orders: all, order_of, controllers, hosts: hosts.len() })
    }

    /// The sysctls that the controllers need.
    fn ecn(&self) -> Vec<(String, String)> {
        let needed = self.controllers.contains(&"dctcp");
        let ecn = ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
        needed.then_some(ecn).into_iter().collect()
    }

    /// The hosts of each kernel, in turn.
    fn kernels(&self) -> Result<Vec<Vec<u32>>, KernelRunError> {
        let kernels = self.hosts.div_ceil(HOSTS_OF_KERNEL).clamp(1, KERNELS);
        let kernels = kernels.max(self.hosts.div_ceil(MAX_HOSTS_OF_KERNEL));
        if kernels > MAX_KERNELS {
            let most = MAX_KERNELS * MAX_HOSTS_OF_KERNEL;
            return Err(KernelRunError::Refused(format!(
                "{} hosts are kernels, and at most {most} can be",
                self.hosts
            )));
        }
        let of = |kernel: usize| {
            (0..self.hosts as u32).filter(move |&host| host as usize % kernels == kernel)
        };
        Ok((0..kernels).map(|kernel| of(kernel).collect()).collect())
    }
}

fn unknown(name: &str) -> KernelRunError {
    let known = controllers();
    KernelRunError::Refused(format!("the kernel has no \"{name}\"; it has {known}"))
}

/// The index of a name, which is added if it is new.
fn position(names: &mut Vec<&'static str>, name: &'static str) -> u16 {
    let known = names.iter().position(|&known| known == name);
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    }) as u16
}

/// The endpoints of flows between kernels, and of others.
struct Factory<'a, S> {
    setup: &'a Setup<'a>,
    simulated: S,
    traffic: &'a Traffic,
}

impl<S: EndpointFactory<End = AnyEnd>> EndpointFactory for Factory<'_, S> {
    type End = AnyHostEnd<AnyEnd>;

    fn flow(&self, flow: &Flow) -> shallop_sim::Flow<Self::End> {
        let Some(&order) = self.traffic.order_of.get(&flow.number) else {
            let shallop_sim::Flow { start, from, to, sender, receiver, facts, connections } =
                self.simulated.flow(flow);
            let [sender, receiver] = [sender, receiver].map(AnyHostEnd::Simulated);
            return shallop_sim::Flow { start, from, to, sender, receiver, facts, connections };
        };
        let ends = KernelEnd::pair(order, flow.size);
        let ends = ends.map(|end| AnyHostEnd::Kernel(Box::new(end)));
        let with_ends = ends::flow(self.setup, flow, ends);
        // A kernel opens a connection for each flow.
        shallop_sim::Flow { connections: None, ..with_ends }
    }
}
