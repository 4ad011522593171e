//! Runs in the simulator, with real kernels as hosts, or as a rehearsal, whichever a plan needs.

use super::team::PoolTeam;
use std::path::Path;

use crate::{error::StudyError, shell::Terminal};
use shallop_measure::{Observer, Outcome, observer::Unobserved};
use shallop_plan::Study;
use shallop_plan::plan::{Driver, Plan};
use shallop_results::summary::Run;

/// A kernel that is installed on this machine.
#[cfg(target_os = "linux")]
pub type Kernel = shallop_kernel::Installed;
/// Only Linux has kernels as hosts.
#[cfg(not(target_os = "linux"))]
pub enum Kernel {}

/// Finds the kernel that a plan names.
///
/// # Errors
/// The message says how to get one.
#[cfg(target_os = "linux")]
pub fn find(plan: &Plan) -> Result<Kernel, StudyError> {
    use shallop_kernel::installed;
    let found = installed::folder().and_then(|folder| installed::find(&folder, plan.kernel.release.as_deref()));
    found.map_err(StudyError::NoKernel)
}

/// Runs the first scheme of a plan in real time with a shell at this process's terminal. Returns the exit status of the
/// shell and the frames lost at attached interfaces; `None` if the run ended before the shell.
pub fn run_live_shell(plan: &Plan, observer: &mut dyn Observer) -> Result<Option<(u8, u64)>, StudyError> {
    match run(plan, 0, plan.seed, observer, None) {
        #[cfg(target_os = "linux")]
        Err(StudyError::Rehearsal(shallop_linux::RehearsalError::Left { status, lost })) => {
            Ok(Some((u8::try_from(status).unwrap_or(u8::MAX), lost)))
        }
        other => other.map(|_| None),
    }
}

/// The names and addresses of the real hosts of a plan.
#[cfg(target_os = "linux")]
pub fn addresses(plan: &Plan) -> Result<Vec<(String, String)>, StudyError> {
    let all = shallop_linux::rehearse::addresses(plan, 0).map_err(StudyError::Rehearsal)?;
    Ok(all.into_iter().map(|(name, address)| (name, address.to_string())).collect())
}

#[cfg(not(target_os = "linux"))]
pub fn addresses(_: &Plan) -> Result<Vec<(String, String)>, StudyError> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
pub fn find(_: &Plan) -> Result<Kernel, StudyError> {
    Err(StudyError::NoKernel("stack = \"kernel\" needs Linux".to_owned()))
}

/// Checks whether this machine has the kernel that a scheme needs.
///
/// # Errors
/// The message says how to get one.
pub fn check(plan: &Plan, scheme: usize) -> Result<(), StudyError> {
    if plan.driver == Driver::Simulator && plan.has_kernels(scheme) {
        find(plan)?;
    }
    Ok(())
}

fn rehearse(
    plan: &Plan, job: (usize, u64), observer: &mut dyn Observer, files: Option<&Path>,
) -> Result<Outcome, StudyError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_linux::{RehearsalError, rehearse};
        rehearse::run_observed(plan, job.0, job.1, observer, files).map_err(|why| match why {
            RehearsalError::Run(why) => why.into(),
            RehearsalError::Missing(why) => StudyError::NoKernel(why),
            why => why.into(),
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (plan, job, observer, files);
        Err(StudyError::NoKernel("a rehearsal needs Linux".to_owned()))
    }
}

/// Runs a scheme of a plan with a seed. Files that programs write go to the folder `files`, which is replaced.
pub fn run(
    plan: &Plan, scheme: usize, seed: u64, observer: &mut dyn Observer, files: Option<&Path>,
) -> Result<Outcome, StudyError> {
    run_on(1, plan, scheme, seed, observer, files)
}

/// As [`run`], on this number of cores if the run can be divided.
pub fn run_on(
    cores: usize, plan: &Plan, scheme: usize, seed: u64, observer: &mut dyn Observer, files: Option<&Path>,
) -> Result<Outcome, StudyError> {
    if cores > 1 && (plan.driver != Driver::Simulator || plan.has_kernels(scheme)) {
        observer.on_note(&format!("{cores} cores: the run uses one, since its hosts are real"));
    }
    if plan.driver != Driver::Simulator {
        return rehearse(plan, (scheme, seed), observer, files);
    }
    if !plan.has_kernels(scheme) {
        return Ok(shallop_measure::run_on((cores, &PoolTeam), plan, scheme, seed, observer)?);
    }
    let kernel = find(plan)?;
    run_with(&kernel, plan, (scheme, seed), observer, files, None)
}

/// Runs the first scheme of a plan in virtual time with a shell at this terminal.
pub fn run_shell(plan: &Plan, terminal: Box<dyn Terminal>, observer: &mut dyn Observer) -> Result<(), StudyError> {
    let kernel = find(plan)?;
    run_with(&kernel, plan, (0, plan.seed), observer, None, Some(terminal)).map(|_| ())
}

fn run_with(
    kernel: &Kernel, plan: &Plan, job: (usize, u64), observer: &mut dyn Observer, files: Option<&Path>,
    terminal: Option<Box<dyn Terminal>>,
) -> Result<Outcome, StudyError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_kernel::run::{KernelRunError, Outside, run_observed};
        let outside = Outside { observer, files, terminal, lateness: None };
        run_observed(plan, job.0, job.1, kernel, outside).map_err(|why| match why {
            KernelRunError::Run(why) => why.into(),
            why => why.into(),
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (plan, job, observer, files, terminal);
        match *kernel {}
    }
}

