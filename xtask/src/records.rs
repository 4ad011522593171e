//! Finds records of full runs that are out of date. A record has a digest of the results of its experiment's quick
//! form; a full run is due when the quick form gives another digest.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::tree::root;

/// The folder of the records.
pub const RECORDS: &str = "docs/reproduction/recorded";

const KEY: &str = "quick_digest";

/// The experiments whose record is missing or has another digest. `quick` is the folder of `reproduce all --quick
/// --out`.
pub fn stale(quick: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(quick).map_err(|why| format!("{}: {why}", quick.display()))?;
    let mut stale = Vec::new();
    for entry in entries {
        let path = entry.map_err(|why| format!("{}: {why}", quick.display()))?.path();
        if !path.join("summary.json").exists() {
            continue;
        }
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = root().join(RECORDS).join(format!("{id}.json"));
        let kept = if record.exists() { read(&record)?[KEY].take() } else { Value::Null };
        if kept.as_str() != Some(&digest(&path)?) {
            stale.push(id);
        }
    }
    stale.sort();
    Ok(stale)
}

/// The digest of the figures of all runs in a results folder, in order and without the computing time.
pub fn digest(folder: &Path) -> Result<String, String> {
    let path = folder.join("summary.json");
    let Value::Array(mut runs) = read(&path)?["runs"].take() else {
        return Err(format!("{}: has no runs", path.display()));
    };
    for run in &mut runs {
        if let Value::Object(fields) = run {
            fields.retain(|name, _| name != "wall_s");
        }
    }
    let text = serde_json::to_vec(&runs).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(format!("{:x}", Sha256::digest(&text)))
}

pub fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(summary: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("summary.json"), summary).unwrap();
        digest(folder.path())
    }

    #[test]
    fn a_digest_covers_every_figure_but_the_computing_time() {
        let one = digest_of(r#"{"version": "1", "runs": [{"loss": 0.5, "wall_s": 1.5}]}"#).unwrap();
        let same = digest_of(r#"{"version": "2", "runs": [{"loss": 0.5, "wall_s": 9.0}]}"#).unwrap();
        let moved = digest_of(r#"{"version": "1", "runs": [{"loss": 0.6, "wall_s": 1.5}]}"#).unwrap();
        assert_eq!(one, same);
        assert_ne!(one, moved);
        assert!(digest_of("{}").unwrap_err().contains("no runs"));
    }

    #[test]
    fn an_experiment_without_a_record_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("no-such-experiment");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("summary.json"), r#"{"runs": []}"#).unwrap();
        assert_eq!(stale(folder.path()).unwrap(), ["no-such-experiment"]);
    }
}
