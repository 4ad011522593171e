//! Forecast of the time that the runs of a study take on this machine, from short runs of the schemes.

use crate::{clock::Clock, kernels};
use shallop_core::{Span, Time};
use shallop_measure::{Observer, flow_log::FlowRow, live_snapshot::LiveSnapshot};
use shallop_plan::flows::FlowGenerator;
use shallop_plan::plan::{Driver, Plan};
use shallop_plan::{ResolvedRun, Study};
use shallop_results::Job;
use std::time::Duration;

/// Seconds of a first measurement of a study of one scheme. It shows that most of these studies are short.
const GLANCE: f64 = 0.01;
/// Seconds for which each scheme is measured if the study may be long.
const MEASURED: f64 = 0.1;
/// The same with kernels, from the end of their start.
const MEASURED_WITH_KERNELS: f64 = 0.5;
/// Seconds after which a measurement does not wait for flows to start any more.
const MOST: f64 = 0.4;
/// Seconds for which all schemes together are measured, at most.
const MEASURED_IN_ALL: f64 = 2.0;
/// A shorter study is not worth a message, in seconds.
const WORTH_A_MESSAGE: f64 = 5.0;
/// No scheme takes this many times longer than the first one.
const SLOWEST: f64 = 10.0;
/// The most flows whose sizes are added up; those of others are like them.
const MOST_FLOWS: usize = 20_000;
/// Seconds for which a run on one core and on several is measured.
const COMPARED: f64 = 0.3;
/// Twice the number of cores is used if it makes a run faster by this factor. Measurements of some tenths of a second
/// vary by a few per cent, and the other cores may have other work later.
const WORTH_CORES: f64 = 1.2;
/// Samples in a run that is measured. The measurement can stop at each.
const SAMPLES: u64 = 4_000;
/// Samples until the last flow starts, in runs whose flows all end: such runs may end long before their duration.
const SAMPLES_OF_STARTS: u64 = 200;

/// How long a study takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    Short,
    Takes(Duration),
    /// Why it cannot be told.
    Unknown(&'static str),
}

/// The forecast for jobs of studies on `threads` threads.
#[must_use]
pub fn forecast(studies: &[(&Study, Vec<Job>)], threads: usize) -> Forecast {
    let clock = Clock::start();
    let each = studies.iter().map(|(study, jobs)| of_study(study, jobs, threads, &clock));
    match each.sum::<Result<f64, &'static str>>() {
        Ok(seconds) if seconds < WORTH_A_MESSAGE => Forecast::Short,
        Ok(seconds) => Forecast::Takes(Duration::from_secs_f64(seconds)),
        Err(why) => Forecast::Unknown(why),
    }
}

impl Forecast {
    /// The forecast for runs that are faster by a factor.
    #[must_use]
    pub fn faster(self, factor: f64) -> Self {
        match self {
            Self::Takes(time) => Self::Takes(time.div_f64(factor)),
            other => other,
        }
    }

    /// The forecast as a message: "about 5 minutes on this machine"; `None` for a short study.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Short => None,
            Self::Takes(time) => Some(format!("{} on this machine", words(*time))),
            Self::Unknown(why) => Some(format!("how long is not known: {why}")),
        }
    }
}

/// A time in words: "about 5 minutes".
fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        _ if seconds < 90.0 => (seconds, "second"),
        _ if seconds < 5_400.0 => (seconds / 60.0, "minute"),
        _ if seconds < 129_600.0 => (seconds / 3_600.0, "hour"),
        _ => (seconds / 86_400.0, "day"),
    };
    // Two digits at most: the forecast is not better than that.
    let scale = if number >= 100.0 { 10.0 } else { 1.0 };
    let number = (number / scale).round() * scale;
    let plural = if number > 1.0 { "s" } else { "" };
    format!("about {number} {unit}{plural}")
}

/// Seconds for the jobs of a study.
fn of_study(study: &Study, jobs: &[Job], threads: usize, clock: &Clock) -> Result<f64, &'static str> {
    let plan = |job: &Job| &study.points[job.point].plan;
    let one_scheme = jobs.iter().all(|job| job.scheme == jobs[0].scheme);
    let mut costs: Vec<(Job, f64)> = Vec::new();
    let (mut sum, mut longest, mut in_real_time) = (0.0, 0.0_f64, false);
    for job in jobs {
        let plan = plan(job);
        let simulated = plan.duration.as_secs_f64();
        if plan.driver != Driver::Simulator {
            in_real_time = true;
            sum += simulated;
            continue;
        }
        let known = costs.iter().rev().find(|(other, _)| other.scheme == job.scheme);
        let same_point = known.is_some_and(|(other, _)| other.point == job.point);
        let in_budget = clock.seconds() < MEASURED_IN_ALL;
        let is_short = |seconds: f64| seconds * jobs.len() as f64 / threads as f64 * SLOWEST < WORTH_A_MESSAGE;
        let has_kernels = plan.has_kernels(job.scheme);
        if costs.is_empty() && !has_kernels && one_scheme && is_short(measure(plan, *job, GLANCE)?) {
            return Ok(0.0);
        }
        let seconds = if has_kernels { MEASURED_WITH_KERNELS } else { MEASURED };
        let cost = match known {
            Some((_, cost)) if same_point || !in_budget => *cost,
            None if !in_budget && !has_kernels => mean(&costs),
            _ => measure(plan, *job, seconds)? / simulated.max(1e-12),
        };
        if costs.is_empty() && !has_kernels && is_short(cost * simulated) {
            return Ok(0.0);
        }
        costs.push((*job, cost));
        sum += cost * simulated;
        longest = longest.max(cost * simulated);
    }
    Ok(if in_real_time { sum } else { longest.max(sum / threads as f64) })
}

