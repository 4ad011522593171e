//! Preparation of rehearsals: which schemes, at which scale, and whether this machine can run them.

use super::capacity::{self, Scale};
use super::choice::{argument, choose};
use super::diagnostic::{Result, plain, study_error, with_help};
use super::{error::StudyError, kernels, stretch};
use shallop_core::Share;
use shallop_plan::{Study, plan::Driver};
use shallop_results::machine::{Ability, Played};
use shallop_results::summary::RehearsalOfRun;
use shallop_scenario::Options;
use std::path::Path;

/// Options of a rehearsal besides the scenario's.
#[derive(Clone, Copy, Debug, Default)]
pub struct RehearsalOptions<'a> {
    /// The labels of the schemes to rehearse; all if empty.
    pub schemes: &'a [String],
    /// The file for a tape, if there is only one run.
    pub tape: Option<&'a Path>,
    /// The factor for rates and buffers.
    pub scale: Option<Scale>,
    /// The factor by which the network's clock is slower than this machine's, if the caller chooses it.
    pub stretch: Option<u32>,
}

/// Makes a study a rehearsal: selects schemes, scales rates and buffers. Returns the factor if it is below 1.
///
/// # Errors
/// If a scheme is unknown or cannot be rehearsed, a tape is wanted of several runs, or the machine is too slow.
pub fn prepare(study: &mut Study, options: RehearsalOptions<'_>) -> Result<Option<Share>> {
    let RehearsalOptions { schemes, tape, scale, stretch } = options;
    choose(study, schemes)?;
    check(study)?;
    let (scaled, least) = capacity::scale_to_capacity(study, scale)?;
    let runs = study.jobs().len();
    if tape.is_some() && runs != 1 {
        let help = "choose with --schemes and --seeds";
        return Err(with_help(&format!("a tape records one run, and there are {runs}"), &help));
    }
    for point in &mut study.points {
        let tape = tape.map(|tape| tape.to_string_lossy().into_owned());
        point.plan.driver = Driver::Rehearsal { tape, attached: Vec::new(), stretch: 1 };
    }
    let factor = match (stretch, scale) {
        (Some(factor), _) => factor,
        (None, Some(Scale::Auto)) => stretch::find(study, least),
        (None, _) => 1,
    };
    stretch::by(study, factor);
    Ok(scaled)
}

/// Checks whether this machine can rehearse all runs of a study, before the first one starts.
fn check(study: &Study) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use shallop_linux::{RehearsalError, rehearse};
        let mut simulated: Vec<&str> = Vec::new();
        for job in study.jobs() {
            let plan = &study.points[job.point].plan;
            match rehearse::check(plan, job.scheme, job.seed) {
                Ok(()) => {}
                Err(RehearsalError::NoHosts) => simulated.push(&plan.schemes[job.scheme].name),
                Err(RehearsalError::Missing(why)) => return Err(super::diagnostic::missing(&why)),
                Err(why) => return Err(study_error(&why.into())),
            }
        }
        without_hosts(study, &simulated)
    }
    #[cfg(not(target_os = "linux"))]
    without_hosts(study, &[])
}

/// Fails if there are schemes without real hosts, which only a simulation can run.
fn without_hosts(study: &Study, simulated: &[&str]) -> Result<()> {
    let Some(first) = simulated.first() else { return Ok(()) };
    let names = study.points.iter().flat_map(|point| &point.plan.schemes).map(|scheme| scheme.name.as_str());
    let real: Vec<&str> = names.filter(|name| !simulated.contains(name)).collect();
    let help = if real.is_empty() {
        "transports of real hosts are congestion controllers of a kernel, such as cubic, and udp".to_owned()
    } else {
        format!("leave it out with --schemes {}", argument(real))
    };
    Err(with_help(&format!("scheme \"{first}\" has no real hosts"), &help))
}

/// Replays a tape on the simulated network of a study.
pub fn replay(study: &Study, tape: &Path) -> Result<Played> {
    let point = study.points.first().ok_or_else(|| plain(&"the scenario has no points"))?;
    #[cfg(target_os = "linux")]
    {
        let played = shallop_linux::replay::replay(&point.plan, tape);
        played.map_err(|why| study_error(&StudyError::Rehearsal(why)))
    }
    #[cfg(not(target_os = "linux"))]
    Err(plain(&format!("{}: tapes are played on Linux ({})", tape.display(), point.name)))
}

