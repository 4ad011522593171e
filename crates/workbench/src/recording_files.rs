//! Records which files a scenario opens: the files that it needs on another machine.

use shallop_plan::files::Files;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{collections::BTreeSet, ffi::OsString, io::BufRead};

/// Access to files that also records the names of the files that were opened.
#[derive(Debug)]
pub struct RecordingFiles {
    files: Arc<dyn Files>,
    names: Mutex<BTreeSet<String>>,
}

impl RecordingFiles {
    #[must_use]
    pub fn new(files: Arc<dyn Files>) -> Self {
        Self { files, names: Mutex::default() }
    }

    /// The names of the opened files, as the scenario writes them.
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

    fn folder(&self) -> Option<OsString> {
        self.files.folder()
    }
}
