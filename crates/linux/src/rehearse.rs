//! A rehearsal of one scheme of a plan.

use crate::abilities;
use crate::attached::{Interface, Watch};
use crate::controllers::Controllers;
use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host, HostSettings};
use crate::run_clock::{FlowReport, NetworkClock, RunClock};
use crate::session;
use crate::tap::{HostLink, HostLinks};
use crate::{programs::ProgramRunner, proxy::RunProxy, quic_flows::QuicFlows, realtime, replay};
use crate::{tcp_flows::TcpFlows, traffic::Traffic, udp_flows::UdpFlows, validity};
use shallop_core::{Share, Span, Time};
use shallop_hosts::flow_monitor::Progress;
use shallop_hosts::flows::{HostEndpoints, uses_legacy_classes};
use shallop_hosts::tape::{Recorder, Tape};
use shallop_hosts::{Counters, Emulator, ProgramEnd, STANDSTILL, addresses};
use shallop_measure::{Outcome, flow_log::FlowRow, flow_trace::FlowTrace, live_snapshot::LiveSnapshot};
use shallop_measure::{ends, run_with_hosts};
use shallop_measure::{observer::Observer, series};
use shallop_plan::plan::{Driver, Plan};
use shallop_plan::{ResolvedRun, kernel::Qdisc};
use shallop_results::rehearsal_bound::{self, NetworkTimes};
use shallop_results::summary::{RehearsalOfRun, Run};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{net::Ipv4Addr, path::Path};
use std::{sync::mpsc::Receiver, thread::ScopedJoinHandle};
use tun_rs::SyncDevice;

const LONGEST: Span = Span::from_secs(3_600);
/// A gap of the emulator is a standstill from this fraction of the shortest round trip on, and not below this time.
const STANDSTILL_OF_RTT: u64 = 40;
const SHORTEST_STANDSTILL: Span = Span::from_us(20);
/// The sizes of a socket's buffers in bytes: smallest, default, largest. Kernels in virtual time have equal sizes.
const SOCKET_BUFFER: &str = "4096 131072 67108864";

fn settings(plan: &Plan, controllers: &Controllers, traffic: &Traffic) -> HostSettings {
    let own = ["tcp_rmem", "tcp_wmem"].map(|name| (format!("net.ipv4.{name}"), SOCKET_BUFFER.to_owned()));
    let no_memory = ("net.ipv4.tcp_no_metrics_save".to_owned(), "1".to_owned());
    HostSettings {
        gso_max_segs: plan.kernel.gso_max_segs,
        sysctls: own.into_iter().chain([no_memory]).chain(plan.kernel.written_sysctls()).collect(),
        // An interrupt on a processor of the hosts may find process 1 running there, and a kernel that skips programs
        // would then not run the controller. With QUIC alone, receiving costs less than interrupting another processor.
        emulator_receives: !controllers.loaded.is_empty() && shallop_bpf::machine::skips_programs()
            || traffic.is_quic_alone(),
    }
}

