//! All runs of a study, several at a time. The results come in the order of [`Study::jobs`], whatever the number of
//! threads, and each is a function of its job alone. Where there is a folder for it, each run is kept in it the moment
//! it ends, with its rows, which then are no longer in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use shallop_core::{Span, Time};
use shallop_store::StoreError;

use super::identity::Identity;
use super::kept::{FlowPart, Kept};
use crate::journal::FlowRow;
use crate::run::{RunError, Watch, check, watched};
use crate::study::{Job, Shard, Study};
use crate::summary::Run;

/// A run that ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// Which it was.
    pub job: Job,
    /// What it is kept under.
    pub identity: Identity,
    /// What came of it, with the time it took.
    pub run: Run,
}

/// Is told how far the work has come, from several threads.
pub trait Progress: Sync {
    /// A job starts.
    fn start(&self, _study: &Study, _job: Job) {}
    /// Some job simulated this much more.
    fn advance(&self, _by: Span) {}
    /// A job ended, or was found to have been kept.
    fn end(&self) {}
    /// Something is to be told.
    fn note(&self, _text: &str) {}
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
    /// Where finished runs are kept; without it their rows are lost.
    pub kept: Option<&'a Kept>,
    /// Whether runs that are there are taken as they are.
    pub resume: bool,
    /// Which of the runs are made.
    pub shard: Shard,
    /// Ends the work when it becomes true: runs under way are given up.
    pub stop: &'a AtomicBool,
}

/// The simulated time of these runs of a study, at most, and how many they are.
#[must_use]
pub fn work(study: &Study, shard: Shard) -> (Span, usize) {
    let jobs = shard.of(study.jobs());
    (jobs.iter().map(|job| study.points[job.point].plan.duration).sum(), jobs.len())
}

/// Makes all runs, those that come to the same only once. Those that were stopped are missing.
///
/// # Errors
/// If some run cannot be made, and then none is; if one cannot be kept; or if the threads cannot be had.
pub fn run_all(
    study: &Study,
    how: How<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Done>, HostError> {
    let jobs = how.shard.of(study.jobs());
    let mut different: BTreeMap<Identity, Job> = BTreeMap::new();
    let mut identities = Vec::with_capacity(jobs.len());
    let mut wanted = Vec::new();
    for job in &jobs {
        let plan = &study.points[job.point].plan;
        check(plan, job.scheme, job.seed)?;
        let identity = Identity::of(plan, job.scheme, job.seed);
        if different.insert(identity.clone(), *job).is_none() {
            wanted.push((*job, identity.clone()));
        } else {
            progress.advance(plan.duration);
            progress.end();
        }
        identities.push(identity);
    }
    if let Some(kept) = how.kept {
        kept.clear(&identities);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(how.jobs).build();
    let pool = pool.map_err(|why| HostError::Threads { why: why.to_string() })?;
    let work = Work { study, how, progress, failed: AtomicBool::new(false) };
    let results: Vec<Result<(Identity, Run), HostError>> =
        pool.install(|| wanted.into_par_iter().with_max_len(1).map(|one| work.one(one)).collect());
    let mut ended = BTreeMap::new();
    let stopped = |error: &HostError| matches!(error, HostError::Run(RunError::Stopped));
    for result in results {
        match result {
            Ok((identity, run)) => {
                ended.insert(identity, run);
            }
            Err(error) if stopped(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(gather(study, &jobs, identities, &ended))
}

/// The runs in the order of the jobs, each under the names it has in this study.
fn gather(
    study: &Study,
    jobs: &[Job],
    identities: Vec<Identity>,
    ended: &BTreeMap<Identity, Run>,
) -> Vec<Done> {
    let done = jobs.iter().zip(identities).filter_map(|(&job, identity)| {
        let point = &study.points[job.point];
        let scheme = point.plan.schemes[job.scheme].name.clone();
        let mut run = ended.get(&identity)?.clone();
        for (index, group) in run.groups.iter_mut().enumerate() {
            group.transport.clone_from(&point.plan.transport(job.scheme, index).name);
        }
        let run = Run { scheme, seed: job.seed, point: point.set.clone(), ..run };
        Some(Done { job, identity, run })
    });
    done.collect()
}

/// What all threads work on.
struct Work<'a> {
    study: &'a Study,
    how: How<'a>,
    progress: &'a dyn Progress,
    /// A run could not be kept: what the others come to would be lost.
    failed: AtomicBool,
}

impl Work<'_> {
    fn over(&self) -> bool {
        self.how.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    fn one(&self, (job, identity): (Job, Identity)) -> Result<(Identity, Run), HostError> {
        if self.over() {
            return Err(RunError::Stopped.into());
        }
        let run = match self.found(&identity) {
            Some(run) => {
                self.progress.advance(self.study.points[job.point].plan.duration);
                run
            }
            None => self.make(job, &identity)?,
        };
        self.progress.end();
        Ok((identity, run))
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The run, if it was kept and may be used.
    fn found(&self, identity: &Identity) -> Option<Run> {
        let kept = self.how.kept.filter(|_| self.how.resume)?;
        kept.load(identity).unwrap_or_else(|why| {
            self.progress.note(&format!("{why}; the run is made again"));
            None
        })
    }

    fn make(&self, job: Job, identity: &Identity) -> Result<Run, HostError> {
        let Self { study, progress, .. } = *self;
        progress.start(study, job);
        let point = &study.points[job.point];
        let part = self.how.kept.map(|kept| kept.begin(identity)).transpose();
        let part = part.inspect_err(|_| self.fail())?;
        let mut follow = Follow { work: self, last: Span::ZERO, part, failed: None };
        let clock = super::bench::Clock::start();
        let outcome = watched(&point.plan, job.scheme, job.seed, &mut follow);
        let Follow { last, part, failed, .. } = follow;
        if let Some(why) = failed {
            self.fail();
            return Err(why.into());
        }
        let mut outcome = outcome?;
        outcome.run.wall_s = Some(clock.seconds());
        outcome.run.point.clone_from(&point.set);
        let kept = self.how.kept.filter(|_| outcome.capture.is_some());
        outcome.run.capture = kept.map(|_| Kept::capture_name(identity));
        if let Some((kept, part)) = self.how.kept.zip(part) {
            kept.keep(identity, &outcome, part).inspect_err(|_| self.fail())?;
        }
        // All flows may have been complete before the end.
        progress.advance(point.plan.duration.saturating_sub(last));
        Ok(outcome.run)
    }
}

/// Follows a run: tells how far it has come, and writes its rows.
struct Follow<'a, 'b> {
    work: &'a Work<'b>,
    last: Span,
    part: Option<FlowPart>,
    failed: Option<StoreError>,
}

impl Watch for Follow<'_, '_> {
    fn pass(&mut self, now: Time) -> bool {
        self.work.progress.advance(now.since_start() - self.last);
        self.last = now.since_start();
        self.failed.is_none() && !self.work.over()
    }

    fn rows(&mut self, rows: Vec<FlowRow>) {
        if let Some(part) = &mut self.part
            && let Err(why) = part.push(&rows)
        {
            self.failed = Some(why);
        }
    }
}

/// Why runs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The network and a scheme do not fit.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The scenario is none.
    #[error(transparent)]
    Text(#[from] crate::scenario::Problem),
    /// A run could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no threads to give.
    #[error("could not start the threads for the runs: {why}; try fewer with --jobs")]
    Threads {
        /// What the system said.
        why: String,
    },
}
