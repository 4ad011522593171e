//! A rehearsal of one scheme of a plan.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use shallop_core::{Share, Span, Time};
use shallop_emu::tape::{Recorder, Tape};
use shallop_emu::{Counters, Emulator};
use shallop_hosts::addresses;
use shallop_hosts::flows::HostEnds;
use shallop_hosts::quic::Progress;
use shallop_lab::{ends, run_with_hosts};
use shallop_measure::Outcome;
use shallop_measure::flow_log::FlowRow;
use shallop_measure::moment::Moment;
use shallop_measure::observer::Observer;
use shallop_measure::series;
use shallop_plan::ResolvedRun;
use shallop_plan::kernel::Qdisc;
use shallop_plan::plan::{Driver, Plan};
use shallop_results::summary::RehearsalOfRun;
use tun_rs::SyncDevice;

use crate::abilities;
use crate::attached::{Interface, Watch};
use crate::controllers::Controllers;
use crate::error::{RehearsalError, failed};
use crate::judge;
use crate::namespace::{self, Host, Settings};
use crate::programs::{self, Ended, Stage};
use crate::proxy::RunProxy;
use crate::quic_flows::QuicFlows;
use crate::realtime;
use crate::replay;
use crate::session;
use crate::tap::{Line, Taps};
use crate::tcp_flows::{Report, Sockets, Wanted};
use crate::traffic::Traffic;
use crate::udp_flows::Datagrams;

/// The longest rehearsal.
const LONGEST: Span = Span::from_secs(3_600);
/// The most bytes of a socket's buffers, as hosts that are kernels in virtual time have them.
const SOCKET_BUFFER: &str = "4096 131072 67108864";

/// The sysctls of every host.
fn settings(plan: &Plan, controllers: &Controllers, traffic: &Traffic) -> Settings {
    let own =
        ["tcp_rmem", "tcp_wmem"].map(|name| (format!("net.ipv4.{name}"), SOCKET_BUFFER.to_owned()));
    let no_memory = ("net.ipv4.tcp_no_metrics_save".to_owned(), "1".to_owned());
    Settings {
        gso_max_segs: plan.kernel.gso_max_segs,
        sysctls: own.into_iter().chain([no_memory]).chain(plan.kernel.written_sysctls()).collect(),
        // An interrupt on a processor of the hosts may find process 1 there, and the kernel would leave the controller
        // out. And where nothing but QUIC is received, that costs less than to interrupt the other processor.
        emulator_receives: controllers.are_programs() && shallop_bpf::machine::skips_programs()
            || traffic.is_quic_alone(),
    }
}

