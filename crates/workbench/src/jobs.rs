//! Runs all jobs of a study on several threads. Results are in the order of [`Study::jobs`] whatever the number of
//! threads, and each depends on its job alone. A run archive stores each run with its rows when it ends, which frees
//! their memory.

use super::run_archive::{FlowWriter, RunArchive};
use super::{error::StudyError, identity::Identity, kernels};
use rayon::prelude::*;
use shallop_core::{Span, Time};
use shallop_measure::{Observer, RunError};
use shallop_measure::{flow_log::FlowRow, live_snapshot::LiveSnapshot};
use shallop_plan::{Study, wait::check_all};
use shallop_results::summary::Run;
use shallop_results::{Job, Shard};
use shallop_store::StoreError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Debug)]
pub struct FinishedRun {
    pub job: Job,
    /// The name of the run in the archive.
    pub identity: Identity,
    /// The results, with the computing time.
    pub run: Run,
}

/// Receives the progress of jobs, from several threads.
pub trait Progress: Sync {
    fn start(&self, _study: &Study, _job: Job) {}
    /// A job has simulated this much more time.
    fn advance(&self, _by: Span) {}
    /// A job ended, or its run was found in the archive.
    fn end(&self) {}
    /// Whether [`Progress::snapshot`] is to be called for this simulated time.
    fn wants_snapshot(&self, _at: Span) -> bool {
        false
    }
    /// Receives the state of a run at a time for which [`Progress::wants_snapshot`] returned true.
    fn snapshot(&self, _snapshot: LiveSnapshot) {}
    /// Receives a message for the user.
    fn note(&self, _text: &str) {}
    /// All jobs have ended.
    fn close(&self) {}
}

#[derive(Clone, Copy, Debug)]
pub struct NoProgress;

impl Progress for NoProgress {}

#[derive(Clone, Copy, Debug)]
pub struct JobOptions<'a> {
    /// The number of threads; 0 for one per core.
    pub jobs: usize,
    /// The number of cores of each run; they are fewer where a run cannot be divided.
    pub cores: usize,
    /// The archive of finished runs. Without it, the rows of runs are lost.
    pub archive: Option<&'a RunArchive>,
    /// Whether archived runs are used instead of running them again.
    pub resume: bool,
    /// The part of the jobs to run.
    pub shard: Shard,
    /// Stops all jobs once it is true. Runs in progress are discarded.
    pub stop: &'a AtomicBool,
}

/// The sum of the simulated durations of this shard's jobs, and the number of jobs.
pub fn total_work(study: &Study, shard: Shard) -> (Span, usize) {
    let jobs = shard.select(study.jobs());
    (jobs.iter().map(|job| study.points[job.point].plan.duration).sum(), jobs.len())
}

