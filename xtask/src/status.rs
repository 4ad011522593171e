//! The page that says where every figure of the papers stands, written from what the last full runs left: a record an
//! experiment, of which this makes a table. The check compares the page with the records, and the records with the
//! experiments.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use toml::Table;

use crate::tree::{Finding, Source, root, sources};

/// Where the records are, from the root on.
const RECORDS: &str = "docs/reproduction/recorded/";
const EXPERIMENTS: &str = "experiments/";
const PAGE: &str = "docs/reproduction/status.md";

const HEAD: &str = "# Where every figure stands

Made by `cargo run -p xtask -- record` from the last full run of each experiment; what verdicts and ranges are:
[paper beside measured](../reproduction.md). The revision is that of the program that made the runs.
";

/// What a record keeps of a claim.
const KEPT: [&str; 11] = [
    "what",
    "point",
    "paper",
    "low",
    "high",
    "measured",
    "measured_min",
    "measured_max",
    "unit",
    "verdict",
    "why",
];

/// What is in the tree: the experiments and the records, by id.
struct Tree {
    experiments: BTreeMap<String, Table>,
    records: BTreeMap<String, Value>,
}

impl Tree {
    fn of(sources: &[Source]) -> Result<Self, String> {
        let mut tree = Self { experiments: BTreeMap::new(), records: BTreeMap::new() };
        for Source { path, text } in sources {
            if let Some(id) = id_of(path, EXPERIMENTS, ".toml") {
                let table = text.parse().map_err(|why| format!("{path}: {why}"))?;
                tree.experiments.insert(id, table);
            } else if let Some(id) = id_of(path, RECORDS, ".json") {
                let record = serde_json::from_str(text).map_err(|why| format!("{path}: {why}"))?;
                tree.records.insert(id, record);
            }
        }
        Ok(tree)
    }

    /// Records that are not of the experiment as it is now.
    fn stale(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (id, record) in &self.records {
            let path = format!("{RECORDS}{id}.json");
            match self.experiments.get(id) {
                None => findings.push(Finding::new(&path, 0, "is of no experiment: remove it")),
                Some(experiment) if claimed(experiment) != recorded(record) => {
                    let what = "was judged by other claims than the experiment has: run it in full \
                                and record it";
                    findings.push(Finding::new(&path, 0, what));
                }
                Some(_) => {}
            }
        }
        findings
    }

    fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        page.push_str("\n| experiment | about | seeds | version | holds | differs | fails |\n");
        page.push_str("|---|---|---|---|---|---|---|\n");
        for (id, experiment) in &self.experiments {
            let title = experiment.get("title").and_then(toml::Value::as_str).unwrap_or_default();
            let Some(record) = self.records.get(id) else {
                let _ = writeln!(page, "| {id} | {title} | | no full run recorded | | | |");
                continue;
            };
            let count = |verdict: &str| {
                claims(record).iter().filter(|claim| claim["verdict"] == verdict).count()
            };
            let (holds, differs) = (count("holds"), count("differs"));
            let fails = claims(record).len() - holds - differs;
            let _ = writeln!(
                page,
                "| [{id}](#{}) | {title} | {} | {} | {holds} | {differs} | {fails} |",
                id.replace('.', ""),
                seeds(record),
                version(record),
            );
        }
        for (id, record) in &self.records {
            let _ =
                write!(page, "\n## {id}\n\n| claim | paper | accepted | measured | verdict |\n");
            page.push_str("|---|---|---|---|---|\n");
            for claim in claims(record) {
                page.push_str(&row(claim));
            }
        }
        page
    }
}

fn id_of(path: &str, folder: &str, end: &str) -> Option<String> {
    path.strip_prefix(folder)?.strip_suffix(end).map(str::to_owned)
}

fn claims(record: &Value) -> &[Value] {
    record["claims"].as_array().map_or(&[], Vec::as_slice)
}

fn seeds(record: &Value) -> String {
    let seeds = record["seeds"].as_array().map_or(&[][..], Vec::as_slice);
    seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn version(record: &Value) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default();
    format!("{} ({})", text("version"), text("revision"))
}

/// What decides whether a claim is the same: its words, the paper's figure and the bounds.
type Identity = (String, Option<f64>, Option<f64>, Option<f64>);

fn claimed(experiment: &Table) -> Vec<Identity> {
    let list = experiment.get("claim").and_then(toml::Value::as_array);
    let one = |claim: &toml::Value| {
        let number = |key: &str| {
            let value = claim.get(key)?;
            value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64))
        };
        let what = claim.get("what").and_then(toml::Value::as_str).unwrap_or_default();
        (what.to_owned(), number("paper"), number("low"), number("high"))
    };
    list.map_or_else(Vec::new, |list| list.iter().map(one).collect())
}

fn recorded(record: &Value) -> Vec<Identity> {
    let one = |claim: &Value| {
        let number = |key: &str| claim[key].as_f64();
        let what = claim["what"].as_str().unwrap_or_default().to_owned();
        (what, number("paper"), number("low"), number("high"))
    };
    claims(record).iter().map(one).collect()
}

