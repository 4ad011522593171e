//! Files that remember which of them were asked for, so that a scenario can be sent elsewhere with all it needs.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallop_lab::files::Files;

/// Files, and the names of those that were opened.
#[derive(Debug)]
pub struct Named {
    files: Arc<dyn Files>,
    names: Mutex<BTreeSet<String>>,
}

impl Named {
    /// These files; none was asked for yet.
    pub fn of(files: Arc<dyn Files>) -> Self {
        Self { files, names: Mutex::default() }
    }

    /// Those that were asked for, by name.
    pub fn names(&self) -> Vec<String> {
        self.known().iter().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for Named {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String> {
        self.known().insert(name.to_owned());
        self.files.open(name)
    }
}
