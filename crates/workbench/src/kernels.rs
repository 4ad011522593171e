//! Runs whose hosts are real kernels, on machines that can run them.

use std::path::Path;

#[cfg(target_os = "linux")]
pub use shallop_kernel::installed::data_folder;
use shallop_lab::Observer;
use shallop_measure::Outcome;
use shallop_measure::observer::Unobserved;
use shallop_plan::Study;
use shallop_plan::plan::{Driver, Plan};
use shallop_results::summary::Run;

use crate::error::WorkError;
use crate::shell::Terminal;

/// A kernel of this machine.
#[cfg(target_os = "linux")]
pub type Kernel = shallop_kernel::Installed;
/// Without Linux there is none.
#[cfg(not(target_os = "linux"))]
pub enum Kernel {}

/// The kernel that a plan names, if this machine has it.
///
/// # Errors
/// How to get one.
#[cfg(target_os = "linux")]
pub fn find(plan: &Plan) -> Result<Kernel, WorkError> {
    use shallop_kernel::installed;
    let found = installed::find(&installed::folder(), plan.kernel.release.as_deref());
    found.map_err(WorkError::NoKernel)
}

/// Runs a plan with a shell in real time, with this process's terminal, under its first scheme. Returns the status with
/// which the shell ended, or nothing if the run ended before.
///
/// # Errors
/// If this machine cannot rehearse.
pub fn run_live_shell(
    plan: &Plan,
    observer: &mut dyn Observer,
) -> Result<Option<(u8, u64)>, WorkError> {
    match run(plan, (0, plan.seed), observer, None) {
        #[cfg(target_os = "linux")]
        Err(WorkError::Rehearsal(shallop_linux::RehearsalError::Left { status, lost })) => {
            Ok(Some((u8::try_from(status).unwrap_or(u8::MAX), lost)))
        }
        other => other.map(|_| None),
    }
}

/// The names and addresses of the real hosts of a plan.
///
/// # Errors
/// If it cannot be rehearsed.
#[cfg(target_os = "linux")]
pub fn addresses(plan: &Plan) -> Result<Vec<(String, String)>, WorkError> {
    let all = shallop_linux::rehearse::addresses(plan, 0).map_err(WorkError::Rehearsal)?;
    Ok(all.into_iter().map(|(name, address)| (name, address.to_string())).collect())
}

/// None.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn addresses(_: &Plan) -> Result<Vec<(String, String)>, WorkError> {
    Ok(Vec::new())
}

/// As on Linux, where there are some.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn find(_: &Plan) -> Result<Kernel, WorkError> {
    Err(WorkError::NoKernel("stack = \"kernel\" needs Linux".to_owned()))
}

