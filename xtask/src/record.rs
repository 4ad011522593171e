//! Records of full runs: the measured figures of each claim, without verdicts. The status page judges the recorded
//! figures by the current ranges of the experiments.

use crate::gate::{say, without_cargos_variables};
use crate::records::{RECORDS, digest, stale};
use crate::runs::{self, FOLDER};
use crate::tree::{root, target};
use shallop_results::{RecordedClaim, RecordedRun, Summary, Verdict};
use std::{fs, path::Path, process::Command};

/// Runs all experiments in quick form, or the `chosen` ones, and in full those whose record has another digest of the
/// quick form, or none. Records each when it ends. An interrupted command resumes from the folder of its revision.
pub fn records(chosen: &[&str]) -> Result<(), String> {
    let revision = revision()?;
    let folder = target().join("records").join(&revision);
    run("cargo", &["build", "--release", "--locked", "--package", "shallop"])?;
    let shallop = target().join("release/shallop").to_string_lossy().into_owned();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (quick, full) = (path("quick"), path("full"));
    let chosen = if chosen.is_empty() { &["all"] } else { chosen };
    run_claims(&shallop, &[&["reproduce"], chosen, &["--quick", "--resume", "--out", &quick]].concat())?;
    let due = stale(Path::new(&quick))?.into_iter().map(|(id, _)| id);
    let due: Vec<String> = due.filter(|id| chosen == ["all"] || chosen.contains(&id.as_str())).collect();
    say(&format!("{} full experiments are due: {}", due.len(), due.join(", ")));
    for id in due {
        run_claims(&shallop, &["reproduce", &id, "--resume", "--out", &full])?;
        let digest = digest(&Path::new(&quick).join(&id))?;
        record_one(&revision, &Path::new(&full).join(&id), Some(digest))?;
        say(&format!("recorded {id}"));
    }
    runs::record_stale(Path::new(&shallop), &revision, &folder)
}

/// The revision of the tree, which must have no changes: a record names the code that made it.
fn revision() -> Result<String, String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output();
        let output = output.map_err(|why| format!("git could not be started: {why}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Changed records are ignored: this command writes them.
    let changed = git(&["status", "--porcelain", "--", ".", &format!(":!{RECORDS}"), &format!(":!{FOLDER}/*.json")])?;
    if !changed.is_empty() {
        return Err(format!("records name a revision: commit these changes first\n{changed}"));
    }
    git(&["rev-parse", "--short", "HEAD"])
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    run_until(program, arguments, 0)
}

/// Runs experiments. Claims that fail (exit code 1) are recorded like others.
fn run_claims(program: &str, arguments: &[&str]) -> Result<(), String> {
    run_until(program, arguments, 1)
}

fn run_until(program: &str, arguments: &[&str], most: i32) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    let status = without_cargos_variables(&mut command).status();
    match status {
        Ok(status) if status.code().is_some_and(|code| code <= most) => Ok(()),
        Ok(status) => Err(format!("{program} {}: {status}", arguments.join(" "))),
        Err(why) => Err(format!("{program} could not be started: {why}")),
    }
}

/// Records the full run whose results are in each of these folders, without a digest of the quick form, so that
/// `records` runs it again. `revision` names the code that made the run.
pub fn record(revision: &str, folders: &[String]) -> Result<(), String> {
    folders.iter().try_for_each(|folder| record_one(revision, Path::new(folder), None))
}

fn record_one(revision: &str, folder: &Path, quick_digest: Option<String>) -> Result<(), String> {
    let records = root().join(RECORDS);
    fs::create_dir_all(&records).map_err(|why| format!("{}: {why}", records.display()))?;
    let path = folder.join("summary.json");
    let complain = |why: &str| format!("{}: {why}", path.display());
    let text = fs::read_to_string(&path).map_err(|why| complain(&why.to_string()))?;
    // `run` leaves no id for an experiment's file; the folder then has its name, as with `reproduce`.
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let summary = read(&text).map_err(|why| complain(&why))?;
    let id = summary.id.clone().unwrap_or_else(|| folder.into_owned());
    let record = RecordedRun { quick_digest, ..recorded(summary, revision).map_err(|why| complain(&why))? };
    let text = to_text(&record).map_err(|why| complain(&why))?;
    let path = records.join(format!("{id}.json"));
    let draft = records.join(format!(".{id}.json.draft"));
    fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path)).map_err(|why| format!("{}: {why}", path.display()))
}

