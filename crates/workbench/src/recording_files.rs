//! A source of files that records which files were opened: the files that a scenario needs on another machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallop_plan::files::Files;

/// A source of files that records the names of opened files.
#[derive(Debug)]
pub struct RecordingFiles {
    files: Arc<dyn Files>,
    names: Mutex<BTreeSet<String>>,
}

impl RecordingFiles {
    /// A recording source over `files`, with no file opened yet.
    #[must_use]
    pub fn of(files: Arc<dyn Files>) -> Self {
        Self { files, names: Mutex::default() }
    }

    /// The names of the opened files, as scenarios write them.
    #[must_use]
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