/// Checks whether this machine has what the hosts of a scheme need.
///
/// # Errors
/// What is missing, and how to get it.
pub fn check(plan: &Plan, scheme: usize) -> Result<(), WorkError> {
    if plan.driver == Driver::Simulator && plan.has_kernels(scheme) {
        find(plan)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn rehearse(
    plan: &Plan,
    job: (usize, u64),
    observer: &mut dyn Observer,
    files: Option<&Path>,
) -> Result<Outcome, WorkError> {
    use shallop_linux::{RehearsalError, rehearse};
    rehearse::run_observed(plan, job.0, job.1, observer, files).map_err(|why| match why {
        RehearsalError::Run(why) => why.into(),
        RehearsalError::Missing(why) => WorkError::NoKernel(why),
        why => why.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn rehearse(
    _: &Plan,
    _: (usize, u64),
    _: &mut dyn Observer,
    _: Option<&Path>,
) -> Result<Outcome, WorkError> {
    Err(WorkError::NoKernel("a rehearsal needs Linux".to_owned()))
}

/// Runs a scheme of a plan with a seed. Hosts with `stack = "kernel"` are kernels; what programs in them write goes to
/// the folder `files`, which is made or replaced.
///
/// # Errors
/// If the run cannot be made or was stopped.
pub fn run(
    plan: &Plan,
    (scheme, seed): (usize, u64),
    observer: &mut dyn Observer,
    files: Option<&Path>,
) -> Result<Outcome, WorkError> {
    if plan.driver != Driver::Simulator {
        return rehearse(plan, (scheme, seed), observer, files);
    }
    if !plan.has_kernels(scheme) {
        return Ok(shallop_lab::run_observed(plan, scheme, seed, observer)?);
    }
    let kernel = find(plan)?;
    run_with(&kernel, plan, (scheme, seed), (observer, files, None))
}

/// Who watches a run, where the files of its programs go, and who types.
type Connected<'a> = (&'a mut dyn Observer, Option<&'a Path>, Option<Box<dyn Terminal>>);

/// Runs a plan with a shell for whoever is at the terminal, under its first scheme.
///
/// # Errors
/// If the run cannot be made or was stopped.
pub fn run_shell(
    plan: &Plan,
    terminal: Box<dyn Terminal>,
    observer: &mut dyn Observer,
) -> Result<(), WorkError> {
    let kernel = find(plan)?;
    run_with(&kernel, plan, (0, plan.seed), (observer, None, Some(terminal))).map(|_| ())
}

#[cfg(target_os = "linux")]
fn run_with(
    kernel: &Kernel,
    plan: &Plan,
    job: (usize, u64),
    (observer, files, terminal): Connected<'_>,
) -> Result<Outcome, WorkError> {
    use shallop_kernel::run::{KernelRunError, Outside, run_observed};
    let outside = Outside { observer, files, terminal };
    run_observed(plan, job.0, job.1, kernel, outside).map_err(|why| match why {
        KernelRunError::Run(why) => why.into(),
        why => why.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn run_with(
    kernel: &Kernel,
    _: &Plan,
    _: (usize, u64),
    _: Connected<'_>,
) -> Result<Outcome, WorkError> {
    match *kernel {}
}

/// What the results of a scheme depend on besides its plan: the kernel of its hosts, as its digest says. Empty without.
#[must_use]
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

/// Why this machine cannot run a study whose hosts are kernels: how to get one. `None` if it can, or if no host is one.
#[must_use]
pub fn missing(study: &Study) -> Option<String> {
    let plans = study.points.iter().map(|point| &point.plan);
    let mut needing = plans.filter(|plan| (0..plan.schemes.len()).any(|of| plan.has_kernels(of)));
    needing.find_map(|plan| find(plan).err()).map(|why| why.to_string())
}

/// A kernel of this machine, as `shallop kernel list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KernelRow {
    /// The release of Linux.
    pub release: String,
    /// A digest of its configuration and of the agent in it.
    pub digest: String,
    /// Its folder.
    pub folder: std::path::PathBuf,
}

/// The folder of kernels, and those in it, the newest last.
#[must_use]
pub fn list() -> (std::path::PathBuf, Vec<KernelRow>) {
    #[cfg(target_os = "linux")]
    {
        let folder = shallop_kernel::installed::folder();
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

/// Builds a kernel of this release from Debian's source package, with this many jobs, and installs it. `tell` is told
/// of each step.
///
/// # Errors
/// What failed, or what has to be installed first.
pub fn build(
    release: Option<&str>,
    jobs: usize,
    tell: &mut dyn FnMut(&str),
) -> Result<KernelRow, WorkError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_kernel::{build, installed};
        let failed = |why: build::BuildError| WorkError::NoKernel(why.to_string());
        build::install_packages().map_err(failed)?;
        let folder = installed::folder();
        let kernel = build::build(&folder, release, jobs, tell).map_err(failed)?;
        let folder = folder.join(&kernel.release);
        Ok(KernelRow { release: kernel.release, digest: kernel.digest, folder })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (release, jobs, tell);
        Err(WorkError::NoKernel("kernels are built on Linux".to_owned()))
    }
}

/// Builds a controller as a module of a kernel of this release, or of the newest, from its source. Returns its file.
///
/// # Errors
/// What failed, or what has to be installed first.
pub fn build_module(
    source: &Path,
    release: Option<&str>,
    jobs: usize,
    tell: &mut dyn FnMut(&str),
) -> Result<std::path::PathBuf, WorkError> {
    #[cfg(target_os = "linux")]
    {
        use shallop_kernel::{build, installed};
        let failed = |why: build::BuildError| WorkError::NoKernel(why.to_string());
        let folder = installed::folder();
        let kernel = installed::find(&folder, release).map_err(WorkError::NoKernel)?;
        build::install_packages().map_err(failed)?;
        build::build_module(&folder, &kernel, source, jobs, tell).map_err(failed)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (source, release, jobs, tell);
        Err(WorkError::NoKernel("kernels are built on Linux".to_owned()))
    }
}

/// The scenario of [`test`].
const TEST: &str = r#"
title = "a kernel's CUBIC over 1 Gb/s"
duration = "500ms"
stack = "kernel"
topology = { kind = "dumbbell", senders = 2, rate = "1Gbps", delay = "250us" }
switch.default.buffer = "250KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"#;

/// Results of [`test()`].
#[derive(Clone, Debug, serde::Serialize)]
pub struct Tested {
    /// The kernel.
    pub release: String,
    /// Payload of two CUBIC flows over 1 Gb/s, in bits per second.
    pub goodput_bps: f64,
    /// Whether a second run gave the same results.
    pub repeatable: bool,
}

/// Runs two flows between kernels twice.
///
/// # Errors
/// If there is no kernel, or it fails.
pub fn test(release: Option<&str>) -> Result<Tested, WorkError> {
    let mut study = shallop_scenario::read(TEST, &shallop_scenario::Options::default())?;
    let plan = &mut study.points[0].plan;
    plan.kernel.release = release.map(str::to_owned);
    let (first, second) = (once(plan)?, once(plan)?);
    let release = first.kernel.as_ref().map(|kernel| kernel.release.clone()).unwrap_or_default();
    Ok(Tested { release, goodput_bps: first.goodput_bps, repeatable: first == second })
}

/// Runs the first scheme of a plan once, for its figures alone.
pub(super) fn once(plan: &Plan) -> Result<Run, WorkError> {
    run(plan, (0, 1), &mut Unobserved, None).map(|outcome| outcome.run)
}
