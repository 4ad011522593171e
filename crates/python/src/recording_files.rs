//! A source of files that records the names of opened files, so that a scenario can be sent to another machine with all
//! its files.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallop_plan::files::Files;

/// A source of files, with the names of those that were opened.
#[derive(Debug)]
pub struct RecordingFiles {
    files: Arc<dyn Files>,
    names: Mutex<BTreeSet<String>>,
}

impl RecordingFiles {
    /// These files, none opened yet.
    pub fn of(files: Arc<dyn Files>) -> Self {
        Self { files, names: Mutex::default() }
    }

    /// The names of the opened files.
    pub fn names(&self) -> Vec<String> {
        self.known().iter().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for RecordingFiles {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String> {
        self.known().insert(name.to_owned());
        self.files.open(name)
    }
}