/// Rehearses a scheme of a plan with a seed, for as long as the plan says. The files of programs go to the folder
/// `files`, which is made; without it they are lost.
///
/// # Errors
/// If this machine cannot rehearse the plan, the run was stopped, or a shell has ended.
pub fn run_observed(
    plan: &Plan, scheme: usize, seed: u64, observer: &mut dyn Observer, files: Option<&Path>,
) -> Result<Outcome, RehearsalError> {
    check_length(plan)?;
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let controllers = Controllers::for_setup(&setup)?;
    let traffic = Traffic::from_setup(&setup, Some(&controllers))?;
    check_stretch(plan, &traffic)?;
    let begun = Instant::now();
    let settings = settings(plan, &controllers, &traffic);
    let (mut hosts, devices) = namespace::hosts(&traffic.rates, &settings)?;
    for (&host, name) in &traffic.flows.program_controllers {
        namespace::apart(|| namespace::set_controller(&hosts[host as usize], name))?;
    }
    let proxy = RunProxy::attach(&setup, &traffic.flows, &hosts)?;
    let network = NetworkClock::new(stretch_of(plan));
    let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let runner = ProgramRunner {
        hosts: &hosts,
        names: &traffic.flows.names,
        folder: files,
        clock: RunClock { network: &network, stop: &stop },
        is_over: &is_over,
    };
    let (links, watches) = links(devices, &traffic)?;
    let Results { emulated, report, ends } = perform(&setup, &traffic, &runner, links, observer);
    let (report, ends) = (report?, ends?);
    let shell = traffic.flows.programs.iter().zip(&ends).find(|(program, _)| program.is_shell);
    if let Some(end) = shell.and_then(|(_, end)| *end) {
        // The interfaces of hosts ended with the emulator; the machine's own interfaces still have counters.
        let lost = dropped(&mut [], &watches)?;
        return Err(RehearsalError::Left { status: end.status, lost });
    }
    let (mut outcome, emulated) = emulated?;
    let lost = dropped(&mut hosts, &watches)?;
    let checksum_errors = namespace::checksum_errors(&hosts)?;
    let duration = outcome.run.duration_s;
    let ready = network.started().map_or_else(Duration::default, |at| at.duration_since(begun));
    let mut rehearsal = RehearsalOfRun {
        scale: plan.topology.scale().map_or(1.0, Share::as_f64),
        stretch: u64::from(network.stretch),
        setup_s: ready.as_secs_f64(),
        proxy: proxy.counted()?,
        checksum_errors,
        ..emulated.result(duration, &report, lost)
    };
    let drain = judge(&mut rehearsal, &outcome.run, &traffic, &setup);
    rehearsal.void.extend(report.tcp_info.distrust());
    report.tcp_info.0.iter().for_each(|trace| outcome.add_traces(trace));
    let run = &mut outcome.run;
    run.warnings.extend(emulated.is_cut.then(|| "the tape is full and ends before the run".to_owned()));
    run.warnings.extend(report.failures.iter().map(|(flow, why)| format!("flow {flow}: {why}")));
    run.warnings.extend(rehearsal.void.iter().map(|why| format!("this run is void: {why}")));
    run.warnings.extend(validity::warnings(&rehearsal, drain));
    run.rehearsal = Some(rehearsal);
    for (program, end) in traffic.flows.programs.iter().zip(ends) {
        run.warnings.extend(program.warning(&traffic.flows.names, end));
        run.programs.push(program.result(&traffic.flows.names, end));
    }
    Ok(outcome)
}

/// Says how far lateness can have moved a run, and whether it is void. Returns the time in which the shallowest buffer
/// drains.
fn judge(rehearsal: &mut RehearsalOfRun, run: &Run, traffic: &Traffic, setup: &ResolvedRun<'_>) -> Span {
    let drain = traffic.shortest_drain(setup);
    let network = NetworkTimes {
        rtt_s: traffic.shortest_rtt.as_secs_f64(),
        drain_s: drain.as_secs_f64(),
        duration_s: run.duration_s,
        utilization: traffic.least_utilization(setup, run),
    };
    rehearsal.bounds = traffic.is_tcp_alone().then(|| rehearsal_bound::bounds(rehearsal, network));
    // What stretching does to figures was not measured.
    let bounds = rehearsal.bounds.filter(|_| rehearsal.stretch <= 1);
    rehearsal.intervals = bounds.map(|bounds| rehearsal_bound::intervals(run, bounds, network));
    rehearsal.void = validity::reasons(rehearsal, network);
    drain
}

