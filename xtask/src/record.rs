//! Records of full runs: the measured figures of each claim, without the verdicts. `crates/shallop/tests/it/status.rs`
//! makes the page of all verdicts: it judges the recorded figures by the ranges that the experiments have now.

use std::fs;
use std::path::Path;

use shallop_results::{RecordedClaim, RecordedRun, Summary, Verdict};

use crate::tree::root;

/// The folder of the records, from the root on.
const RECORDS: &str = "docs/reproduction/recorded/";

/// Records the full run whose results are in each of these folders. `revision` names the code that made the run.
pub fn record(revision: &str, folders: &[String]) -> Result<(), String> {
    let records = root().join(RECORDS);
    fs::create_dir_all(&records).map_err(|why| format!("{}: {why}", records.display()))?;
    for folder in folders {
        let path = Path::new(folder).join("summary.json");
        let complain = |why: &str| format!("{}: {why}", path.display());
        let text = fs::read_to_string(&path).map_err(|why| complain(&why.to_string()))?;
        // `run` on the file of an experiment leaves no id; the folder has its name then, as with `reproduce`.
        let folder = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
        let summary = read(&text).map_err(|why| complain(&why))?;
        let id = summary.id.clone().unwrap_or_else(|| folder.into_owned());
        let text = to_text(&recorded(summary, revision).map_err(|why| complain(&why))?);
        let path = records.join(format!("{id}.json"));
        fs::write(&path, text.map_err(|why| complain(&why))?)
            .map_err(|why| format!("{}: {why}", path.display()))?;
    }
    Ok(())
}

fn read(text: &str) -> Result<Summary, String> {
    serde_json::from_str(text).map_err(|why| {
        format!("is no summary, or is of an older version, which cannot be recorded: {why}")
    })
}

/// The record of a summary.
fn recorded(summary: Summary, revision: &str) -> Result<RecordedRun, String> {
    if summary.quick {
        return Err("is of a quick run: only full runs are recorded".to_owned());
    }
    if summary.claims.iter().any(|claim| claim.verdict == Verdict::NotRun) {
        return Err("has claims that were not judged".to_owned());
    }
    let Summary { version, seeds, claims, .. } = summary;
    let claims = claims.into_iter().map(RecordedClaim::from).collect();
    Ok(RecordedRun { version, revision: revision.to_owned(), seeds, claims })
}

/// The record as JSON with a line for each claim, so that a change of a figure changes one line.
fn to_text(record: &RecordedRun) -> Result<String, String> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(|why| why.to_string());
    let claims = record.claims.iter().map(|claim| json(serde_json::to_string(claim)));
    let claims: Vec<String> = claims.collect::<Result<_, _>>()?;
    Ok(format!(
        "{{\n\"version\": {},\n\"revision\": {},\n\"seeds\": {},\n\"claims\": [\n{}\n]\n}}\n",
        json(serde_json::to_string(&record.version))?,
        json(serde_json::to_string(&record.revision))?,
        json(serde_json::to_string(&record.seeds))?,
        claims.join(",\n"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
        let expected =
            json!({ "version": "1.2.3", "revision": "abc", "seeds": [1, 2], "claims": [claim] });
        assert_eq!(record, expected);
    }

    #[test]
    fn a_record_that_was_written_before_is_written_the_same() {
        let text = fs::read_to_string(root().join(RECORDS).join("fp-fig2.json")).unwrap();
        let record: RecordedRun = serde_json::from_str(&text).unwrap();
        assert_eq!(to_text(&record).unwrap(), text);
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
