//! Scenarios that were read, and their runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shallop_lab::experiments::Shipped;
use shallop_lab::files::{Files, Memory};
use shallop_lab::host::identity::Identity;
use shallop_lab::host::jobs::{How, work};
use shallop_lab::host::work::{chosen, of_text};
use shallop_lab::host::{Folder, Task};
use shallop_lab::scenario::Options;
use shallop_lab::study::Shard;
use shallop_lab::table;

use crate::errors::{in_run, in_scenario, plain};
use crate::follow::Follow;
use crate::named::Named;

/// How often Python is asked whether it was interrupted, and told how far the work is.
const GLANCE: Duration = Duration::from_millis(100);

/// A scenario that was read and checked, with everything it varies.
#[pyclass(frozen, module = "shallop")]
pub struct Study {
    task: Task,
    /// The files that were asked for while it was read.
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
        seed: Option<u64>,
        set: Vec<(String, String)>,
        vary: Vec<(String, Vec<String>)>,
        seeds: Option<u32>,
    ) -> PyResult<Self> {
        let beside: Arc<dyn Files> = match files {
            Some(files) => Arc::new(Memory(files)),
            None => Arc::new(Folder::new(folder.unwrap_or_default())),
        };
        let named = Arc::new(Named::of(beside));
        let options = Options { set, quick, seed, vary, seeds, files: named.clone() };
        let study = py.detach(|| of_text(name, text, &options)).map_err(in_scenario)?;
        Ok(Self { task: Task { id: None, study, folder: None }, named: named.names() })
    }

    /// Reads an experiment that is built in.
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

    /// For each run to make its point, its scheme and its seed.
    #[getter]
    fn jobs(&self) -> Vec<(&str, &str, u64)> {
        let named = |job: shallop_lab::study::Job| {
            let point = &self.task.study.points[job.point];
            (point.name.as_str(), point.plan.schemes[job.scheme].name.as_str(), job.seed)
        };
        self.task.study.jobs().into_iter().map(named).collect()
    }

    /// For each run the name it is kept under.
    #[getter]
    fn identities(&self) -> Vec<String> {
        let study = &self.task.study;
        let of = |job: shallop_lab::study::Job| {
            Identity::of(&study.points[job.point].plan, job.scheme, job.seed).to_string()
        };
        study.jobs().into_iter().map(of).collect()
    }

    /// The files that the scenario names.
    #[getter]
    fn named_files(&self) -> Vec<String> {
        self.named.clone()
    }

    /// Makes the runs and writes the results: the summary as JSON, and the tables as text, which say where the rest
    /// is unless that goes soon.
    #[pyo3(signature = (
        *, out, jobs=0, resume=false, shard=None, sweep=false, temporary=false, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        jobs: usize,
        resume: bool,
        shard: Option<(usize, usize)>,
        sweep: bool,
        temporary: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, String)> {
        let task = Task { folder: Some(out), ..self.task.clone() };
        py.detach(|| task.check()).map_err(in_run)?;
        let shard = match shard {
            Some((number, of)) => {
                format!("{number}/{of}").parse().map_err(PyValueError::new_err)?
            }
            None => Shard::WHOLE,
        };
        let stop = AtomicBool::new(false);
        let how = How { jobs, kept: None, resume, shard, stop: &stop };
        let summary = watched(py, &task, how, &stop, progress)?;
        let legend = if sweep { table::SWEEP_LEGEND } else { table::LEGEND };
        let told = Task { folder: task.folder.filter(|_| !temporary), ..task };
        let text = format!("{}\n{legend}", told.text(&summary, shard, sweep));
        let json = serde_json::to_string(&summary).map_err(|why| plain(&why))?;
        Ok((json, text))
    }
}

/// Makes the runs in a thread of their own, while this one listens to Python. What Python raises, as on Ctrl-C, ends
/// the runs; what was finished is kept.
fn watched(
    py: Python<'_>,
    task: &Task,
    how: How<'_>,
    stop: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<shallop_lab::Summary> {
    let follow = Follow::default();
    let (over, ended) = (Mutex::new(false), Condvar::new());
    let whole = work(&task.study, how.shard).0.as_secs_f64();
    let tell = || -> PyResult<()> {
        py.check_signals()?;
        let far = follow.look();
        let Some(progress) = progress else { return Ok(()) };
        let part = if whole > 0.0 { (far.passed_s / whole).min(1.0) } else { 1.0 };
        progress.call1((part, far.ended, far.last)).map(drop)
    };
    let mut raised = None;
    let result = thread::scope(|scope| {
        let runs = scope.spawn(|| {
            let result = task.carry_out(how, &follow);
            *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            ended.notify_all();
            result
        });
        loop {
            let is_over = py.detach(|| {
                let guard = over.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ended.wait_timeout_while(guard, GLANCE, |over| !*over);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            });
            if raised.is_none() {
                raised = tell().err();
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