/// Rehearses a scheme of a plan with a seed. Takes as long as the plan says. What programs write goes to the folder
/// `files`, which is made; without it, nowhere.
///
/// # Errors
/// If this machine cannot, the plan asks for what a rehearsal cannot do, the run was stopped, or a shell has ended.
pub fn run_observed(
    plan: &Plan,
    (scheme, seed): (usize, u64),
    observer: &mut dyn Observer,
    files: Option<&Path>,
) -> Result<Outcome, RehearsalError> {
    check_length(plan)?;
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let controllers = Controllers::of(&setup)?;
    let traffic = Traffic::of(&setup, Some(&controllers))?;
    let begun = Instant::now();
    let settings = settings(plan, &controllers, &traffic);
    let (mut hosts, devices) = namespace::hosts(&traffic.rates, &settings)?;
    for (&host, name) in &traffic.flows.of_programs {
        namespace::apart(|| namespace::set_controller(&hosts[host as usize], name))?;
    }
    let proxy = RunProxy::attach(&setup, &traffic.flows, &hosts)?;
    let (start, stop, is_over) = (OnceLock::new(), AtomicBool::new(false), AtomicBool::new(false));
    let stage = Stage {
        hosts: &hosts,
        names: &traffic.flows.names,
        folder: files,
        start: &start,
        stop: &stop,
        is_over: &is_over,
    };
    let (lines, watches) = lines(devices, &traffic)?;
    let (outcome, report, ended) = perform(&setup, &traffic, &stage, (lines, observer));
    let report = report?;
    let ended = ended?;
    let shell = traffic.programs.iter().zip(&ended).find(|(program, _)| program.is_shell);
    if let Some(end) = shell.and_then(|(_, end)| *end) {
        // The cards of hosts went with the network.
        let lost = dropped(&mut [], &watches)?;
        return Err(RehearsalError::Left { status: end.status, lost });
    }
    let (mut outcome, emulated) = outcome?;
    let run = &mut outcome.run;
    let lost = dropped(&mut hosts, &watches)?;
    let checksum_errors = namespace::checksum_errors(&hosts)?;
    let hosts = (lost, checksum_errors);
    let rehearsal = emulated.of_run(run.duration_s, traffic.shortest_rtt, &report, hosts);
    let ready = start.get().map_or_else(Duration::default, |start| start.duration_since(begun));
    let scale = plan.topology.scale().map_or(1.0, Share::as_f64);
    let (setup_s, proxy) = (ready.as_secs_f64(), proxy.counted()?);
    let mut rehearsal = RehearsalOfRun { scale, setup_s, proxy, ..rehearsal };
    rehearsal.void.extend(report.tcp_info.impossible_window().map(|segments| {
        format!("a connection had a window of {segments:.0} segments: the kernel's figures cannot be trusted")
    }));
    outcome.series.add_flow_samples(&report.tcp_info.values);
    run.warnings
        .extend(emulated.is_cut.then(|| "the tape is full and ends before the run".to_owned()));
    run.warnings.extend(report.failures.iter().map(|(flow, why)| format!("flow {flow}: {why}")));
    run.warnings.extend(rehearsal.void.iter().map(|why| format!("this run is void: {why}")));
    run.warnings.extend(judge::caution(&rehearsal, traffic.shortest_drain(&setup)));
    run.rehearsal = Some(rehearsal);
    for (program, end) in traffic.programs.iter().zip(&ended) {
        let told = programs::told(&setup, &traffic.flows.names, program, *end);
        if let Some(status) = told.status.filter(|&status| status != 0) {
            let (name, host) = (&program.words[0], &told.host);
            run.warnings.push(format!("{name} in {host} ended with status {status}"));
        }
        run.programs.push(told);
    }
    Ok(outcome)
}

/// The lines to hosts with these cards, or to what is behind the interfaces in their places, and what watches these.
fn lines(
    devices: Vec<SyncDevice>,
    traffic: &Traffic,
) -> Result<(Vec<Line>, Vec<Watch>), RehearsalError> {
    let (count, mut watches) = (devices.len() as u32, Vec::new());
    let line = |(host, device)| match traffic.attached.get(&host) {
        Some(name) => {
            let interface = Interface::open(name, (host, count))?;
            watches.push(interface.watch()?);
            Ok(Line::Attached(interface))
        }
        None => Ok(Line::Tap(device)),
    };
    let lines = (0..).zip(devices).map(line).collect::<Result<_, RehearsalError>>()?;
    Ok((lines, watches))
}

/// Frames of hosts that were lost because the emulator did not read them in time.
fn dropped(hosts: &mut [Host], watches: &[Watch]) -> Result<u64, RehearsalError> {
    let of_hosts = hosts.iter_mut().map(Host::dropped).sum::<std::io::Result<u64>>();
    let of_hosts = of_hosts.map_err(failed("the counters of a card"))?;
    let of_interfaces = watches.iter().map(Watch::dropped).sum::<Result<u64, _>>()?;
    Ok(of_hosts + of_interfaces)
}

/// Checks whether a scheme of a plan can be rehearsed with a seed by this machine's kernel.
///
/// # Errors
/// Why it cannot.
pub fn check(plan: &Plan, (scheme, seed): (usize, u64)) -> Result<(), RehearsalError> {
    check_length(plan)?;
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let controllers = Controllers::of(&setup)?;
    Traffic::of(&setup, Some(&controllers)).map(drop)
}

fn check_length(plan: &Plan) -> Result<(), RehearsalError> {
    if plan.duration > LONGEST {
        let most = LONGEST.as_secs_f64();
        return Err(RehearsalError::Refused(format!("a rehearsal takes at most {most} s")));
    }
    Ok(())
}

