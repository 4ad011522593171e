//! A rehearsal of one scheme of a plan.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use shallop_core::{BitsPerSec, Node, Span, Time};
use shallop_emu::tape::{Recorder, Tape};
use shallop_emu::{Counters, Emulator};
use shallop_hosts::flows::{HostEnds, HostFlows};
use shallop_lab::{ends, run_with_hosts};
use shallop_measure::Outcome;
use shallop_measure::observer::Observer;
use shallop_plan::Setup;
use shallop_plan::flows::FlowGenerator;
use shallop_plan::kernel::{CONTROLLERS, Qdisc};
use shallop_plan::plan::{Driver, Plan};
use shallop_results::summary::RehearsalOfRun;

use crate::abilities;
use crate::error::{RehearsalError, failed};
use crate::flows::{Report, Sockets, Wanted};
use crate::judge;
use crate::namespace::{self, Host, Settings};
use crate::realtime;
use crate::replay;
use crate::tap::Taps;

/// The most hosts of a rehearsal.
const MOST_HOSTS: usize = 250;
/// The longest rehearsal.
const LONGEST: Span = Span::from_secs(3_600);
/// The most bytes of a socket's buffers, as hosts that are kernels in virtual time have them.
const SOCKET_BUFFER: &str = "4096 131072 67108864";

/// What is rehearsed of a setup.
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    /// The rate of each host's link, by the number of the host.
    pub(crate) rates: Vec<BitsPerSec>,
    /// The shortest round trip without queues.
    shortest_rtt: Span,
}

impl Traffic {
    /// That of a setup, by these controllers of the kernel; by any if none are given.
    pub(crate) fn of(setup: &Setup<'_>, available: &[String]) -> Result<Self, RehearsalError> {
        let plan = setup.plan;
        let mut all =
            Self { flows: HostFlows::default(), rates: Vec::new(), shortest_rtt: Span::MAX };
        let end = Time::after_start(plan.duration);
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let transport = &plan.transport(setup.scheme, flow.group).transport;
            let Some(name) = transport.kernel() else { continue };
            let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
            let kernels = known.map_or(name, |(_, kernels)| kernels);
            if !available.is_empty() && !available.iter().any(|of| of == kernels) {
                let has = available.join(", ");
                return Err(RehearsalError::Refused(format!(
                    "the kernel of this machine has no congestion controller \"{kernels}\"; it has {has}"
                )));
            }
            let (sends, receives) = flow.path.nics;
            let hosts = (all.host(setup, (flow.from, sends)), all.host(setup, (flow.to, receives)));
            all.shortest_rtt = all.shortest_rtt.min(flow.path.base_rtt);
            let start = flow.start.since_start().as_ps() / 1_000;
            all.flows.add(&flow, hosts, kernels, start).map_err(|most| {
                RehearsalError::Refused(format!("a host sends at most {most} flows in a run"))
            })?;
        }
        all.check()?;
        Ok(all)
    }

    /// The number of a host, whose link begins at this port.
    fn host(&mut self, setup: &Setup<'_>, (node, port): (Node, u32)) -> u32 {
        let host = self.flows.host(setup, node);
        if host as usize == self.rates.len() {
            self.rates.push(setup.network.graph.link_of(port).rate);
        }
        host
    }

    fn check(&self) -> Result<(), RehearsalError> {
        let hosts = self.rates.len();
        if hosts == 0 {
            return Err(RehearsalError::Refused(
                "no flow is between real hosts: write stack = \"kernel\"".to_owned(),
            ));
        }
        if hosts > MOST_HOSTS {
            return Err(RehearsalError::Refused(format!(
                "{hosts} hosts are real ones, and a rehearsal has at most {MOST_HOSTS}"
            )));
        }
        Ok(())
    }
}

/// The sysctls of every host.
fn settings(plan: &Plan) -> Settings {
    let own =
        ["tcp_rmem", "tcp_wmem"].map(|name| (format!("net.ipv4.{name}"), SOCKET_BUFFER.to_owned()));
    let no_memory = ("net.ipv4.tcp_no_metrics_save".to_owned(), "1".to_owned());
    let written = plan.kernel.sysctls.iter().filter_map(|text| text.split_once('='));
    let written = written.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    Settings {
        gso_max_segs: plan.kernel.gso_max_segs,
        sysctls: own.into_iter().chain([no_memory]).chain(written).collect(),
    }
}

