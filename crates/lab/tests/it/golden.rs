//! Golden digests: ten quick runs of shipped experiments. A digest covers every figure of the run's summary, so a
//! result that moves changes its digest. `UPDATE_GOLDEN=1 cargo test -p shallop-lab golden` writes the new digests to
//! `experiments/golden.csv`; the commit says which figure moved, from what to what, and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the digests are kept in a file"
)]

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use shallop_lab::run;
use shallop_scenario::{Options, experiments, read};

/// Experiment, scheme and point of each run; the first point where it is empty.
const RUNS: [(&str, &str, &str); 10] = [
    ("fp-fig10a", "cubic", ""),
    ("fp-fig10a", "expresspass", ""),
    ("fp-fig10a", "flashpass", ""),
    ("fp-fig10a", "flashpass-mimd", ""),
    ("x-coexist", "flashpass", ""),
    ("ae-fig2", "expresspass-aeolus", ""),
    ("gm-fig3.4", "bbr", ""),
    ("gm-fig3.11", "gemini", ""),
    ("bc-fig6", "bcc", ""),
    ("cl-fig5", "clean", ""),
];

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn digest_of(id: &str, scheme: &str, point: &str) -> String {
    let options = Options { quick: true, ..Options::default() };
    let study = read(experiments::find(id).unwrap().text, &options).unwrap();
    let at = study.points.iter().find(|at| point.is_empty() || at.name == point).unwrap();
    let schemes = || at.plan.schemes.iter().map(|scheme| scheme.name.as_str());
    let index = schemes().position(|name| name == scheme);
    let index = index.unwrap_or_else(|| panic!("{id} has {:?}", schemes().collect::<Vec<_>>()));
    let outcome = run(&at.plan, index, study.seeds[0], &mut |_| true).unwrap();
    digest(&serde_json::to_vec(&outcome.run).unwrap())
}

#[test]
fn ten_quick_runs_have_their_recorded_digests() {
    let name = |&(id, scheme, point): &(&str, &str, &str)| format!("{id},{scheme},{point}");
    let rows = RUNS.iter().map(|run| format!("{},{}", name(run), digest_of(run.0, run.1, run.2)));
    let found =
        format!("experiment,scheme,point,sha256\n{}\n", rows.collect::<Vec<_>>().join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/golden.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> =
        found.lines().filter(|line| !recorded.lines().any(|other| other == *line)).collect();
    assert!(recorded == found, "results moved; their digests are now:\n{}", moved.join("\n"));
}