/// The most that a plan's network carries at a time between real hosts under a scheme, in bits per second: what the
/// slowest links on the paths of its flows carry together.
///
/// # Errors
/// If the plan cannot be set up or rehearsed.
pub fn demand(plan: &Plan, scheme: usize) -> Result<f64, RehearsalError> {
    let setup = ResolvedRun::new(plan, scheme, plan.seed)?;
    Ok(Traffic::of(&setup, None)?.demand())
}

/// The names and IPv4 addresses of the real hosts of a plan under a scheme.
///
/// # Errors
/// As [`demand`].
pub fn addresses(plan: &Plan, scheme: usize) -> Result<Vec<(String, Ipv4Addr)>, RehearsalError> {
    let setup = ResolvedRun::new(plan, scheme, plan.seed)?;
    let names = Traffic::of(&setup, None)?.flows.names;
    let address = |(host, name)| (name, Ipv4Addr::from_bits(addresses::address(host)));
    Ok((0..).zip(names).map(address).collect())
}

/// How often connections are asked for windows and round trips; zero for never, if flows have no series.
fn sample_interval(plan: &Plan) -> Duration {
    let interval = if series::has_flows(plan) { plan.sample.as_ps() / 1_000 } else { 0 };
    Duration::from_nanos(interval)
}

/// What the parts of a run came to: the network, the sockets, and each program.
type Parts = (
    Result<(Outcome, Emulated), RehearsalError>,
    Result<Report, RehearsalError>,
    Result<Vec<Option<Ended>>, RehearsalError>,
);

/// Runs the network in this thread, and sockets and programs in others, until the network has ended.
fn perform(
    setup: &ResolvedRun<'_>,
    traffic: &Traffic,
    stage: &Stage<'_>,
    (lines, observer): (Vec<Line>, &mut dyn Observer),
) -> Parts {
    let wanted = Wanted {
        orders: &traffic.flows.orders,
        controllers: &traffic.flows.controllers,
        hosts: stage.hosts,
        paces: setup.plan.kernel.qdisc == Qdisc::Fq,
        sample: sample_interval(setup.plan),
    };
    let gone = || RehearsalError::Missing("a thread of the hosts has failed".to_owned());
    std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let sockets = scope.spawn(move || {
            let sockets = Sockets::open(wanted);
            let told = ready.send(sockets.is_ok());
            debug_assert!(told.is_ok(), "the run waits for it");
            sockets?.run(stage.start, stage.stop)
        });
        let datagrams = &traffic.flows.datagrams;
        let datagrams = (!datagrams.is_empty()).then(|| {
            scope.spawn(|| Datagrams::open(datagrams, stage.hosts)?.run(stage.start, stage.stop))
        });
        let (quic, (told, news)) = (&traffic.flows.quic, std::sync::mpsc::channel());
        let quic = (!quic.is_empty()).then(|| {
            let flows = (&quic[..], &traffic.quic[..]);
            scope.spawn(move || {
                QuicFlows::open(flows, (stage.hosts, setup.seed), told)?
                    .run(stage.start, stage.stop)
            })
        });
        let programs = traffic.programs.iter();
        let programs: Vec<_> = programs.map(|program| scope.spawn(|| stage.run(program))).collect();
        if traffic.programs.iter().any(|program| program.is_shell) {
            // If it fails, `shallop shell --join` says that no session is open.
            scope.spawn(|| {
                session::serve(stage.hosts, (stage.names, &traffic.attached), stage.stop)
            });
        }
        let mut observer = UntilOver { observer, is_over: stage.is_over };
        let stops = Stops(stage.stop);
        let outcome = match is_ready.recv() {
            Ok(true) => emulate(setup, traffic, (lines, stage.start, news), &mut observer),
            _ => Err(gone()),
        };
        drop(stops);
        let mut report = sockets.join().unwrap_or_else(|_| Err(gone()));
        for other in [datagrams, quic].into_iter().flatten() {
            let more = other.join().unwrap_or_else(|_| Err(gone()));
            report = report.and_then(|mut all| {
                all.add(more?);
                Ok(all)
            });
        }
        let ended = programs.into_iter().map(|of| of.join().unwrap_or_else(|_| Err(gone())));
        let ended = ended.collect::<Result<Vec<_>, _>>();
        (outcome, report, ended)
    })
}