fn row(claim: &Value) -> String {
    let text = |key: &str| claim[key].as_str().unwrap_or_default();
    let number = |key: &str| claim[key].as_f64();
    let unit = text("unit");
    let with_unit = |figure: String| match unit {
        _ if figure.is_empty() => figure,
        "" => figure,
        unit => format!("{figure} {unit}"),
    };
    let accepted = match (number("low"), number("high")) {
        (None, None) => "any".to_owned(),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
    };
    let what = match text("point") {
        "" => text("what").to_owned(),
        point => format!("{} ({point})", text("what")),
    };
    let why = match (text("verdict"), text("why")) {
        ("holds", _) | (_, "") => String::new(),
        (_, why) => format!(": {why}"),
    };
    let shown = |key: &str| with_unit(number(key).map_or_else(String::new, figure));
    let cells =
        [what, shown("paper"), accepted, shown("measured"), text("verdict").to_owned() + &why];
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Four digits that count.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// Compares the page with the records, and these with the experiments.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let sources = sources()?;
    let tree = Tree::of(&sources)?;
    let mut findings = tree.stale();
    let page = sources.iter().find(|source| source.path == PAGE);
    if page.is_none_or(|page| page.text != tree.page()) {
        let what = "is not what the records make: run cargo run -p xtask -- record";
        findings.push(Finding::new(PAGE, 0, what));
    }
    Ok(findings)
}

/// Takes what a full run left in each of these folders for the record, and writes the page. `revision` names the code.
pub fn record(revision: &str, folders: &[String]) -> Result<(), String> {
    let root = root();
    let records = root.join(RECORDS);
    fs::create_dir_all(&records).map_err(|why| format!("{}: {why}", records.display()))?;
    for folder in folders {
        let path = Path::new(folder).join("summary.json");
        let complain = |why: &str| format!("{}: {why}", path.display());
        let text = fs::read_to_string(&path).map_err(|why| complain(&why.to_string()))?;
        let summary: Value =
            serde_json::from_str(&text).map_err(|why| complain(&why.to_string()))?;
        let record = keep(&summary, revision).map_err(|why| complain(&why))?;
        // `run` on an experiment's file leaves no id; the folder is named by it then, as `reproduce` names it.
        let folder = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
        let id = summary["id"].as_str().unwrap_or(&folder);
        write(&records.join(format!("{id}.json")), &record)?;
    }
    let mut sources = sources()?;
    // What was just recorded is not tracked yet.
    for entry in
        fs::read_dir(&records).map_err(|why| format!("{}: {why}", records.display()))?.flatten()
    {
        let path = format!("{RECORDS}{}", entry.file_name().to_string_lossy());
        if sources.iter().all(|source| source.path != path) {
            let text = fs::read_to_string(entry.path()).map_err(|why| format!("{path}: {why}"))?;
            sources.push(Source { path, text });
        }
    }
    write(&root.join(PAGE), &Tree::of(&sources)?.page())
}

/// The record of a summary, a line a claim.
fn keep(summary: &Value, revision: &str) -> Result<String, String> {
    if summary["quick"] != Value::Bool(false) {
        return Err("is of a quick run: only full runs are recorded".to_owned());
    }
    let judged = claims(summary);
    if judged.iter().any(|claim| claim["verdict"] == "not run") {
        return Err("has claims that were not judged".to_owned());
    }
    let mut record = format!(
        "{{\n\"version\": {},\n\"revision\": {},\n\"seeds\": {},\n\"claims\": [",
        summary["version"],
        Value::from(revision),
        summary["seeds"],
    );
    for (number, claim) in judged.iter().enumerate() {
        let kept: Map<String, Value> =
            KEPT.iter().map(|&key| (key.to_owned(), claim[key].clone())).collect();
        record.push_str(if number == 0 { "\n" } else { ",\n" });
        record.push_str(&Value::Object(kept).to_string());
    }
    record.push_str("\n]\n}\n");
    Ok(record)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPERIMENT: &str = "title = \"Two\"\n\
        claim = [{ what = \"loss | all\", paper = 0, low = 0.5, high = 2 }, { what = \"rate\" }]\n";

    fn summary(quick: bool, verdict: &str) -> Value {
        serde_json::json!({
            "id": "a-b", "version": "1.2.3", "quick": quick, "seeds": [1, 2], "runs": [],
            "claims": [
                {"what": "loss | all", "paper": 0.0, "low": 0.5, "high": 2.0, "measured": 12_345.678,
                 "unit": "%", "verdict": verdict, "why": "traced"},
                {"what": "rate", "measured": 0.012_345, "unit": "", "verdict": "holds", "why": ""},
            ],
        })
    }

    fn tree(experiment: &str) -> Tree {
        let record = keep(&summary(false, "differs"), "abc").unwrap();
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        Tree::of(&[
            source("experiments/a-b.toml", experiment),
            source("experiments/c.toml", "title = \"Three\""),
            source("docs/reproduction/recorded/a-b.json", &record),
        ])
        .unwrap()
    }

    #[test]
    fn the_page_shows_every_experiment_and_every_claim() {
        let page = tree(EXPERIMENT).page();
        for line in [
            "| [a-b](#a-b) | Two | 1, 2 | 1.2.3 (abc) | 1 | 1 | 0 |",
            "| c | Three | | no full run recorded | | | |",
            "| loss \\| all | 0 % | 0.5 to 2 | 12346 % | differs: traced |",
            "| rate |  | any | 0.01235 | holds |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in {page}");
        }
    }

    #[test]
    fn a_record_of_other_claims_or_of_no_experiment_is_found() {
        assert_eq!(tree(EXPERIMENT).stale(), []);
        for changed in [("0.5", "0.4"), ("rate", "rates"), ("paper = 0", "paper = 1")] {
            assert_eq!(tree(&EXPERIMENT.replace(changed.0, changed.1)).stale().len(), 1);
        }
        let mut tree = tree(EXPERIMENT);
        tree.experiments.remove("a-b");
        assert_eq!(tree.stale().len(), 1);
    }

    #[test]
    fn only_full_runs_that_were_judged_are_kept() {
        assert!(keep(&summary(true, "holds"), "abc").unwrap_err().contains("quick"));
        assert!(keep(&summary(false, "not run"), "abc").unwrap_err().contains("not judged"));
    }
}
