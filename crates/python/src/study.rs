//! Studies: checked scenarios, and their runs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shallop_plan::files::{Files, FilesInMemory};
use shallop_results::Shard;
use shallop_scenario::Options;
use shallop_scenario::experiments::Shipped;
use shallop_workbench::identity::Identity;
use shallop_workbench::jobs::{JobOptions, total_work};
use shallop_workbench::work::{chosen, of_text};
use shallop_workbench::{Folder, TableForm, Task, arguments, task_text};

use crate::errors::{checked, in_run, in_scenario, plain};
use crate::progress::SharedProgress;
use crate::recording_files::RecordingFiles;

/// The interval at which signals are checked and progress is reported.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A checked scenario with its points and seeds.
#[pyclass(frozen, module = "shallop")]
pub struct Study {
    task: Task,
    /// The files that the scenario names.
    named: Vec<String>,
}

#[pymethods]
impl Study {
    /// Reads a scenario.
    #[staticmethod]
    #[pyo3(signature = (
        text, *, name, folder=None, files=None, quick=false, seed=None, set=vec![], vary=vec![], seeds=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn read(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: Option<PathBuf>,
        files: Option<BTreeMap<String, String>>,
        quick: bool,
        seed: Option<&Bound<'_, PyAny>>,
        set: Vec<(String, String)>,
        vary: Vec<(String, Vec<String>)>,
        seeds: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let seed = seed.map(|seed| checked("seed", seed, arguments::seed)).transpose()?;
        let seeds = seeds.map(|seeds| checked("seeds", seeds, arguments::seeds)).transpose()?;
        let beside: Arc<dyn Files> = match files {
            Some(files) => Arc::new(FilesInMemory(files)),
            None => Arc::new(Folder::new(folder.unwrap_or_default())),
        };
        let named = Arc::new(RecordingFiles::of(beside));
        let files = named.clone();
        let in_real_time = false;
        let options = Options { set, quick, seed, vary, seeds, files, in_real_time };
        let study = py.detach(|| of_text(name, text, &options)).map_err(in_scenario)?;
        Ok(Self { task: Task { id: None, study, folder: None }, named: named.names() })
    }

    /// Reads a shipped experiment.
    #[staticmethod]
    #[pyo3(signature = (id, *, quick=false))]
    fn experiment(id: &str, quick: bool) -> PyResult<Self> {
        let options = Options { quick, ..Options::default() };
        match chosen(&[id]).map_err(in_scenario)?[..] {
            [one @ Shipped { .. }] => {
                let task = Task::shipped(one, &options, None).map_err(in_scenario)?;
                Ok(Self { task, named: Vec::new() })
            }
            _ => Err(PyValueError::new_err("name one experiment: see experiments()")),
        }
    }

    #[getter]
    fn title(&self) -> &str {
        &self.task.study.title
    }

    /// The point, the scheme and the seed of each job.
    #[getter]
    fn jobs(&self) -> Vec<(&str, &str, u64)> {
        let named = |job: shallop_results::Job| {
            let point = &self.task.study.points[job.point];
            (point.name.as_str(), point.plan.schemes[job.scheme].name.as_str(), job.seed)
        };
        self.task.study.jobs().into_iter().map(named).collect()
    }

    /// The identity of each job, which is its name in the archive.
    #[getter]
    fn identities(&self) -> Vec<String> {
        let study = &self.task.study;
        let of = |job: shallop_results::Job| {
            Identity::of(&study.points[job.point].plan, job.scheme, job.seed).to_string()
        };
        study.jobs().into_iter().map(of).collect()
    }

    /// The files that the scenario names.
    #[getter]
    fn named_files(&self) -> Vec<String> {
        self.named.clone()
    }

    /// Makes the runs and writes the results. Returns the summary as JSON and the tables as text, with the folder of
    /// the results unless that is temporary.
    #[pyo3(signature = (
        *, out, jobs=None, resume=false, shard=None, sweep=false, temporary=false, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        jobs: Option<&Bound<'_, PyAny>>,
        resume: bool,
        shard: Option<(usize, usize)>,
        sweep: bool,
        temporary: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, String)> {
        let jobs = jobs.map(|jobs| checked("jobs", jobs, arguments::jobs)).transpose()?;
        let task = Task { folder: Some(out), ..self.task.clone() };
        let shard = match shard {
            Some((number, of)) => {
                format!("{number}/{of}").parse().map_err(PyValueError::new_err)?
            }
            None => Shard::WHOLE,
        };
        let _lock = py.detach(|| task.prepare(shard)).map_err(in_run)?;
        let stop = AtomicBool::new(false);
        let jobs = jobs.map_or(0, NonZeroUsize::get);
        let options = JobOptions { jobs, archive: None, resume, shard, stop: &stop };
        let summary = run_in_thread(py, &task, options, &stop, progress)?;
        let legend = task_text::legend([&summary], sweep);
        let printed = Task { folder: task.folder.filter(|_| !temporary), ..task };
        let text =
            format!("{}\n{legend}", printed.text(&summary, shard, sweep, TableForm::Text(None)));
        let json = serde_json::to_string(&summary).map_err(|why| plain(&why))?;
        Ok((json, text))
    }
}

/// Makes the runs in a separate thread, while this one checks signals of Python. An exception of Python, such as
/// Ctrl-C, stops the runs; finished runs are stored.
fn run_in_thread(
    py: Python<'_>,
    task: &Task,
    options: JobOptions<'_>,
    stop: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<shallop_results::Summary> {
    let shared = SharedProgress::default();
    let (over, ended) = (Mutex::new(false), Condvar::new());
    let whole = total_work(&task.study, options.shard).0.as_secs_f64();
    let report_progress = || -> PyResult<()> {
        py.check_signals()?;
        let snapshot = shared.snapshot();
        let Some(progress) = progress else { return Ok(()) };
        let part = if whole > 0.0 { (snapshot.passed_s / whole).min(1.0) } else { 1.0 };
        progress.call1((part, snapshot.ended, snapshot.last)).map(drop)
    };
    let mut raised = None;
    let result = thread::scope(|scope| {
        let runs = scope.spawn(|| {
            let result = task.carry_out(options, &shared);
            *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            ended.notify_all();
            result
        });
        loop {
            let is_over = py.detach(|| {
                let guard = over.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ended.wait_timeout_while(guard, POLL_INTERVAL, |over| !*over);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            });
            if raised.is_none() {
                raised = report_progress().err();
                stop.fetch_or(raised.is_some(), Ordering::Relaxed);
            }
            if is_over || runs.is_finished() {
                return py.detach(|| runs.join());
            }
        }
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => result.map(|(summary, _)| summary).map_err(in_run),
        (None, Err(_)) => Err(plain(&"a run panicked: please report it with its scenario")),
    }
}
