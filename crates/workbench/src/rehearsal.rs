//! What a study needs to be rehearsed, and what this machine can do.

use std::path::Path;

use shallop_core::Share;
use shallop_plan::Study;
use shallop_plan::plan::Driver;
use shallop_results::machine::{Ability, Played};
use shallop_results::summary::RehearsalOfRun;
use shallop_scenario::Options;

use super::capacity::{self, Scale};
use super::diagnostic::{Result, of_work, plain, with_help};
use super::error::WorkError;
use super::kernels;

/// What is wanted of rehearsals besides their scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The labels of schemes; all if there are none.
    pub schemes: &'a [String],
    /// The file of the tape of the only run.
    pub tape: Option<&'a Path>,
    /// The part of rates and buffers.
    pub scale: Option<Scale>,
}

/// Makes a study one that is rehearsed. Returns the part of its rates and buffers that it has, if that is not all.
///
/// # Errors
/// If there is no such scheme, one of them cannot be rehearsed, a tape is asked for of several runs, or this machine
/// cannot carry it.
pub fn prepare(study: &mut Study, wanted: Wanted<'_>) -> Result<Option<Share>> {
    let Wanted { schemes, tape, scale } = wanted;
    choose(study, schemes)?;
    check(study)?;
    let scaled = capacity::fit(study, scale)?;
    let runs = study.jobs().len();
    if tape.is_some() && runs != 1 {
        let help = "choose with --schemes and --seeds";
        return Err(with_help(&format!("a tape is of one run, and these are {runs}"), &help));
    }
    for point in &mut study.points {
        let tape = tape.map(|tape| tape.to_string_lossy().into_owned());
        point.plan.driver = Driver::Rehearsal { tape, attached: Vec::new() };
    }
    Ok(scaled)
}

/// Checks whether this machine can rehearse all runs of a study, before the first of them takes its time.
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
                Err(why) => return Err(of_work(&why.into())),
            }
        }
        without_hosts(study, &simulated)
    }
    #[cfg(not(target_os = "linux"))]
    without_hosts(study, &[])
}

/// That no scheme is among these, which have no real hosts.
fn without_hosts(study: &Study, simulated: &[&str]) -> Result<()> {
    let Some(first) = simulated.first() else { return Ok(()) };
    let mut real: Vec<&str> = Vec::new();
    for scheme in study.points.iter().flat_map(|point| &point.plan.schemes) {
        if !simulated.contains(&&*scheme.name) && !real.contains(&&*scheme.name) {
            real.push(&scheme.name);
        }
    }
    let help = if real.is_empty() {
        "transports of real hosts are congestion controllers of a kernel, such as cubic, and udp"
            .to_owned()
    } else {
        format!("leave it out with --schemes {}", real.join(","))
    };
    Err(with_help(&format!("scheme \"{first}\" has no real hosts"), &help))
}

/// Plays a tape to the network of a study.
///
/// # Errors
/// If it is no tape, or not one of this scenario.
pub fn replay(study: &Study, tape: &Path) -> Result<Played> {
    let point = study.points.first().ok_or_else(|| plain(&"the scenario has no points"))?;
    #[cfg(target_os = "linux")]
    {
        let played = shallop_linux::replay::replay(&point.plan, tape);
        played.map_err(|why| of_work(&WorkError::Rehearsal(why)))
    }
    #[cfg(not(target_os = "linux"))]
    Err(plain(&format!("{}: tapes are played on Linux ({})", tape.display(), point.name)))
}

/// The packets of a tape, a line each.
///
/// # Errors
/// If it is no tape.
pub fn lines_of(tape: &Path) -> Result<Vec<String>> {
    #[cfg(target_os = "linux")]
    return shallop_linux::replay::lines(tape).map_err(|why| of_work(&WorkError::Rehearsal(why)));
    #[cfg(not(target_os = "linux"))]
    Err(plain(&format!("{}: tapes are read on Linux", tape.display())))
}

/// Leaves only these schemes of a study, or all if there are none.
///
/// # Errors
/// If there is no such scheme.
pub fn choose(study: &mut Study, schemes: &[String]) -> Result<()> {
    if schemes.is_empty() {
        return Ok(());
    }
    study.keep_schemes(schemes).map_err(|known| {
        let help = format!("schemes: {}", known.join(", "));
        with_help(&format!("there is no scheme among \"{}\"", schemes.join(", ")), &help)
    })
}

/// Makes the process root over network namespaces of its own, if its user is not root and may. It must have one thread.
///
/// # Errors
/// If that fails halfway.
pub fn enter_user_namespace() -> Result<()> {
    #[cfg(target_os = "linux")]
    shallop_linux::user_namespace::enter()
        .map_err(|why| plain(&format!("a user namespace for hosts: {why}")))?;
    Ok(())
}

/// Keeps this thread off the processor of a rehearsal's emulator.
pub fn keep_off() {
    #[cfg(target_os = "linux")]
    shallop_linux::keep_off();
}

/// What this machine can do.
#[must_use]
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
        found: if releases.is_empty() {
            "shallop kernel build makes one".to_owned()
        } else {
            releases.join(", ")
        },
        used_for: "stack = \"kernel\" in run".to_owned(),
    });
    all
}

/// A rehearsal at one rate.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Carried {
    /// Payload and headers of one link, in bits per second.
    pub rate_bps: f64,
    /// How hosts send: "bursts" of segmentation offload, or "packets".
    pub sends: String,
    /// What four CUBIC flows carried.
    pub goodput_bps: f64,
    /// How the rehearsal went.
    pub rehearsal: RehearsalOfRun,
}

/// What the benchmark rehearses.
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

/// The rates of the benchmark in Mb/s.
const RATES: [u32; 7] = [100, 200, 500, 1_000, 1_500, 2_000, 3_000];

/// Rehearses four flows over one link at rising rates, each for a second, until two of them in a row are void. One
/// that is void is tried once more before it counts as void. Stops when `is_over` says so.
///
/// # Errors
/// If this machine cannot rehearse.
pub fn bench(sends: &str, is_over: &dyn Fn() -> bool) -> Result<Vec<Carried>> {
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
        let mut study = study.map_err(|why| of_work(&WorkError::Text(why)))?;
        for point in &mut study.points {
            point.plan.driver = Driver::Rehearsal { tape: None, attached: Vec::new() };
        }
        let plan = &study.points[0].plan;
        let mut run = kernels::once(plan).map_err(|why| of_work(&why))?;
        if run.is_void() && !is_over() {
            // A shared machine stands still now and then, at any rate.
            run = kernels::once(plan).map_err(|why| of_work(&why))?;
        }
        void = if run.is_void() { void + 1 } else { 0 };
        all.push(Carried {
            rate_bps: f64::from(rate) * 1e6,
            sends: sends.to_owned(),
            goodput_bps: run.goodput_bps,
            rehearsal: run.rehearsal.unwrap_or_default(),
        });
    }
    Ok(all)
}
