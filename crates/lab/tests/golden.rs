//! Golden digests: ten runs of the shipped experiments in their quick form. A digest covers every figure of the run's
//! summary, so any moved result changes it. Whoever moves a result on purpose writes the new digests with
//! `UPDATE_GOLDEN=1 cargo test -p shallop-lab --test golden`, and says in CHANGES.md what moved and why, on a line that
//! names the new digest of all ten.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the digests are kept in a file"
)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

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

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn digest_of(id: &str, scheme: &str, point: &str, set: &[(&str, &str)]) -> String {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let set = set.iter().map(owned).collect();
    let options = Options { quick: true, set, ..Options::default() };
    let study = read(experiments::find(id).unwrap().text, &options).unwrap();
    let at = study.points.iter().find(|at| point.is_empty() || at.name == point).unwrap();
    let schemes = || at.plan.schemes.iter().map(|scheme| scheme.name.as_str());
    let index = schemes().position(|name| name == scheme);
    let index = index.unwrap_or_else(|| panic!("{id} has {:?}", schemes().collect::<Vec<_>>()));
    let outcome = run(&at.plan, index, study.seeds[0], &mut |_| true).unwrap();
    digest(&serde_json::to_vec(&outcome.run).unwrap())
}

#[test]
fn no_result_moves_without_a_word_in_changes() {
    let name = |&(id, scheme, point): &(&str, &str, &str)| format!("{id},{scheme},{point}");
    let rows =
        RUNS.iter().map(|run| format!("{},{}", name(run), digest_of(run.0, run.1, run.2, &[])));
    let found =
        format!("experiment,scheme,point,sha256\n{}\n", rows.collect::<Vec<_>>().join("\n"));
    let path = file("tests/golden.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> =
        found.lines().filter(|line| !recorded.lines().any(|other| other == *line)).collect();
    assert!(moved.is_empty(), "results moved:\n{}", moved.join("\n"));
    let all = &digest(found.as_bytes())[..12];
    let changes = std::fs::read_to_string(file("../../CHANGES.md")).unwrap();
    assert!(
        changes.contains(&format!("golden digests {all}")),
        "say in CHANGES.md which results moved, from what to what and why, with \"golden digests {all}\""
    );
}

/// Ideal hosts give the digests that `stack = "linux"` had before hosts were as they are.
#[test]
fn linux_hosts_without_offload_are_as_they_were() {
    let bbr = [("stack", "linux-ideal")];
    assert_eq!(
        digest_of("gm-fig3.4", "bbr", "", &bbr),
        "3514ef04477af834cc71f39ad26bca080130efde908c7300eb7aa181ec217d9c"
    );
    let gemini = [("stack", "linux-ideal")];
    assert_eq!(
        digest_of("gm-fig3.11", "gemini", "", &gemini),
        "4cb8dcbc2afe4995d1566995d24aef522b0bae1c39267e50ca70bbff591fbd4f"
    );
}
