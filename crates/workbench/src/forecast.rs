//! Forecast of the time that the runs of a study take on this machine, from short runs of the schemes.

use std::time::Duration;

use shallop_core::{Span, Time};
use shallop_measure::flow_log::FlowRow;
use shallop_measure::{Observer, RunError, run_observed};
use shallop_plan::flows::FlowGenerator;
use shallop_plan::plan::{Driver, Plan};
use shallop_plan::{ResolvedRun, Study};
use shallop_results::Job;

use crate::clock::Clock;

/// Seconds for which the first scheme is measured, and each other one if the first shows that the study is long.
const MEASURED: f64 = 0.1;
/// Seconds for which all schemes together are measured, at most.
const MEASURED_IN_ALL: f64 = 1.5;
/// A shorter study is not worth a message, in seconds.
pub const WORTH_A_MESSAGE: f64 = 10.0;
/// Flows whose ends are looked at, to see when a run ends.
const MOST_FLOWS: usize = 20_000;
/// Samples in a run that is measured. The measurement can stop at each.
const SAMPLES: u64 = 4_000;

/// The forecast for jobs of studies on `threads` threads; `None` if it is below [`WORTH_A_MESSAGE`], or if hosts are
/// kernels in virtual time, whose speed a short run does not show. It is an upper estimate where flows end, since a run
/// ends when all are complete.
#[must_use]
pub fn forecast(studies: &[(&Study, Vec<Job>)], threads: usize) -> Option<Duration> {
    let clock = Clock::start();
    let mut seconds = 0.0;
    for (study, jobs) in studies {
        seconds += of_study(study, jobs, threads, &clock)?;
    }
    (seconds >= WORTH_A_MESSAGE).then(|| Duration::from_secs_f64(seconds))
}

/// The forecast as a message: "about 5 minutes".
#[must_use]
pub fn words(forecast: Duration) -> String {
    let seconds = forecast.as_secs_f64();
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
fn of_study(study: &Study, jobs: &[Job], threads: usize, clock: &Clock) -> Option<f64> {
    let plan = |job: &Job| &study.points[job.point].plan;
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
        if plan.has_kernels(job.scheme) {
            return None;
        }
        let known = costs.iter().rev().find(|(other, _)| other.scheme == job.scheme);
        let same_point = known.is_some_and(|(other, _)| other.point == job.point);
        let in_budget = clock.seconds() < MEASURED_IN_ALL;
        let cost = match known {
            Some((_, cost)) if same_point || !in_budget => *cost,
            None if !in_budget => mean(&costs),
            _ => measure(plan, *job)?,
        };
        if costs.is_empty() && cost * simulated * jobs.len() as f64 / (threads as f64) < 1.0 {
            return Some(0.0);
        }
        costs.push((*job, cost));
        sum += cost * simulated;
        longest = longest.max(cost * simulated);
    }
    Some(if in_real_time { sum } else { longest.max(sum / threads as f64) })
}

fn mean(costs: &[(Job, f64)]) -> f64 {
    costs.iter().map(|(_, cost)| cost).sum::<f64>() / costs.len().max(1) as f64
}

/// Seconds of computing for each second of a job's longest duration, from a run that is stopped after [`MEASURED`]
/// seconds. `None` if the job cannot run.
fn measure(plan: &Plan, job: Job) -> Option<f64> {
    let end = likely_end(plan, job)?;
    let sample = Span::from_ps((plan.duration.as_ps() / SAMPLES).max(1)).min(plan.sample);
    let plan = Plan { sample, ..plan.clone() };
    let mut observer = StopAfter { clock: Clock::start(), reached: None };
    match run_observed(&plan, job.scheme, job.seed, &mut observer) {
        Ok(_) | Err(RunError::Stopped) => {}
        Err(_) => return None,
    }
    let (seconds, simulated) = observer.reached.unwrap_or((observer.clock.seconds(), plan.duration));
    Some(seconds / simulated.as_secs_f64().max(1e-12) * end.ratio(plan.duration))
}

/// The time at which a run ends if flows take twice as long as in an empty network: runs end when all counted flows
/// are complete.
fn likely_end(plan: &Plan, job: Job) -> Option<Span> {
    let run = ResolvedRun::new(plan, job.scheme, job.seed).ok()?;
    let (mut end, mut flows) = (Span::ZERO, 0);
    for flow in FlowGenerator::new(&run).take(MOST_FLOWS).filter(|flow| flow.counted) {
        if flow.size.is_none() {
            return Some(plan.duration);
        }
        flows += 1;
        let ideal = flow.ideal(&run);
        end = end.max(flow.start - Time::ZERO + ideal + ideal);
    }
    Some(if (1..MOST_FLOWS).contains(&flows) { end.min(plan.duration) } else { plan.duration })
}

/// Stops a run after [`MEASURED`] seconds of computing.
struct StopAfter {
    clock: Clock,
    /// Seconds of computing so far, and the time simulated in them.
    reached: Option<(f64, Span)>,
}

impl Observer for StopAfter {
    fn on_progress(&mut self, now: Time) -> bool {
        let seconds = self.clock.seconds();
        self.reached = Some((seconds, now - Time::ZERO));
        seconds < MEASURED
    }

    fn on_flows(&mut self, _: Vec<FlowRow>) {}
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
}