fn mean(costs: &[(Job, f64)]) -> f64 {
    costs.iter().map(|(_, cost)| cost).sum::<f64>() / costs.len().max(1) as f64
}

/// Seconds of computing for a job, from the second half of a part of the run that takes `least` seconds. A run whose
/// flows all end takes as long as its bytes need: late flows that wait for timeouts cost simulated time and hardly any
/// computing. With flows without end, the part begins when all have started.
fn measure(plan: &Plan, job: Job, least: f64) -> Result<f64, &'static str> {
    let has_kernels = plan.has_kernels(job.scheme);
    if has_kernels && plan.has_programs() {
        return Err("programs in kernels run for the results alone");
    }
    let (bytes, all_started) = flows(plan, job);
    let (plan, mut part) = Part::of(plan, least, (bytes.is_some(), all_started));
    if kernels::run(&plan, job.scheme, job.seed, &mut part, None).is_ok() {
        return Ok(part.clock.seconds());
    }
    let (Some(half), Some(end)) = (part.half, part.reached) else {
        // The run itself will say why it cannot be.
        return if has_kernels { Err("kernels in virtual time did not start") } else { Ok(part.clock.seconds()) };
    };
    let of_time = (plan.duration - end.time).ratio(end.time - half.time);
    let (arrived, left) = (end.bytes - half.bytes, |all: f64| (all - end.bytes as f64).max(0.0));
    let of_bytes = bytes.filter(|_| arrived > 0).map_or(f64::INFINITY, |all| left(all) / arrived as f64);
    Ok(end.seconds + (end.seconds - half.seconds) * of_time.min(of_bytes))
}

/// The number of cores, up to `most`, on which a run of the simulator ends earliest now, with its speed in units of
/// that on one core. A part of the run is made on one core and on several: cores that other programs use make a divided
/// run slower, which only a measurement shows.
///
/// # Errors
/// Why the run takes one core, as a note; empty if no note is due: there is one core, hosts are real, or the run is too
/// short to be measured.
pub fn cores(plan: &Plan, job: Job, most: usize) -> Result<(usize, f64), String> {
    if most < 2 || plan.driver != Driver::Simulator || plan.has_kernels(job.scheme) {
        return Err(String::new());
    }
    let (bytes, all_started) = flows(plan, job);
    let (plan, mut part) = Part::of(plan, COMPARED, (bytes.is_some(), all_started));
    let run = |cores, part: &mut Part| kernels::run_on(cores, &plan, job.scheme, job.seed, part, None);
    let _ = run(1, &mut part);
    let whole = part.half.zip(part.reached).ok_or_else(String::new)?;
    fastest(whole.1.seconds - whole.0.seconds, most, |cores| {
        let mut same = Part { clock: Clock::start(), half: None, reached: None, note: None, ..part.clone() };
        (same.times, same.most) = (Some([whole.0.time, whole.1.time]), 2.0 * whole.1.seconds);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().map_err(|why| why.to_string())?;
        let _ = pool.install(|| run(cores, &mut same));
        match (same.note, same.half.zip(same.reached)) {
            (Some(why), _) => Err(why),
            (None, times) => Ok(times.map_or(f64::INFINITY, |(half, end)| end.seconds - half.seconds)),
        }
    })
}

/// The number of cores on which a run of `whole` seconds on one core is fastest, and its speed in units of that on one
/// core. `seconds` measures it on several cores.
fn fastest(
    whole: f64, most: usize, mut seconds: impl FnMut(usize) -> Result<f64, String>,
) -> Result<(usize, f64), String> {
    let mut best = (1, whole);
    let counts = std::iter::successors(Some(2), |cores| Some(cores * 2));
    for cores in counts.take_while(|cores| *cores <= most) {
        let measured = seconds(cores)?;
        if measured * WORTH_CORES > best.1 {
            break;
        }
        best = (cores, measured);
    }
    let gain = 100.0 * (1.0 - 1.0 / WORTH_CORES);
    let none = || format!("2 cores: the run uses one, since they save less than {gain:.0} % of its time now");
    if best.0 > 1 { Ok((best.0, whole / best.1)) } else { Err(none()) }
}