/// Formats the packets of a tape as text, one per line.
pub fn lines_of(tape: &Path) -> Result<Vec<String>> {
    #[cfg(target_os = "linux")]
    return shallop_linux::replay::lines(tape).map_err(|why| study_error(&StudyError::Rehearsal(why)));
    #[cfg(not(target_os = "linux"))]
    Err(plain(&format!("{}: tapes are read on Linux", tape.display())))
}

/// Lets an ordinary user create network namespaces, if the kernel allows it. The process must have a single thread.
pub fn enter_user_namespace() -> Result<()> {
    #[cfg(target_os = "linux")]
    shallop_linux::user_namespace::enter().map_err(|why| plain(&format!("a user namespace for hosts: {why}")))?;
    Ok(())
}

/// Keeps this thread off the processor on which the emulator runs.
pub fn keep_off() {
    #[cfg(target_os = "linux")]
    shallop_linux::keep_off();
}

/// Checks what this machine can and cannot do, from kernels to BPF programs.
pub fn abilities() -> Vec<Ability> {
    #[cfg(target_os = "linux")]
    let mut all = shallop_linux::abilities::all();
    #[cfg(not(target_os = "linux"))]
    let mut all = Vec::new();
    let (_, rows) = kernels::list();
    let releases: Vec<String> = rows.into_iter().map(|row| row.release).collect();
    all.push(Ability {
        what: "kernels in virtual time".to_owned(),
        can: !releases.is_empty(),
        found: if releases.is_empty() { "shallop kernel build makes one".to_owned() } else { releases.join(", ") },
        used_for: "stack = \"kernel\" in run".to_owned(),
    });
    all
}

/// A rehearsal of the benchmark, at one link rate.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RateTrial {
    /// The link rate, headers included.
    pub rate_bps: f64,
    /// How hosts send: in `bursts` (segmentation offload) or in single `packets`.
    pub sends: String,
    /// The payload rate of four CUBIC flows together.
    pub goodput_bps: f64,
    pub rehearsal: RehearsalOfRun,
}

/// The scenario that the benchmark rehearses: four flows over one link.
const BENCH: &str = r#"
title = "what this machine carries"
duration = "1s"
stack = "kernel"
topology = { kind = "dumbbell", senders = 4, rate = "1Gbps", delay = "5ms" }
switch.default.buffer = "500KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
[kernel]
"#;

/// The link rates that the benchmark tries, in Mb/s.
const RATES: [u32; 7] = [100, 200, 500, 1_000, 1_500, 2_000, 3_000];

/// Rehearses four flows over one link at rising rates, one second each, until two rates in a row are void. A void
/// rehearsal is repeated once before it counts. Stops early when `is_over` returns true.
pub fn bench(sends: &str, is_over: &dyn Fn() -> bool) -> Result<Vec<RateTrial>> {
    let segments = if sends == "packets" { "gso_max_segs = 1\nqdisc = \"pfifo_fast\"" } else { "" };
    let (mut all, mut void) = (Vec::new(), 0);
    for rate in RATES {
        if void == 2 || is_over() {
            break;
        }
        let text = format!("{BENCH}{segments}\n");
        let set = vec![("topology.rate".to_owned(), format!("{rate}Mbps"))];
        let options = Options { set, ..Options::default() };
        let study = shallop_scenario::read(&text, &options);
        let mut study = study.map_err(|why| study_error(&StudyError::Text(why)))?;
        for point in &mut study.points {
            point.plan.driver = Driver::Rehearsal { tape: None, attached: Vec::new(), stretch: 1 };
        }
        let plan = &study.points[0].plan;
        let mut run = kernels::once(plan).map_err(|why| study_error(&why))?;
        if run.is_void() && !is_over() {
            // A shared machine may stall once, at any rate.
            run = kernels::once(plan).map_err(|why| study_error(&why))?;
        }
        void = if run.is_void() { void + 1 } else { 0 };
        all.push(RateTrial {
            rate_bps: f64::from(rate) * 1e6,
            sends: sends.to_owned(),
            goodput_bps: run.goodput_bps,
            rehearsal: run.rehearsal.unwrap_or_default(),
        });
    }
    Ok(all)
}