/// The links to hosts: their virtual interfaces, or the interfaces of this machine that replace them. Each interface of
/// this machine has a watch, which counts its lost frames.
fn links(devices: Vec<SyncDevice>, traffic: &Traffic) -> Result<(Vec<HostLink>, Vec<Watch>), RehearsalError> {
    let (count, mut watches) = (devices.len() as u32, Vec::new());
    let link = |(host, device)| match traffic.attached.get(&host) {
        Some(name) => {
            let interface = Interface::open(name, host, count)?;
            watches.push(interface.watch()?);
            Ok(HostLink::Attached(interface))
        }
        None => Ok(HostLink::Tap(device)),
    };
    let links = (0..).zip(devices).map(link).collect::<Result<_, RehearsalError>>()?;
    Ok((links, watches))
}

/// The number of frames that were lost because the emulator did not read them in time.
fn dropped(hosts: &mut [Host], watches: &[Watch]) -> Result<u64, RehearsalError> {
    let of_hosts = hosts.iter_mut().map(Host::dropped).sum::<std::io::Result<u64>>();
    let of_hosts = of_hosts.map_err(failed("the counters of a card"))?;
    let of_interfaces = watches.iter().map(Watch::dropped).sum::<Result<u64, _>>()?;
    Ok(of_hosts + of_interfaces)
}

/// Checks whether this machine's kernel can rehearse a scheme of a plan with a seed.
///
/// # Errors
/// If it cannot, with the reason.
pub fn check(plan: &Plan, scheme: usize, seed: u64) -> Result<(), RehearsalError> {
    check_length(plan)?;
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let controllers = Controllers::for_setup(&setup)?;
    check_stretch(plan, &Traffic::from_setup(&setup, Some(&controllers))?)
}

/// Refuses to stretch runs of hosts that keep the machine's time.
fn check_stretch(plan: &Plan, traffic: &Traffic) -> Result<(), RehearsalError> {
    let keeps_time = !traffic.quic.is_empty() || !traffic.flows.programs.is_empty();
    if stretch_of(plan) > 1 && keeps_time {
        let why = "programs and FlashPass over QUIC keep the machine's time, which cannot be stretched";
        return Err(RehearsalError::Refused(why.to_owned()));
    }
    Ok(())
}

fn check_length(plan: &Plan) -> Result<(), RehearsalError> {
    let takes = plan.duration.as_ps().saturating_mul(u64::from(stretch_of(plan)));
    if takes > LONGEST.as_ps() {
        let most = LONGEST.as_secs_f64();
        return Err(RehearsalError::Refused(format!("a rehearsal takes at most {most} s")));
    }
    Ok(())
}

/// The highest load of a plan's network under a scheme, in bits per second: the sum of the rates of all bottlenecks
/// between real hosts.
///
/// # Errors
/// If the plan cannot be set up or rehearsed.
pub fn demand(plan: &Plan, scheme: usize) -> Result<f64, RehearsalError> {
    let setup = ResolvedRun::new(plan, scheme, plan.seed)?;
    Ok(Traffic::from_setup(&setup, None)?.demand())
}

/// The names and IPv4 addresses of the real hosts of a plan under a scheme.
///
/// # Errors
/// As [`demand`].
pub fn addresses(plan: &Plan, scheme: usize) -> Result<Vec<(String, Ipv4Addr)>, RehearsalError> {
    let setup = ResolvedRun::new(plan, scheme, plan.seed)?;
    let names = Traffic::from_setup(&setup, None)?.flows.names;
    let address = |(host, name)| (name, Ipv4Addr::from_bits(addresses::address(host)));
    Ok((0..).zip(names).map(address).collect())
}

/// The samples of connections' states: those that the plan records, else at the interval of the series if flows have
/// series.
fn trace(plan: &Plan) -> Option<FlowTrace> {
    let interval = plan.record.or_else(|| series::has_flows(plan).then_some(plan.sample));
    interval.map(FlowTrace::new)
}

