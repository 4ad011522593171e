//! Finds records of full runs that are out of date. A record has a digest of the results of its experiment's quick
//! form; a full run is due when the quick form gives another digest.

use crate::tree::root;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{fs, path::Path};

/// The folder of the records.
pub const RECORDS: &str = "docs/reproduction/recorded";

const KEY: &str = "quick_digest";

/// Records that were made before records kept digests: nobody knows whether they are of today's code. Most of their
/// full runs take hours. This number may only become smaller.
#[cfg(test)]
const WITHOUT_DIGEST: usize = 30;

/// What is known of the record of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Missing,
    /// Its quick form has other results today.
    Stale,
    /// The record has no digest.
    Unknown,
}

impl State {
    pub fn words(self) -> &'static str {
        match self {
            Self::Missing => "there is no record (make records)",
            Self::Stale => "STALE: the quick form has other results than when this was recorded (make records)",
            Self::Unknown => "not known: the record was made before records kept digests",
        }
    }
}

/// The experiments whose record is not known to be of today's results. `quick` is the folder of `reproduce all --quick
/// --out`.
pub fn stale(quick: &Path) -> Result<Vec<(String, State)>, String> {
    stale_in(&root().join(RECORDS), quick)
}

fn stale_in(records: &Path, quick: &Path) -> Result<Vec<(String, State)>, String> {
    let entries = fs::read_dir(quick).map_err(|why| format!("{}: {why}", quick.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|why| format!("{}: {why}", quick.display()))?.path();
        if !path.join("summary.json").exists() {
            continue;
        }
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = records.join(format!("{id}.json"));
        let state = match record.exists().then(|| read(&record)).transpose()? {
            None => State::Missing,
            Some(record) if record[KEY].is_null() => State::Unknown,
            Some(record) if record[KEY] != digest(&path)? => State::Stale,
            Some(_) => continue,
        };
        found.push((id, state));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// The digest of the figures of all runs in a results folder, in order, without the computing time and without the name
/// of the build of a kernel, whose results may be equal.
pub fn digest(folder: &Path) -> Result<String, String> {
    let path = folder.join("summary.json");
    let Value::Array(mut runs) = read(&path)?["runs"].take() else {
        return Err(format!("{}: has no runs", path.display()));
    };
    for run in &mut runs {
        if let Value::Object(fields) = run {
            fields.retain(|name, _| name != "wall_s");
            if let Some(Value::Object(kernel)) = fields.get_mut("kernel") {
                kernel.retain(|name, _| name != "digest");
            }
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
    use serde_json::json;

    fn digest_of(summary: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("summary.json"), summary).unwrap();
        digest(folder.path())
    }

    #[test]
    fn a_digest_covers_every_figure_but_the_computing_time() {
        let of = |loss: f64, wall_s: f64, kernel: &str| {
            let run = json!({ "loss": loss, "wall_s": wall_s, "kernel": { "release": "6.12", "digest": kernel } });
            digest_of(&json!({ "version": kernel, "runs": [run] }).to_string()).unwrap()
        };
        let (one, same, moved) = (of(0.5, 1.5, "0a"), of(0.5, 9.0, "1b"), of(0.6, 1.5, "0a"));
        assert_eq!(one, same);
        assert_ne!(one, moved);
        assert!(digest_of("{}").unwrap_err().contains("no runs"));
    }

    #[test]
    fn a_record_is_missing_stale_of_today_or_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let (records, quick) = (folder.path().join("records"), folder.path().join("quick"));
        fs::create_dir_all(&records).unwrap();
        for id in ["missing", "stale", "today", "unknown"] {
            fs::create_dir_all(quick.join(id)).unwrap();
            fs::write(quick.join(id).join("summary.json"), r#"{"runs": []}"#).unwrap();
        }
        let today = digest(&quick.join("today")).unwrap();
        for (id, text) in [
            ("stale", r#"{"quick_digest": "0a1b"}"#.to_owned()),
            ("today", format!(r#"{{"quick_digest": "{today}"}}"#)),
            ("unknown", "{}".to_owned()),
        ] {
            fs::write(records.join(format!("{id}.json")), text).unwrap();
        }
        let found = stale_in(&records, &quick).unwrap();
        let expected = [("missing", State::Missing), ("stale", State::Stale), ("unknown", State::Unknown)];
        assert_eq!(found, expected.map(|(id, state)| (id.to_owned(), state)));
    }

    #[test]
    fn records_without_a_digest_become_fewer() {
        let records = fs::read_dir(root().join(RECORDS)).unwrap().map(|entry| entry.unwrap().path());
        let without = records.filter(|path| path.extension().is_some_and(|it| it == "json"));
        let without = without.filter(|path| read(path).unwrap()[KEY].is_null()).count();
        assert_eq!(without, WITHOUT_DIGEST, "if it is less, write the new number there");
    }
}
