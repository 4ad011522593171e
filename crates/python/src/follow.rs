//! How far the work has come: written by the threads that simulate, read by the one that Python called from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shallop_lab::Span;
use shallop_lab::host::Progress;
use shallop_lab::study::{Job, Study};

/// How far the work has come.
#[derive(Debug, Default)]
pub struct Follow(Mutex<Far>);

/// So far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Far {
    /// Simulated seconds.
    pub passed_s: f64,
    /// Runs that ended.
    pub ended: usize,
    /// What was started last.
    pub last: String,
    /// What is to be told.
    pub notes: Vec<String>,
}

impl Follow {
    fn far(&self) -> MutexGuard<'_, Far> {
        // Numbers are whole whenever the lock is free.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the work has come; what is to be told is told once.
    pub fn look(&self) -> Far {
        let mut far = self.far();
        let notes = std::mem::take(&mut far.notes);
        Far { notes, ..far.clone() }
    }
}

impl Progress for Follow {
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