/// The results of the threads of a run: the emulator, the flows and the programs.
struct Results {
    emulated: Result<(Outcome, Emulated), RehearsalError>,
    report: Result<FlowReport, RehearsalError>,
    ends: Result<Vec<Option<ProgramEnd>>, RehearsalError>,
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T, RehearsalError>>) -> Result<T, RehearsalError> {
    let failed = || RehearsalError::Missing("a thread of the hosts has failed".to_owned());
    thread.join().unwrap_or_else(|_| Err(failed()))
}

/// Runs the network in this thread, and flows and programs in others, until the network ends.
fn perform(
    setup: &ResolvedRun<'_>, traffic: &Traffic, runner: &ProgramRunner<'_>, links: Vec<HostLink>,
    observer: &mut dyn Observer,
) -> Results {
    let (flows, hosts, clock) = (&traffic.flows, runner.hosts, runner.clock);
    let paces = setup.plan.kernel.qdisc == Qdisc::Fq;
    let has_proxy = setup.plan.schemes[setup.scheme].clean.is_some();
    std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let tcp = scope.spawn(move || {
            let tcp = TcpFlows::open(flows, hosts, paces, has_proxy, trace(setup.plan));
            let sent = ready.send(tcp.is_ok());
            debug_assert!(sent.is_ok(), "the run waits for it");
            tcp?.run(clock)
        });
        let udp = flows.udp().next().is_some();
        let udp = udp.then(|| scope.spawn(move || UdpFlows::open(flows, hosts)?.run(clock)));
        let (reports, received) = std::sync::mpsc::channel();
        let quic = (!traffic.quic.is_empty()).then(|| {
            let open = move || QuicFlows::open(flows, &traffic.quic, hosts, setup.seed, reports);
            scope.spawn(move || open()?.run(clock))
        });
        let programs = flows.programs.iter();
        let programs: Vec<_> = programs.map(|program| scope.spawn(|| runner.run(program))).collect();
        if flows.programs.iter().any(|program| program.is_shell) {
            // If it fails, `shallop shell --join` says that no session is open.
            scope.spawn(|| session::serve(hosts, runner.names, &traffic.attached, clock));
        }
        let mut observer = UntilOver { observer, is_over: runner.is_over };
        let stops = StopOnDrop(clock.stop);
        let emulated = match is_ready.recv() {
            Ok(true) => emulate(setup, traffic, links, clock.network, received, &mut observer),
            // The report has the error.
            _ => Err(RehearsalError::Missing("the sockets of hosts cannot be opened".to_owned())),
        };
        drop(stops);
        let mut report = join(tcp);
        for other in [udp, quic].into_iter().flatten() {
            let other = join(other);
            report = report.and_then(|mut all| {
                all.add(other?);
                Ok(all)
            });
        }
        let ends = programs.into_iter().map(join).collect::<Vec<_>>();
        Results { emulated, report, ends: ends.into_iter().collect() }
    })
}

/// Stops the threads of the hosts when dropped. A panic waits until they have ended.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An observer that stops the run when its shell has ended.
struct UntilOver<'a> {
    observer: &'a mut dyn Observer,
    is_over: &'a AtomicBool,
}

impl Observer for UntilOver<'_> {
    fn on_progress(&mut self, now: Time) -> bool {
        !self.is_over.load(Ordering::Relaxed) && self.observer.on_progress(now)
    }

    fn on_flows(&mut self, rows: Vec<FlowRow>) {
        self.observer.on_flows(rows);
    }

    fn wants_snapshot(&self, at: Span) -> bool {
        self.observer.wants_snapshot(at)
    }

    fn on_snapshot(&mut self, snapshot: LiveSnapshot) {
        self.observer.on_snapshot(snapshot);
    }
}

/// The path to which the plan records a tape, if it does.
fn tape_of(plan: &Plan) -> Option<&str> {
    match &plan.driver {
        Driver::Rehearsal { tape, .. } => tape.as_deref(),
        Driver::Simulator => None,
    }
}