/// The digest of the kernel that a scheme's results depend on: of hosts in virtual time, or of this machine in a
/// rehearsal. Empty for simulated hosts.
pub fn digest(plan: &Plan, scheme: usize) -> String {
    #[cfg(target_os = "linux")]
    if plan.driver != Driver::Simulator {
        return shallop_linux::abilities::release();
    }
    #[cfg(target_os = "linux")]
    if plan.has_kernels(scheme) {
        let module = plan.kernel.module.as_deref();
        return find(plan).map(|kernel| kernel.digest_with(module)).unwrap_or_default();
    }
    let _ = (plan, scheme);
    String::new()
}

/// Says how to get the kernel that a study needs; `None` if it is there or no host is a kernel.
pub fn missing(study: &Study) -> Option<String> {
    let plans = study.points.iter().map(|point| &point.plan);
    let mut needing = plans.filter(|plan| (0..plan.schemes.len()).any(|of| plan.has_kernels(of)));
    needing.find_map(|plan| find(plan).err()).map(|why| why.to_string())
}

/// An installed kernel, as `shallop kernel list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KernelRow {
    pub release: String,
    /// A digest of the kernel's configuration and of the agent in it.
    pub digest: String,
    pub folder: std::path::PathBuf,
}

/// The folder of all kernels, and the kernels in it in ascending order of release.
pub fn list() -> (std::path::PathBuf, Vec<KernelRow>) {
    #[cfg(target_os = "linux")]
    {
        let folder = shallop_kernel::installed::folder().unwrap_or_default();
        let row = |kernel: Kernel| KernelRow {
            folder: folder.join(&kernel.release),
            release: kernel.release,
            digest: kernel.digest,
        };
        let rows = shallop_kernel::installed::list(&folder).into_iter().map(row).collect();
        (folder, rows)
    }
    #[cfg(not(target_os = "linux"))]
    (std::path::PathBuf::new(), Vec::new())
}

/// Builds and installs a kernel of this release from Debian's source package. `tell` receives a line for each step.
pub fn build(release: Option<&str>, jobs: usize, tell: &mut dyn FnMut(&str)) -> Result<KernelRow, StudyError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_kernel::{build, installed};
        let failed = |why: build::BuildError| StudyError::NoKernel(why.to_string());
        let folder = installed::folder().map_err(StudyError::NoKernel)?;
        build::install_packages().map_err(failed)?;
        let kernel = build::build(&folder, release, jobs, tell).map_err(failed)?;
        let folder = folder.join(&kernel.release);
        Ok(KernelRow { release: kernel.release, digest: kernel.digest, folder })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (release, jobs, tell);
        Err(StudyError::NoKernel("kernels are built on Linux".to_owned()))
    }
}

/// Builds a congestion controller as a module for a kernel of this release, or the newest. Returns the module's file.
pub fn build_module(
    source: &Path, release: Option<&str>, jobs: usize, tell: &mut dyn FnMut(&str),
) -> Result<std::path::PathBuf, StudyError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_kernel::{build, installed};
        let failed = |why: build::BuildError| StudyError::NoKernel(why.to_string());
        let folder = installed::folder().map_err(StudyError::NoKernel)?;
        let kernel = installed::find(&folder, release).map_err(StudyError::NoKernel)?;
        build::install_packages().map_err(failed)?;
        build::build_module(&folder, &kernel, source, jobs, tell).map_err(failed)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (source, release, jobs, tell);
        Err(StudyError::NoKernel("kernels are built on Linux".to_owned()))
    }
}

const TEST: &str = r#"
title = "a kernel's CUBIC over 1 Gb/s"
duration = "500ms"
stack = "kernel"
topology = { kind = "dumbbell", senders = 2, rate = "1Gbps", delay = "250us" }
switch.default.buffer = "250KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"#;

/// The result of [`test()`].
#[derive(Clone, Debug, serde::Serialize)]
pub struct KernelTest {
    pub release: String,
    /// Payload rate of two CUBIC flows over 1 Gb/s.
    pub goodput_bps: f64,
    /// Whether a second run gave equal results.
    pub repeatable: bool,
}

/// Runs two flows between kernels twice and compares the results.
pub fn test(release: Option<&str>) -> Result<KernelTest, StudyError> {
    let mut study = shallop_scenario::read(TEST, &shallop_scenario::Options::default())?;
    let plan = &mut study.points[0].plan;
    plan.kernel.release = release.map(str::to_owned);
    let (first, second) = (once(plan)?, once(plan)?);
    let release = first.kernel.as_ref().map(|kernel| kernel.release.clone()).unwrap_or_default();
    Ok(KernelTest { release, goodput_bps: first.goodput_bps, repeatable: first == second })
}

/// Runs a scheme of a plan with its own seed, without files.
pub(super) fn trial(plan: &Plan, scheme: usize) -> Result<Run, StudyError> {
    run(plan, scheme, plan.seed, &mut Unobserved, None).map(|outcome| outcome.run)
}

/// Runs the first scheme of a plan with seed 1.
pub(super) fn once(plan: &Plan) -> Result<Run, StudyError> {
    run(plan, 0, 1, &mut Unobserved, None).map(|outcome| outcome.run)
}
