//! Records of full runs, from which pages take their figures: of example scenarios (docs/recorded), by scheme, point
//! and metric, and of experiments (docs/reproduction/recorded), by claim.

use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// The folder of the records of example scenarios.
pub const FOLDER: &str = "docs/recorded";

/// The metrics that a record keeps, by their paths in `summary.json`.
const KEPT: [&str; 13] = [
    "fct.large.count", "fct.large.mean_s", "fct.small.count", "fct.small.mean_s", "fct.small.p99_s", "goodput_bps",
    "jain", "loss_rate", "max_queue_bytes", "mean_queue_bytes", "retransmits", "throughput_bps", "timeouts",
];

/// A figure over the seeds, in the unit of its metric or claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub mean: f64,
    /// Half the width of the 95 % confidence interval.
    pub ci95: Option<f64>,
    pub min: f64,
    pub max: f64,
}

/// All records, by the names of their files.
pub struct Records(BTreeMap<String, Value>);

impl Records {
    /// Reads the records of a repository.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for folder in [FOLDER, crate::records::RECORDS] {
            let entries = fs::read_dir(root.join(folder)).map_err(|why| format!("{folder}: {why}"))?;
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if path.extension().is_some_and(|ending| ending == "json") {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    all.insert(name, crate::records::read(&path)?);
                }
            }
        }
        Ok(Self(all))
    }

    #[cfg(test)]
    pub fn of(name: &str, record: Value) -> Self {
        Self(BTreeMap::from([(name.to_owned(), record)]))
    }

    /// The figure of a scheme at a point, whose name is empty if there is only one.
    pub fn find(&self, record: &str, key: [&str; 3]) -> Result<Figure, String> {
        let found = self.0.get(record).ok_or_else(|| format!("there is no record {record}"))?;
        let [scheme, point, metric] = key;
        let rows = ["figures", "claims"].iter().find_map(|rows| found[*rows].as_array());
        let same = |row: &&Value| {
            let at = row["point"].as_str().unwrap_or_default();
            row["scheme"] == scheme && at == point && row["metric"] == metric
        };
        let row = rows.and_then(|rows| rows.iter().find(same));
        let row = row.ok_or_else(|| format!("{record} has no {metric} of {scheme} at {point:?}"))?;
        let number = |names: [&str; 2]| names.iter().find_map(|name| row[*name].as_f64());
        let missing = || format!("{record}: {metric} of {scheme} at {point:?} was not measured");
        Ok(Figure {
            mean: number(["mean", "measured"]).ok_or_else(missing)?,
            ci95: row["ci95"].as_f64(),
            min: number(["min", "measured_min"]).ok_or_else(missing)?,
            max: number(["max", "measured_max"]).ok_or_else(missing)?,
        })
    }
}

/// The record of the summary of a full run, with a line for each figure, so that a changed figure changes one line.
/// `digest` is that of the results of the quick form, made by the same revision.
pub fn to_text(summary: &Value, revision: &str, digest: &str) -> Result<String, String> {
    if summary["quick"] == true {
        return Err("the summary is of a quick run: only full runs are recorded".to_owned());
    }
    let list = |name: &str| summary[name].as_array().cloned().unwrap_or_default();
    let points = list("points");
    let mut lines = Vec::new();
    for aggregate in list("aggregates") {
        let point = points.iter().find(|point| point["set"] == aggregate["point"]);
        let point = point.map_or(json!(""), |point| point["name"].clone());
        for metric in KEPT {
            let of = &aggregate["metrics"][metric];
            if of["mean"].is_number() {
                let (scheme, ci95) = (&aggregate["scheme"], &of["ci95"]);
                // Written by hand, as serde_json sorts keys.
                lines.push(format!(
                    "{{\"scheme\":{scheme},\"point\":{point},\"metric\":\"{metric}\",\"mean\":{},\"ci95\":{ci95},\
                     \"min\":{},\"max\":{}}}",
                    of["mean"], of["min"], of["max"]
                ));
            }
        }
    }
    if lines.is_empty() {
        return Err("the summary has no estimates".to_owned());
    }
    Ok(format!(
        "{{\n\"version\": {},\n\"revision\": {},\n\"quick_digest\": {},\n\"seeds\": {},\n\"figures\": [\n{}\n]\n}}\n",
        summary["version"],
        json!(revision),
        json!(digest),
        summary["seeds"],
        lines.join(",\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(quick: bool) -> Value {
        let goodput = json!({"mean": 4.5e8, "ci95": 1e6, "min": 4.4e8, "max": 4.6e8, "n": 3});
        json!({
            "version": "1.2.3", "quick": quick, "seeds": [1, 2, 3],
            "points": [{"name": "20 KB", "set": {"b": "20KB"}}],
            "aggregates": [{"scheme": "cubic", "point": {"b": "20KB"},
                            "metrics": {"goodput_bps": goodput, "packet_hops": goodput}}],
        })
    }

    #[test]
    fn a_record_has_the_kept_metrics_by_scheme_and_point() {
        let text = to_text(&summary(false), "abc", "0a1b").unwrap();
        let records = Records::of("wan", serde_json::from_str(&text).unwrap());
        let found = records.find("wan", ["cubic", "20 KB", "goodput_bps"]).unwrap();
        assert_eq!(found, Figure { mean: 4.5e8, ci95: Some(1e6), min: 4.4e8, max: 4.6e8 });
        assert!(records.find("wan", ["cubic", "20 KB", "packet_hops"]).is_err());
        assert!(records.find("wan", ["cubic", "2 MB", "goodput_bps"]).is_err());
        assert!(records.find("dc", ["cubic", "20 KB", "goodput_bps"]).is_err());
    }

    #[test]
    fn quick_runs_are_not_recorded() {
        assert!(to_text(&summary(true), "abc", "0a1b").unwrap_err().contains("quick"));
        assert!(to_text(&json!({}), "abc", "0a1b").unwrap_err().contains("no estimates"));
    }
}