/// The factor by which a plan's rehearsal is stretched.
fn stretch_of(plan: &Plan) -> u32 {
    match plan.driver {
        Driver::Rehearsal { stretch, .. } => stretch,
        Driver::Simulator => 1,
    }
}

/// Runs the network of a rehearsal, with hosts behind these links.
fn emulate(
    setup: &ResolvedRun<'_>, traffic: &Traffic, links: Vec<HostLink>, network: &NetworkClock,
    reports: Receiver<(u32, Progress)>, observer: &mut dyn Observer,
) -> Result<(Outcome, Emulated), RehearsalError> {
    let priority = realtime::emulate();
    let count = links.len();
    let links = HostLinks::new(links, network, priority.is_realtime);
    let links = links.map_err(failed("the links to the hosts"))?;
    let tape = tape_of(setup.plan).map(|_| Tape {
        job: (setup.scheme, setup.seed),
        names: traffic.flows.names.clone(),
        ..Tape::default()
    });
    let mut emulator = Emulator::new(Recorder::new(links, tape), count, uses_legacy_classes(setup.plan));
    let standstill = Span::from_ps(traffic.shortest_rtt.as_ps() / STANDSTILL_OF_RTT);
    let standstill = standstill.max(SHORTEST_STANDSTILL).min(STANDSTILL);
    (emulator.reports, emulator.standstill) = (Some(reports), standstill);
    let factory = HostEndpoints { setup, simulated: ends::mixed(setup)?, flows: &traffic.flows };
    let (outcome, emulator) = run_with_hosts(setup, &factory, emulator, observer)?;
    let (mut io, counters) = emulator.into_io();
    let mut is_cut = false;
    if let (Some(file), Some(tape)) = (tape_of(setup.plan), io.tape.take()) {
        is_cut = tape.is_cut;
        replay::write(file, &tape)?;
    }
    Ok((outcome, Emulated { counters, is_realtime: priority.is_realtime, is_cut, _links: io.into_inner().links }))
}

/// The emulator at the end of a run.
struct Emulated {
    counters: Counters,
    is_realtime: bool,
    /// Whether the tape ends before the run.
    is_cut: bool,
    /// The hosts' interfaces, which must stay open until their counters are read.
    _links: Vec<HostLink>,
}

impl Emulated {
    /// The result of a run of this duration in seconds. `dropped` frames were lost in interfaces of hosts.
    fn result(&self, seconds: f64, report: &FlowReport, dropped: u64) -> RehearsalOfRun {
        let Self { counters, is_realtime, .. } = self;
        let lateness = &counters.lateness;
        RehearsalOfRun {
            kernel: abilities::release(),
            is_realtime: *is_realtime,
            packets_per_s: counters.written as f64 / seconds,
            packets_read: counters.read,
            packets_written: counters.written,
            lateness_mean_s: lateness.mean(),
            lateness_rms_s: lateness.root_mean_square(),
            lateness_p50_s: lateness.quantile(0.5),
            lateness_p99_s: lateness.quantile(0.99),
            lateness_p999_s: lateness.quantile(0.999),
            lateness_max_s: lateness.longest(),
            longest_gap_s: counters.gaps.longest().max(counters.standstills.longest()),
            standstills: counters.standstills.count(),
            stood_still_s: counters.standstills.total(),
            response_mean_s: counters.responses.mean(),
            response_rms_s: counters.responses.root_mean_square(),
            response_p99_s: counters.responses.quantile(0.99),
            hosts_waited: report.waited.as_secs_f64() / seconds,
            starved: report.starved,
            starts_late_s: report.late.as_secs_f64(),
            datagrams_late_s: report.datagrams_late.as_secs_f64(),
            bytes_checked: report.checked,
            stray_frames: counters.strays,
            malformed_frames: counters.malformed,
            lost_frames: dropped + counters.no_slot + counters.refused,
            ..RehearsalOfRun::default()
        }
    }
}