/// Runs all jobs, those with equal identities once. Jobs that were stopped have no result.
///
/// # Errors
/// If a run cannot be set up (then none is made) or stored, or threads cannot be started.
pub fn run_all(
    study: &Study, options: JobOptions<'_>, progress: &dyn Progress,
) -> Result<Vec<FinishedRun>, StudyError> {
    let jobs = options.shard.select(study.jobs());
    check_all(study, jobs.clone()).map_err(RunError::from)?;
    for job in &jobs {
        let plan = &study.points[job.point].plan;
        kernels::check(plan, job.scheme)?;
    }
    let mut unique: BTreeMap<Identity, Job> = BTreeMap::new();
    let mut identities = Vec::with_capacity(jobs.len());
    let mut to_run = Vec::new();
    for job in &jobs {
        let plan = &study.points[job.point].plan;
        let identity = Identity::for_run(plan, job.scheme, job.seed);
        if unique.insert(identity.clone(), *job).is_none() {
            to_run.push((*job, identity.clone()));
        } else {
            progress.advance(plan.duration);
            progress.end();
        }
        identities.push(identity);
    }
    if let Some(archive) = options.archive {
        archive.remove_drafts(&identities);
    }
    let threads = if options.cores > 1 { options.cores } else { options.jobs };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|why| StudyError::Threads { why: why.to_string() })?;
    let worker = Worker { study, options, progress, failed: AtomicBool::new(false) };
    let run = |(job, identity)| worker.run(job, identity);
    let results: Vec<Result<(Identity, Run), StudyError>> = pool.install(|| {
        // Runs on several cores have all threads, one after the other.
        if options.cores > 1 {
            return to_run.into_iter().map(run).collect();
        }
        to_run.into_par_iter().with_max_len(1).map(run).collect()
    });
    let mut ended = BTreeMap::new();
    let stopped = |error: &StudyError| matches!(error, StudyError::Run(RunError::Stopped));
    for result in results {
        match result {
            Ok((identity, run)) => {
                ended.insert(identity, run);
            }
            Err(error) if stopped(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(in_order(study, &jobs, identities, &ended))
}

/// The runs in the order of the jobs, each with the labels that it has in this study.
fn in_order(
    study: &Study, jobs: &[Job], identities: Vec<Identity>, ended: &BTreeMap<Identity, Run>,
) -> Vec<FinishedRun> {
    let finished = jobs.iter().zip(identities).filter_map(|(&job, identity)| {
        let point = &study.points[job.point];
        let scheme = point.plan.schemes[job.scheme].name.clone();
        let mut run = ended.get(&identity)?.clone();
        for (index, group) in run.groups.iter_mut().enumerate() {
            group.transport.clone_from(&point.plan.transport(job.scheme, index).name);
        }
        let run = Run { scheme, seed: job.seed, point: point.set.clone(), ..run };
        Some(FinishedRun { job, identity, run })
    });
    finished.collect()
}

/// The state that all threads of [`run_all`] share.
struct Worker<'a> {
    study: &'a Study,
    options: JobOptions<'a>,
    progress: &'a dyn Progress,
    /// Set when a run could not be stored; the other jobs then stop.
    failed: AtomicBool,
}

impl Worker<'_> {
    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    fn run(&self, job: Job, identity: Identity) -> Result<(Identity, Run), StudyError> {
        if self.is_stopped() {
            return Err(RunError::Stopped.into());
        }
        // Programs read files of this machine, which the identity does not cover.
        let has_programs = self.study.points[job.point].plan.has_programs();
        let run = match self.archived(&identity).filter(|_| !has_programs) {
            Some(run) => {
                self.progress.advance(self.study.points[job.point].plan.duration);
                run
            }
            None => self.simulate(job, &identity)?,
        };
        self.progress.end();
        Ok((identity, run))
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    fn archived(&self, identity: &Identity) -> Option<Run> {
        let archive = self.options.archive.filter(|_| self.options.resume)?;
        archive.load(identity).unwrap_or_else(|why| {
            self.progress.note(&format!("{why}; the run is made again"));
            None
        })
    }

    fn simulate(&self, job: Job, identity: &Identity) -> Result<Run, StudyError> {
        let Self { study, progress, .. } = *self;
        progress.start(study, job);
        let point = &study.points[job.point];
        let flows = self.options.archive.map(|archive| archive.begin(identity)).transpose();
        let flows = flows.inspect_err(|_| self.fail())?;
        let mut follower = RunFollower { worker: self, last: Span::ZERO, flows, failed: None };
        let clock = super::clock::Clock::start();
        let files = self.options.archive.map(|archive| archive.files(identity));
        let files = files.as_deref();
        let outcome = kernels::run_on(self.options.cores, &point.plan, job.scheme, job.seed, &mut follower, files);
        let RunFollower { last, flows, failed, .. } = follower;
        if let Some(why) = failed {
            self.fail();
            return Err(why.into());
        }
        let mut outcome = outcome?;
        outcome.run.wall_s = Some(clock.seconds());
        outcome.run.point.clone_from(&point.set);
        let archive = self.options.archive.filter(|_| outcome.capture.is_some());
        outcome.run.capture = archive.map(|_| RunArchive::capture_name(identity));
        for program in &mut outcome.run.programs {
            let folder = self.options.archive.map(|_| RunArchive::files_name(identity));
            program.files = folder.map_or_else(String::new, |of| format!("{of}/{}", program.files));
        }
        if let Some((archive, flows)) = self.options.archive.zip(flows) {
            archive.store(identity, &outcome, flows).inspect_err(|_| self.fail())?;
        }
        // A run ends early when all flows are complete.
        progress.advance(point.plan.duration.saturating_sub(last));
        Ok(outcome.run)
    }
}

/// The observer of a run: reports progress and writes the rows of flows.
struct RunFollower<'a, 'b> {
    worker: &'a Worker<'b>,
    last: Span,
    flows: Option<FlowWriter>,
    failed: Option<StoreError>,
}

impl Observer for RunFollower<'_, '_> {
    fn on_progress(&mut self, now: Time) -> bool {
        self.worker.progress.advance(now.since_start() - self.last);
        self.last = now.since_start();
        self.failed.is_none() && !self.worker.is_stopped()
    }

    fn on_note(&mut self, text: &str) {
        self.worker.progress.note(text);
    }

    fn on_flows(&mut self, rows: Vec<FlowRow>) {
        if let Some(flows) = &mut self.flows
            && let Err(why) = flows.push(&rows)
        {
            self.failed = Some(why);
        }
    }

    fn wants_snapshot(&self, at: Span) -> bool {
        self.worker.progress.wants_snapshot(at)
    }

    fn on_snapshot(&mut self, snapshot: LiveSnapshot) {
        self.worker.progress.snapshot(snapshot);
    }
}