/// Rehearses a scheme of a plan with a seed. Takes as long as the plan says.
///
/// # Errors
/// If this machine cannot, the plan asks for what a rehearsal cannot do, or the run was stopped.
pub fn run_observed(
    plan: &Plan,
    (scheme, seed): (usize, u64),
    observer: &mut dyn Observer,
) -> Result<Outcome, RehearsalError> {
    if plan.duration > LONGEST {
        let most = LONGEST.as_secs_f64();
        return Err(RehearsalError::Refused(format!("a rehearsal takes at most {most} s")));
    }
    if plan.has_programs() {
        return Err(RehearsalError::Refused(
            "a rehearsal runs no programs of groups yet".to_owned(),
        ));
    }
    let setup = Setup::new(plan, scheme, seed)?;
    let traffic = Traffic::of(&setup, &abilities::controllers())?;
    let (mut hosts, devices) = namespace::hosts(&traffic.rates, &settings(plan))?;
    let start = Arc::new(OnceLock::new());
    let stop = AtomicBool::new(false);
    let wanted = Wanted {
        orders: &traffic.flows.orders,
        controllers: &traffic.flows.controllers,
        hosts: &hosts,
        paces: plan.kernel.qdisc == Qdisc::Fq,
    };
    let (outcome, report) = std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (begin, halt) = (Arc::clone(&start), &stop);
        let sockets = scope.spawn(move || {
            let sockets = Sockets::open(wanted);
            let told = ready.send(sockets.is_ok());
            debug_assert!(told.is_ok(), "the run waits for it");
            sockets?.run(&begin, halt)
        });
        let outcome = match is_ready.recv() {
            Ok(true) => emulate(&setup, &traffic, (devices, &start), observer),
            _ => Err(RehearsalError::Missing("the sockets could not be opened".to_owned())),
        };
        stop.store(true, Ordering::Relaxed);
        let report = sockets.join();
        (outcome, report)
    });
    let report = report.unwrap_or_else(|_| {
        Err(RehearsalError::Missing("the hosts' thread has failed".to_owned()))
    })?;
    let (mut outcome, emulated) = outcome?;
    let rehearsal = emulated.of_run(&setup, traffic.shortest_rtt, &report, &mut hosts)?;
    let run = &mut outcome.run;
    run.warnings.extend(report.failures.iter().map(|(flow, why)| format!("flow {flow}: {why}")));
    run.warnings.extend(rehearsal.void.iter().map(|why| format!("this run is void: {why}")));
    run.rehearsal = Some(rehearsal);
    Ok(outcome)
}

/// The file of the tape that a plan asks for.
fn tape_of(plan: &Plan) -> Option<&str> {
    match &plan.driver {
        Driver::Rehearsal { tape } => tape.as_deref(),
        Driver::Simulator => None,
    }
}

/// Runs the network between these lines.
fn emulate(
    setup: &Setup<'_>,
    traffic: &Traffic,
    (devices, start): (Vec<tun_rs::SyncDevice>, &Arc<OnceLock<std::time::Instant>>),
    observer: &mut dyn Observer,
) -> Result<(Outcome, Emulated), RehearsalError> {
    let priority = realtime::emulate();
    let count = devices.len();
    let cards = Taps::new(devices, Arc::clone(start), priority.is_realtime);
    let cards = cards.map_err(failed("the lines to the hosts"))?;
    let legacy = setup.plan.groups.iter().any(|group| group.transport.is_some());
    let tape =
        tape_of(setup.plan).map(|_| Tape { job: (setup.scheme, setup.seed), ..Tape::default() });
    let lines = Recorder::new(cards, tape);
    let emulator = Emulator::new(lines, count, traffic.flows.orders.clone(), legacy);
    let factory = HostEnds { setup, simulated: ends::mixed(setup)?, flows: &traffic.flows };
    let (outcome, emulator) = run_with_hosts(setup, &factory, emulator, observer)?;
    let (mut lines, counters) = emulator.into_lines();
    if let (Some(file), Some(tape)) = (tape_of(setup.plan), lines.tape.take()) {
        replay::write(file, &tape)?;
    }
    Ok((outcome, Emulated { counters, is_realtime: priority.is_realtime, _lines: lines }))
}

/// The emulator at the end of a run.
struct Emulated {
    counters: Counters,
    is_realtime: bool,
    /// The cards of hosts are there as long as this.
    _lines: Recorder<Taps>,
}

impl Emulated {
    fn of_run(
        &self,
        setup: &Setup<'_>,
        shortest_rtt: Span,
        report: &Report,
        hosts: &mut [Host],
    ) -> Result<RehearsalOfRun, RehearsalError> {
        let Self { counters, is_realtime, .. } = self;
        let dropped = hosts.iter_mut().map(Host::dropped).sum::<std::io::Result<u64>>();
        let dropped = dropped.map_err(failed("the counters of a card"))?;
        let lateness = &counters.lateness;
        let mut run = RehearsalOfRun {
            kernel: abilities::release(),
            is_realtime: *is_realtime,
            packets_per_s: counters.written as f64 / setup.plan.duration.as_secs_f64(),
            packets_read: counters.read,
            packets_written: counters.written,
            lateness_p50_s: lateness.quantile(0.5),
            lateness_p99_s: lateness.quantile(0.99),
            lateness_p999_s: lateness.quantile(0.999),
            lateness_max_s: lateness.longest(),
            longest_gap_s: counters.gaps.longest(),
            response_p99_s: counters.responses.quantile(0.99),
            hosts_waited: report.waited.as_secs_f64() / setup.plan.duration.as_secs_f64(),
            bytes_checked: report.checked,
            stray_frames: counters.strays,
            malformed_frames: counters.malformed,
            lost_frames: dropped + counters.no_slot + counters.refused,
            void: Vec::new(),
        };
        run.void = judge::reasons(&run, shortest_rtt);
        Ok(run)
    }
}