/// The bytes of all flows, `None` if one has no end, and when the last one starts.
fn flows(plan: &Plan, job: Job) -> (Option<f64>, Span) {
    let Ok(run) = ResolvedRun::new(plan, job.scheme, job.seed) else { return (None, Span::ZERO) };
    let (mut bytes, mut count, mut last) = (Some(0.0), 0_usize, Span::ZERO);
    for flow in FlowGenerator::new(&run).take(MOST_FLOWS) {
        bytes = bytes.zip(flow.size).map(|(sum, size)| sum + size as f64);
        last = last.max(flow.start - Time::ZERO);
        count += 1;
    }
    let all = if count == MOST_FLOWS { plan.flows() as f64 / count as f64 } else { 1.0 };
    let bytes = bytes.filter(|bytes| *bytes > 0.0).map(|bytes| bytes * all.max(1.0));
    (bytes, last)
}

/// What a run has reached.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// Seconds of computing since the measurement began.
    seconds: f64,
    time: Span,
    bytes: u64,
}

/// Stops a run after some seconds of computing, or at a simulated time.
#[derive(Clone, Debug)]
struct Part {
    clock: Clock,
    least: f64,
    /// Seconds of computing after which the run stops in any case.
    most: f64,
    /// The simulated time from which the run is measured: all flows have started, or a quarter of the run is over.
    started: Span,
    /// The seconds until the run itself began: kernels start first.
    begun: Option<f64>,
    half: Option<Reached>,
    reached: Option<Reached>,
    /// The simulated times of `half` and `reached`, if they do not depend on the seconds of computing.
    times: Option<[Span; 2]>,
    /// What the run noted.
    note: Option<String>,
}

impl Part {
    /// A part of a run that takes `least` seconds, and the plan with samples at which it can stop. `flows` tells
    /// whether all flows end, and when the last one starts.
    fn of(plan: &Plan, least: f64, (all_end, all_started): (bool, Span)) -> (Plan, Self) {
        let all_started = all_started.min(plan.duration);
        let by_starts = all_end && all_started > Span::ZERO;
        let of_starts = if by_starts { all_started / SAMPLES_OF_STARTS } else { plan.duration };
        let sample = (plan.duration / SAMPLES).min(of_starts).min(plan.sample).max(Span::from_ps(1));
        let plan = Plan { sample, ..plan.clone() };
        let started = if all_end { Span::ZERO } else { all_started.min(plan.duration / 4) };
        let clock = Clock::start();
        let most = f64::INFINITY;
        (plan, Self { clock, least, most, started, begun: None, half: None, reached: None, times: None, note: None })
    }
}

impl Observer for Part {
    fn on_progress(&mut self, _: Time) -> bool {
        self.begun.get_or_insert_with(|| self.clock.seconds());
        self.reached.is_none() && self.clock.seconds() < self.most
    }

    fn on_flows(&mut self, _: Vec<FlowRow>) {}

    fn on_note(&mut self, text: &str) {
        self.note = Some(text.to_owned());
    }

    fn wants_snapshot(&self, now: Span) -> bool {
        if let Some([half, end]) = self.times {
            return now >= if self.half.is_none() { half } else { end };
        }
        let begun = self.half.map(|half| half.seconds).or(self.begun).unwrap_or(0.0);
        let seconds = self.clock.seconds() - begun;
        let waits = self.half.is_none() && now < self.started && seconds < MOST;
        now > Span::ZERO && seconds >= self.least / 2.0 && !waits
    }

    fn on_snapshot(&mut self, now: LiveSnapshot) {
        let reached = Reached { seconds: self.clock.seconds(), time: now.at, bytes: now.ip_bytes };
        let next = if self.half.is_none() { &mut self.half } else { &mut self.reached };
        *next = Some(reached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_has_the_largest_unit_that_fits_and_two_digits() {
        let said = |seconds: f64| words(Duration::from_secs_f64(seconds));
        assert_eq!(said(12.3), "about 12 seconds");
        assert_eq!(said(301.0), "about 5 minutes");
        assert_eq!(said(5_399.0), "about 90 minutes");
        assert_eq!(said(7_000.0), "about 2 hours");
        assert_eq!(said(1_296_000.0), "about 15 days");
    }

    #[test]
    fn a_run_uses_twice_the_cores_while_that_pays() {
        let fastest = |times: &[f64], most| fastest(times[0], most, |cores| Ok(times[cores.ilog2() as usize]));
        assert_eq!(fastest(&[0.8, 0.5, 0.25, 0.24], 16), Ok((4, 3.2)));
        assert_eq!(fastest(&[0.8, 0.5, 0.25], 7), Ok((4, 3.2)));
        assert_eq!(fastest(&[0.8, 0.5], 3), Ok((2, 1.6)));
        assert!(fastest(&[0.8, 0.75], 2).is_err_and(|why| why.contains("less than 17 %")));
        assert!(super::fastest(1.0, 2, |_| Err("no links".to_owned())).is_err_and(|why| why == "no links"));
    }
}
