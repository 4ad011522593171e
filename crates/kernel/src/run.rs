//! Runs of plans in which some or all hosts are kernels.

use shallop_core::{Span, Time};
use shallop_hosts::HostFlows;
use shallop_hosts::flows::{HostEndpoints, uses_legacy_classes};
use shallop_measure::{Outcome, ends, observer::Observer, run_with_hosts};
use shallop_options::StringEnum;
use shallop_plan::{ResolvedRun, plan::Plan};
use shallop_results::summary::{KernelOfRun, Run};
use std::path::Path;

pub use crate::error::KernelRunError;
use crate::hosts::{Finished, Kernels};
use crate::installed::Installed;
use crate::lateness::{LateHosts, Lateness};
use crate::{clock::guest_time, console::Terminal, error::KernelError};
use crate::{launch::Start, orders::Settings, programs, record, time_travel::Mode, traffic::Traffic};

/// The largest send and receive buffer of a socket, in bytes.
const SOCKET_BUFFER: u64 = 64 << 20;
/// The most memory of each kernel, in MiB. A kernel takes only what it uses.
const MEMORY_MB: u32 = 1_024;

/// Why flows cannot be recorded.
const OLD_AGENT: &str = "this kernel was built by an earlier version of shallop and cannot record flows: build it \
                         again with 'shallop kernel build', or leave out `record`";

/// What a run gets from its caller besides the plan.
pub struct Outside<'a> {
    /// The observer of the run, which gets the rows of flows.
    pub observer: &'a mut dyn Observer,
    /// The folder for the files of programs, which is made or replaced.
    pub files: Option<&'a Path>,
    /// The terminal of the plan's shell, if it has one.
    pub terminal: Option<Box<dyn Terminal>>,
    /// Lateness of hosts on purpose.
    pub lateness: Option<Lateness>,
}

/// Runs a scheme of a plan with a seed. Some or all of its hosts are kernels.
///
/// # Errors
/// If the run cannot be set up, was stopped, or a kernel failed.
pub fn run_observed(
    plan: &Plan, scheme: usize, seed: u64, installed: &Installed, outside: Outside<'_>,
) -> Result<Outcome, KernelRunError> {
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let traffic = Traffic::from_setup(&setup)?;
    let settings = settings(plan, &traffic);
    let late = outside.lateness.map(|options| LateHosts::new(options, plan.duration));
    let stands_still = late.as_ref().map_or(0, LateHosts::total);
    let start = Start {
        installed,
        settings: &settings,
        hosts: &traffic.kernels()?,
        flows: &traffic.flows,
        scenario: &traffic.scenario,
        stop: guest_time(Time::after_start(plan.duration)) + stands_still,
        seed,
        mode: Mode::default(),
        memory_mb: MEMORY_MB,
        spin_seconds: plan.kernel.compute_limit.as_ps().div_ceil(Span::from_secs(1).as_ps()),
    };
    let mut kernels = Kernels::boot(&start, plan.kernel.interrupt_gap, uses_legacy_classes(plan))?;
    if let Some(late) = late {
        kernels.make_late(late);
    }
    if plan.record.is_some() {
        check_agents(&mut kernels)?;
    }
    if let Some(terminal) = outside.terminal {
        kernels.set_terminal(terminal);
    }
    let factory = HostEndpoints { setup: &setup, simulated: ends::mixed(&setup)?, flows: &traffic.flows };
    let (mut outcome, kernels) = run_with_hosts(&setup, &factory, kernels, outside.observer)?;
    let finished = kernels.finish(Time::after_start(plan.duration))?;
    check_reports(&finished.logs)?;
    if let Some(interval) = plan.record {
        outcome.add_traces(&record::traces(&finished.logs, &traffic.flows, interval));
    }
    let run = &mut outcome.run;
    run.kernel = Some(kernel_of_run(plan, installed, &finished));
    run.rehearsal.clone_from(&finished.lateness);
    add_programs(run, &traffic.flows, &finished, outside.files)?;
    Ok(outcome)
}

/// Checks that the agents of the kernels, which have booted, record the states of connections.
fn check_agents(kernels: &mut Kernels) -> Result<(), KernelRunError> {
    for process in kernels.processes() {
        if !record::is_recording(&process.log()?) {
            return Err(KernelRunError::Refused(OLD_AGENT.to_owned()));
        }
    }
    Ok(())
}

fn settings(plan: &Plan, traffic: &Traffic) -> Settings {
    Settings {
        qdisc: plan.kernel.qdisc.word().to_owned(),
        gso_max_segs: plan.kernel.gso_max_segs,
        modules: traffic.modules.clone(),
        sysctls: traffic.ecn().into_iter().chain(plan.kernel.written_sysctls()).collect(),
        socket_buffer: SOCKET_BUFFER,
        record: plan.record.map(|interval| (interval.as_ps() / 1_000).max(1)),
    }
}

fn kernel_of_run(plan: &Plan, installed: &Installed, finished: &Finished) -> KernelOfRun {
    let counters = &finished.counters;
    KernelOfRun {
        release: installed.release.clone(),
        digest: installed.digest_with(plan.kernel.module.as_deref()),
        qdisc: plan.kernel.qdisc.word().to_owned(),
        gso_max_segs: plan.kernel.gso_max_segs.map(u64::from),
        interrupts: counters.interrupts,
        receive_ring_drops: counters.no_receive_buffer,
        stray_frames: counters.strays,
    }
}

/// Adds the results of programs to a run, with a warning for each that failed. Their files go to the folder `files`.
fn add_programs(
    run: &mut Run, flows: &HostFlows, finished: &Finished, files: Option<&Path>,
) -> Result<(), KernelRunError> {
    let Some(folder) = &finished.folder else { return Ok(()) };
    if let Some(files) = files {
        programs::keep(folder.path(), flows, files).map_err(KernelError::io("the files of programs"))?;
    }
    let ends = programs::ends(flows, &finished.logs);
    for ((number, program), end) in (0..).zip(&flows.programs).zip(ends) {
        run.programs.push(program.result(&flows.names, end));
        run.warnings.extend(program.warning(&flows.names, end).map(|warning| {
            let stderr = programs::output(folder.path(), number, "stderr");
            let last = stderr.lines().rfind(|line| !line.trim().is_empty());
            match last {
                Some(line) => format!("{warning}: {line}"),
                None => warning,
            }
        }));
    }
    Ok(())
}

/// Checks that no memory limit of a kernel affected a flow, and that agents had no errors.
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
