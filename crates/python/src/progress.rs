//! Progress of the jobs: written by the threads that simulate, read by the thread of Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shallop_core::Span;
use shallop_plan::Study;
use shallop_results::Job;
use shallop_workbench::Progress;

/// The progress of the jobs.
#[derive(Debug, Default)]
pub struct SharedProgress(Mutex<Far>);

/// A snapshot of the progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Far {
    /// Simulated seconds.
    pub passed_s: f64,
    /// Runs that ended.
    pub ended: usize,
    /// The run that started last.
    pub last: String,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl SharedProgress {
    fn far(&self) -> MutexGuard<'_, Far> {
        // The numbers are consistent whenever the lock is free.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A snapshot; its messages are removed.
    pub fn snapshot(&self) -> Far {
        let mut far = self.far();
        let notes = std::mem::take(&mut far.notes);
        Far { notes, ..far.clone() }
    }
}

impl Progress for SharedProgress {
    fn start(&self, study: &Study, job: Job) {
        let point = &study.points[job.point];
        let scheme = &point.plan.schemes[job.scheme].name;
        let words = [point.name.as_str(), scheme.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        self.far().last = words.join(" ");
    }

    fn advance(&self, by: Span) {
        self.far().passed_s += by.as_secs_f64();
    }

    fn end(&self) {
        self.far().ended += 1;
    }

    fn note(&self, text: &str) {
        self.far().notes.push(text.to_owned());
    }
}
