//! Runs a plan whose hosts, or some of them, are kernels.

use std::path::Path;

use shallop_core::options::Words;
use shallop_core::{Span, Time};
use shallop_hosts::flows::HostEnds;
use shallop_lab::ends;
use shallop_lab::{RunError, run_with_hosts};
use shallop_measure::Outcome;
use shallop_measure::observer::Observer;
use shallop_plan::plan::Plan;
use shallop_plan::{ResolvedRun, SetupError};
use shallop_results::summary::{KernelOfRun, ProgramOfRun};

use crate::console::Terminal;

use crate::error::KernelError;
use crate::hosts::{Finished, Kernels};
use crate::installed::Installed;
use crate::launch::{BOOTED, Start};
use crate::orders::Settings;

use crate::programs::{self, Program};
use crate::time_travel::Mode;
use crate::traffic::Traffic;

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

/// What a run with kernels is connected to.
pub struct Outside<'a> {
    /// Who watches it: rows of flows go there.
    pub observer: &'a mut dyn Observer,
    /// The folder that gets what programs write; it is made, or replaced.
    pub files: Option<&'a Path>,
    /// Who types the input of the plan's shell, if it has one.
    pub terminal: Option<Box<dyn Terminal>>,
}

/// Runs a scheme of a plan with a seed, in which some hosts are kernels.
///
/// # Errors
/// If the run cannot be set up, was stopped, or a kernel failed.
pub fn run_observed(
    plan: &Plan,
    (scheme, seed): (usize, u64),
    installed: &Installed,
    outside: Outside<'_>,
) -> Result<Outcome, KernelRunError> {
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let traffic = Traffic::of(&setup)?;
    let settings = settings(plan, &traffic);
    let start = Start {
        installed,
        settings: &settings,
        hosts: &traffic.kernels()?,
        flows: &traffic.flows.orders,
        programs: &traffic.programs,
        stop: BOOTED + plan.duration.as_ps().div_ceil(1_000),
        seed,
        mode: Mode::default(),
        memory_mb: MEMORY_MB,
        spin_seconds: plan.kernel.compute_limit.as_ps().div_ceil(Span::from_secs(1).as_ps()),
    };
    let legacy = plan.groups.iter().any(|group| group.transport.is_some());
    let mut kernels = Kernels::boot(&start, plan.kernel.interrupt_gap, legacy)?;
    if let Some(terminal) = outside.terminal {
        kernels.set_terminal(terminal);
    }
    let factory =
        HostEnds { setup: &setup, simulated: ends::mixed(&setup)?, flows: &traffic.flows };
    let (mut outcome, kernels) = run_with_hosts(&setup, &factory, kernels, outside.observer)?;
    let finished = kernels.finish(Time::after_start(plan.duration))?;
    check_reports(&finished.logs)?;
    let run = &mut outcome.run;
    run.kernel = Some(kernel_of_run(plan, installed, &finished));
    programs(plan, &traffic, &finished, outside.files)?.into_iter().for_each(
        |(program, warning)| {
            run.programs.push(program);
            run.warnings.extend(warning);
        },
    );
    Ok(outcome)
}

fn settings(plan: &Plan, traffic: &Traffic) -> Settings {
    Settings {
        qdisc: plan.kernel.qdisc.word().to_owned(),
        gso_max_segs: plan.kernel.gso_max_segs,
        controllers: traffic.flows.controllers.clone(),
        modules: traffic.modules.clone(),
        sysctls: traffic.ecn().into_iter().chain(plan.kernel.written_sysctls()).collect(),
        socket_buffer: SOCKET_BUFFER,
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

/// How the programs of a run ended, each with a warning if it failed. What they wrote goes to `files`.
fn programs(
    plan: &Plan,
    traffic: &Traffic,
    finished: &Finished,
    files: Option<&Path>,
) -> Result<Vec<(ProgramOfRun, Option<String>)>, KernelRunError> {
    let Some(folder) = &finished.folder else { return Ok(Vec::new()) };
    let all = &traffic.programs;
    let host = |program: &Program| all.names[program.host as usize].as_str();
    let name = |program: &Program| format!("{}.{}", program.folder, host(program));
    if let Some(files) = files {
        programs::keep(folder.path(), &all.all, name, files)
            .map_err(KernelError::io("the files of programs"))?;
    }
    let ended = programs::ended(&finished.logs);
    let of = |program: &Program| {
        let end = ended.iter().find(|end| end.number == program.number);
        let status = end.and_then(|end| end.status);
        let told = ProgramOfRun {
            group: plan.groups[traffic.groups[program.number as usize]].name.clone(),
            host: host(program).to_owned(),
            command: program.command.clone(),
            ended_s: status.and(end).map(|end| end.at.saturating_sub(BOOTED) as f64 / 1e9),
            status: status.map(u64::from),
            files: name(program),
        };
        let says = programs::output(folder.path(), program.number, "stderr");
        let warning = status.filter(|&status| status != 0).map(|status| {
            let says = says.lines().rfind(|line| !line.trim().is_empty());
            let says = says.map_or(String::new(), |line| format!(": {line}"));
            format!("{} in {} ended with status {status}{says}", program.command[0], host(program))
        });
        (told, warning)
    };
    Ok(all.all.iter().map(of).collect())
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
