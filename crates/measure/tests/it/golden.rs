//! Golden digests: ten quick runs of shipped experiments. A digest covers the path and the exact value of every
//! field of the run's summary, so a result that moves changes its digest; a field that is moved or renamed does not,
//! once its row is in `RENAMES`. `UPDATE_GOLDEN=1 cargo test -p shallop-measure golden` writes the new digests to
//! `experiments/golden.csv`; the commit says which figure moved, from what to what, and why.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the digests are kept in a file")]

use crate::support::outcome;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shallop_scenario::{Options, experiments, read};
use std::{fmt::Write, path::Path};

/// Experiment, scheme and point of each run; the first point where it is empty.
const RUNS: [(&str, &str, &str); 10] = [
    ("fp-fig10a", "cubic", ""),
    ("fp-fig10a", "expresspass", ""),
    ("fp-fig10a", "flashpass", ""),
    ("fp-fig10a", "flashpass-paper", ""),
    ("x-coexist", "flashpass", ""),
    ("ae-fig2", "expresspass-aeolus", ""),
    ("gm-fig3.4", "bbr", ""),
    ("gm-fig3.11", "gemini", ""),
    ("bc-fig6", "bcc", ""),
    ("cl-fig5", "clean-paper", ""),
];

/// Fields of a run that were renamed since their digests were recorded: the old path and the new one, each from the run
/// down, such as `.credit.granted`. A row also renames what lies below the path.
const RENAMES: [(&str, &str); 0] = [];

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The path and the exact value of every field below `value`, one a line. Fields without a value (null) are left out.
fn collect_pairs(path: &str, value: &Value, pairs: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(index, inner)| collect_pairs(&format!("{path}[{index}]"), inner, pairs));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| collect_pairs(&format!("{path}.{name}"), inner, pairs));
        }
        other => pairs.push(format!("{path} = {other}")),
    }
}

/// The sorted pairs of path and value, each path under the name that it had when the digests were recorded.
fn pairs(run: &Value) -> Vec<String> {
    let mut pairs = Vec::new();
    collect_pairs("", run, &mut pairs);
    for pair in &mut pairs {
        let rest = |new: &str| pair.strip_prefix(new).filter(|rest| rest.starts_with(['.', '[', ' ']));
        let renamed = RENAMES.iter().find_map(|(old, new)| Some(format!("{old}{}", rest(new)?)));
        *pair = renamed.unwrap_or_else(|| std::mem::take(pair));
    }
    pairs.sort_unstable();
    pairs
}

fn digest_of(id: &str, scheme: &str, point: &str) -> String {
    let options = Options { quick: true, ..Options::default() };
    let study = read(experiments::find(id).unwrap().text, &options).unwrap();
    let at = study.points.iter().find(|at| point.is_empty() || at.name == point).unwrap();
    let schemes = || at.plan.schemes.iter().map(|scheme| scheme.name.as_str());
    let index = schemes().position(|name| name == scheme);
    let index = index.unwrap_or_else(|| panic!("{id} has {:?}", schemes().collect::<Vec<_>>()));
    let outcome = outcome(&at.plan, index, study.seeds[0]);
    digest(pairs(&serde_json::to_value(&outcome.run).unwrap()).join("\n").as_bytes())
}

#[test]
fn a_digest_depends_on_values_and_not_on_the_order_of_fields() {
    let found = pairs(&json!({ "b": [1, { "x": 0.1 }], "a": null, "c": { "d": "text" } }));
    assert_eq!(found, [".b[0] = 1", ".b[1].x = 0.1", ".c.d = \"text\""]);
}

#[test]
fn ten_quick_runs_have_their_recorded_digests() {
    let name = |&(id, scheme, point): &(&str, &str, &str)| format!("{id},{scheme},{point}");
    let rows = RUNS.iter().map(|run| format!("{},{}", name(run), digest_of(run.0, run.1, run.2)));
    let found = format!("experiment,scheme,point,sha256\n{}\n", rows.collect::<Vec<_>>().join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/golden.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> = found.lines().filter(|line| !recorded.lines().any(|other| other == *line)).collect();
    assert!(recorded == found, "results moved; their digests are now:\n{}", moved.join("\n"));
}