fn read(text: &str) -> Result<Summary, String> {
    serde_json::from_str(text)
        .map_err(|why| format!("is no summary, or is of an older version, which cannot be recorded: {why}"))
}

fn recorded(summary: Summary, revision: &str) -> Result<RecordedRun, String> {
    if summary.quick {
        return Err("is of a quick run: only full runs are recorded".to_owned());
    }
    if summary.claims.iter().any(|claim| claim.verdict == Verdict::NotRun) {
        return Err("has claims that were not judged".to_owned());
    }
    let Summary { version, seeds, claims, .. } = summary;
    let claims = claims.into_iter().map(RecordedClaim::from).collect();
    Ok(RecordedRun { version, revision: revision.to_owned(), quick_digest: None, seeds, claims })
}

/// The record as JSON with a line per claim, so that a changed figure changes one line.
fn to_text(record: &RecordedRun) -> Result<String, String> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(|why| why.to_string());
    let claims = record.claims.iter().map(|claim| json(serde_json::to_string(claim)));
    let claims: Vec<String> = claims.collect::<Result<_, _>>()?;
    let digest = match &record.quick_digest {
        Some(digest) => format!("\"quick_digest\": {},\n", json(serde_json::to_string(digest))?),
        None => String::new(),
    };
    Ok(format!(
        "{{\n\"version\": {},\n\"revision\": {},\n{digest}\"seeds\": {},\n\"claims\": [\n{}\n]\n}}\n",
        json(serde_json::to_string(&record.version))?,
        json(serde_json::to_string(&record.revision))?,
        json(serde_json::to_string(&record.seeds))?,
        claims.join(",\n"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn summary(quick: bool, verdict: &str) -> Value {
        json!({
            "id": "a-b", "scenario": "A", "version": "1.2.3", "quick": quick, "seeds": [1, 2], "aggregates": [],
            "runs": [], "claims": [
                {"what": "loss", "subject": "cubic", "scheme": "cubic", "point": null, "metric": "loss_rate",
                 "seeds": "each", "paper": 0.0, "low": 0.5, "high": 2.0, "measured": 3.5, "measured_min": 1.0,
                 "measured_max": 3.5, "unit": "%", "verdict": verdict, "why": "traced", "source": "Fig. 1"},
            ],
        })
    }

    fn record_of(summary: &Value) -> Result<RecordedRun, String> {
        recorded(read(&summary.to_string())?, "abc")
    }

    #[test]
    fn a_record_has_the_figures_and_no_verdict() {
        let text = to_text(&record_of(&summary(false, "differs")).unwrap()).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let claim = json!({
            "scheme": "cubic", "point": null, "metric": "loss_rate", "seeds": "each", "unit": "%",
            "measured": 3.5, "measured_min": 1.0, "measured_max": 3.5,
        });
        let expected = json!({ "version": "1.2.3", "revision": "abc", "seeds": [1, 2], "claims": [claim] });
        assert_eq!(record, expected);
    }

    #[test]
    fn a_record_that_was_written_before_is_written_the_same() {
        let text = fs::read_to_string(root().join(RECORDS).join("fp-fig2.json")).unwrap();
        let record: RecordedRun = serde_json::from_str(&text).unwrap();
        assert_eq!(to_text(&record).unwrap(), text);
    }

    #[test]
    fn a_record_keeps_the_digest_of_the_quick_form() {
        let record = record_of(&summary(false, "holds")).unwrap();
        let record = RecordedRun { quick_digest: Some("0a1b".to_owned()), ..record };
        let read: RecordedRun = serde_json::from_str(&to_text(&record).unwrap()).unwrap();
        assert_eq!(read, record);
    }

    #[test]
    fn only_full_runs_that_were_judged_are_recorded() {
        assert!(record_of(&summary(true, "holds")).unwrap_err().contains("quick"));
        assert!(record_of(&summary(false, "not run")).unwrap_err().contains("not judged"));
        let mut old = summary(false, "holds");
        old["claims"][0]["metric"].take();
        assert!(record_of(&old).unwrap_err().contains("older version"));
    }
}