/// Stops the threads of the hosts when it is dropped, even by a panic: the panic goes on when they have ended.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
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

    fn wants_moment(&self, at: Span) -> bool {
        self.observer.wants_moment(at)
    }

    fn on_moment(&mut self, moment: Moment) {
        self.observer.on_moment(moment);
    }
}

/// The file of the tape that a plan asks for.
fn tape_of(plan: &Plan) -> Option<&str> {
    match &plan.driver {
        Driver::Rehearsal { tape, .. } => tape.as_deref(),
        Driver::Simulator => None,
    }
}

/// Runs the network between these lines.
fn emulate(
    setup: &ResolvedRun<'_>,
    traffic: &Traffic,
    (lines, start, news): (Vec<Line>, &OnceLock<Instant>, Receiver<(u32, Progress)>),
    observer: &mut dyn Observer,
) -> Result<(Outcome, Emulated), RehearsalError> {
    let priority = realtime::emulate();
    let count = lines.len();
    let cards = Taps::new(lines, start, priority.is_realtime);
    let cards = cards.map_err(failed("the lines to the hosts"))?;
    let legacy = setup.plan.groups.iter().any(|group| group.transport.is_some());
    let tape = tape_of(setup.plan).map(|_| Tape {
        job: (setup.scheme, setup.seed),
        names: traffic.flows.names.clone(),
        ..Tape::default()
    });
    let lines = Recorder::new(cards, tape);
    let emulator = Emulator::new(lines, count, traffic.flows.orders.clone(), legacy);
    let emulator = emulator.with_news(news);
    let factory = HostEnds { setup, simulated: ends::mixed(setup)?, flows: &traffic.flows };
    let (outcome, emulator) = run_with_hosts(setup, &factory, emulator, observer)?;
    let (mut lines, counters) = emulator.into_lines();
    let mut is_cut = false;
    if let (Some(file), Some(tape)) = (tape_of(setup.plan), lines.tape.take()) {
        is_cut = tape.is_cut;
        replay::write(file, &tape)?;
    }
    Ok((
        outcome,
        Emulated {
            counters,
            is_realtime: priority.is_realtime,
            is_cut,
            _cards: lines.into_inner().into_lines(),
        },
    ))
}

/// The emulator at the end of a run.
struct Emulated {
    counters: Counters,
    is_realtime: bool,
    /// Whether the tape ends before the run.
    is_cut: bool,
    /// The cards of hosts are there as long as this.
    _cards: Vec<Line>,
}

impl Emulated {
    fn of_run(
        &self,
        seconds: f64,
        shortest_rtt: Span,
        report: &Report,
        (dropped, checksum_errors): (u64, u64),
    ) -> RehearsalOfRun {
        let Self { counters, is_realtime, .. } = self;
        let lateness = &counters.lateness;
        let mut run = RehearsalOfRun {
            kernel: abilities::release(),
            checksum_errors,
            is_realtime: *is_realtime,
            packets_per_s: counters.written as f64 / seconds,
            packets_read: counters.read,
            packets_written: counters.written,
            lateness_p50_s: lateness.quantile(0.5),
            lateness_p99_s: lateness.quantile(0.99),
            lateness_p999_s: lateness.quantile(0.999),
            lateness_max_s: lateness.longest(),
            longest_gap_s: counters.gaps.longest(),
            response_p99_s: counters.responses.quantile(0.99),
            hosts_waited: report.waited.as_secs_f64() / seconds,
            starts_late_s: report.late.as_secs_f64(),
            datagrams_late_s: report.datagrams_late.as_secs_f64(),
            bytes_checked: report.checked,
            stray_frames: counters.strays,
            malformed_frames: counters.malformed,
            lost_frames: dropped + counters.no_slot + counters.refused,
            ..RehearsalOfRun::default()
        };
        run.void = judge::reasons(&run, shortest_rtt);
        run
    }
}
