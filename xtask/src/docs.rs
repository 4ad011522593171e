//! Writes the pages of docs that are made of the program and of its recorded runs.

use std::fs;

use shallop_workbench::pages;

use crate::{gate::say, tree::root};

/// Writes every generated page that is not up to date.
///
/// # Errors
/// If a page cannot be made or written.
pub fn write() -> Result<(), String> {
    for (path, text) in pages::all(&root())? {
        let file = root().join(path);
        if fs::read_to_string(&file).is_ok_and(|found| found == text) {
            continue;
        }
        fs::write(&file, text).map_err(|why| format!("{path}: {why}"))?;
        say(&format!("wrote {path}"));
    }
    crate::figures::write()
}
