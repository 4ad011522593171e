//! All runs of a study, several at a time. The results come in the order of [`Study::jobs`], whatever the number of
//! threads, and each is a function of its job alone.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use shallop_core::Span;

use crate::outcome::Outcome;
use crate::run::{RunError, check, run};
use crate::series::Rows;
use crate::study::{Job, Study};

/// A run that ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// Which it was.
    pub job: Job,
    /// What came of it, with the time it took.
    pub outcome: Outcome,
}

/// Is told how far the work has come, from several threads.
pub trait Progress: Sync {
    /// A job starts.
    fn start(&self, _study: &Study, _job: Job) {}
    /// Some job simulated this much more.
    fn advance(&self, _by: Span) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {}

/// How the runs are made.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Threads; none means one for each core.
    pub jobs: usize,
    /// Whether the rows of flows and series are kept: they can be many.
    pub rows: bool,
    /// Ends the work when it becomes true: runs under way are given up.
    pub stop: &'a AtomicBool,
}

/// The simulated time of all runs of a study, at most.
#[must_use]
pub fn work(study: &Study) -> Span {
    study.jobs().iter().map(|job| study.points[job.point].plan.duration).sum()
}

/// Makes all runs. Those that were stopped are missing.
///
/// # Errors
/// If some run cannot be made, and then none is; or if the threads cannot be had.
pub fn run_all(
    study: &Study,
    how: How<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Done>, HostError> {
    let jobs = study.jobs();
    for job in &jobs {
        check(&study.points[job.point].plan, job.scheme, job.seed)?;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(how.jobs).build();
    let pool = pool.map_err(|why| HostError::Threads { why: why.to_string() })?;
    let results: Vec<Result<Done, RunError>> = pool.install(|| {
        jobs.into_par_iter().with_max_len(1).map(|job| one(study, job, how, progress)).collect()
    });
    let mut done = Vec::new();
    for result in results {
        match result {
            Ok(run) => done.push(run),
            Err(RunError::Stopped) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

fn one(study: &Study, job: Job, how: How<'_>, progress: &dyn Progress) -> Result<Done, RunError> {
    if how.stop.load(Ordering::Relaxed) {
        return Err(RunError::Stopped);
    }
    progress.start(study, job);
    let point = &study.points[job.point];
    let mut last = Span::ZERO;
    let mut watch = |now: shallop_core::Time| {
        progress.advance(now.since_start() - last);
        last = now.since_start();
        !how.stop.load(Ordering::Relaxed)
    };
    let clock = super::bench::Clock::start();
    let mut outcome = run(&point.plan, job.scheme, job.seed, &mut watch)?;
    outcome.run.wall_s = Some(clock.seconds());
    outcome.run.point.clone_from(&point.set);
    if !how.rows {
        outcome.flows = Vec::new();
        outcome.series = Rows::default();
    }
    // All flows may have been complete before the end.
    progress.advance(point.plan.duration.saturating_sub(last));
    Ok(Done { job, outcome })
}

/// Why runs could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HostError {
    /// The network and a scheme do not fit.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The scenario is none.
    #[error(transparent)]
    Text(#[from] crate::scenario::Problem),
    /// The system has no threads to give.
    #[error("could not start the threads for the runs: {why}; try fewer with --jobs")]
    Threads {
        /// What the system said.
        why: String,
    },
}
