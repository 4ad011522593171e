//! The runs whose records pages show: shipped scenarios, in full and in a quick form. A record keeps the digest of the
//! quick form's results; it is stale when the quick form of today has another digest.

use super::record::{FOLDER, to_text};
use crate::gate::{say, without_cargos_variables};
use crate::records::{digest, read};
use crate::tree::root;
use std::{fs, path::Path, process::Command};

struct PageRun {
    name: &'static str,
    full: &'static [&'static str],
    /// Further arguments, with which the run is short.
    quick: &'static [&'static str],
}

const BUFFERS: &str = "switch.default.buffer=20KB/Gbps,40KB/Gbps,2MB/Gbps";

const RUNS: [PageRun; 5] = [
    PageRun { name: "edge", full: &["run", "examples/edge.toml"], quick: &["--set", "duration=300ms"] },
    PageRun {
        name: "kernels",
        full: &["run", "examples/kernels.toml", "--seeds", "3"],
        quick: &["--set", "duration=300ms"],
    },
    PageRun { name: "compare-wan", full: &["run", "examples/compare-wan.toml"], quick: &["--quick"] },
    PageRun { name: "compare-dc", full: &["run", "examples/compare-dc.toml"], quick: &["--quick"] },
    PageRun {
        name: "sites",
        full: &["sweep", "examples/sites.toml", "--seeds", "3", "--vary", BUFFERS],
        quick: &["--set", "duration=300ms"],
    },
];

/// The exit code of a command that needs what this machine lacks, such as a kernel in virtual time.
const LACKS: i32 = 3;

/// Runs the command in the root of the repository, with results in a new folder. False if this machine lacks what the
/// run needs.
fn run(shallop: &Path, arguments: &[&str], out: &Path) -> Result<bool, String> {
    let fault = |why: &str| format!("shallop {}: {why}", arguments.join(" "));
    if out.exists() {
        fs::remove_dir_all(out).map_err(|why| format!("{}: {why}", out.display()))?;
    }
    let mut command = Command::new(shallop);
    command.args(arguments).arg("--out").arg(out).current_dir(root());
    let output = without_cargos_variables(&mut command).output();
    let output = output.map_err(|why| fault(&why.to_string()))?;
    if output.status.success() || output.status.code() == Some(LACKS) {
        return Ok(output.status.success());
    }
    Err(fault(&String::from_utf8_lossy(&output.stderr)))
}

/// Makes all quick forms. Returns the names of the records that have other results, or are missing.
pub fn stale(shallop: &Path, out: &Path) -> Result<Vec<&'static str>, String> {
    let mut stale = Vec::new();
    for of in &RUNS {
        let folder = out.join(of.name);
        if !run(shallop, &[of.full, of.quick].concat(), &folder)? {
            say(&format!("{}: not run, this machine lacks what it needs", of.name));
        } else if !is_of(&root().join(FOLDER), of.name, &digest(&folder)?)? {
            stale.push(of.name);
        }
    }
    Ok(stale)
}

/// Whether a record has this digest of the quick form.
fn is_of(records: &Path, name: &str, digest: &str) -> Result<bool, String> {
    let path = records.join(format!("{name}.json"));
    Ok(path.exists() && read(&path)?["quick_digest"] == digest)
}

/// Runs in full what is stale, and records it. `revision` names the code of the command.
#[cfg(feature = "records")]
pub fn record_stale(shallop: &Path, revision: &str, out: &Path) -> Result<(), String> {
    let quick = out.join("quick-pages");
    for name in stale(shallop, &quick)? {
        let full = out.join("pages").join(name);
        let of = RUNS.iter().find(|of| of.name == name).ok_or("no such run")?;
        run(shallop, of.full, &full)?;
        record(revision, name, &full, &quick.join(name))?;
    }
    Ok(())
}

/// Records a full run with the digest of its quick form, from the folders of both.
pub fn record(revision: &str, name: &str, full: &Path, quick: &Path) -> Result<(), String> {
    let text = to_text(&read(&full.join("summary.json"))?, revision, &digest(quick)?)?;
    let path = root().join(FOLDER).join(format!("{name}.json"));
    fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))?;
    say(&format!("recorded {name}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_quick_form_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wan.json"), r#"{"quick_digest": "0a1b"}"#).unwrap();
        let is_of = |name, digest| is_of(folder.path(), name, digest).unwrap();
        assert!(is_of("wan", "0a1b"));
        assert!(!is_of("wan", "0a1c"), "the quick form has other results");
        assert!(!is_of("dc", "0a1b"), "there is no record");
    }

    #[test]
    fn every_record_is_of_a_run_whose_scenario_is_shipped() {
        for of in &RUNS {
            assert!(root().join(of.full[1]).exists(), "{}", of.full[1]);
        }
        for entry in fs::read_dir(root().join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_record = path.extension().is_some_and(|ending| ending == "json");
            assert!(!is_record || RUNS.iter().any(|of| of.name == name), "{name} is of no run");
        }
    }
}
