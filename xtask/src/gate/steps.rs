//! The full check: runs every step, also after one that failed, and ends with a table of all steps.

use super::jobs::folder;
use super::{child, machine, say};
use crate::tree::root;
use shallop_testing::Required;
use std::{fs, path::Path, process::Command};

/// The targets of the Makefile that are steps, after `test`, in order.
const STEPS: [&str; 18] = [
    "check-experiments", "check-without-bpf", "measures", "docs", "book", "wasm", "msrv", "deny", "fuzz",
    "bench-quic-lints", "check-quic", "python-full", "check-report", "check-ns3-recorded", "actionlint", "package",
    "dist", "check-dist",
];

/// The start of the line by which a step says why it did not run on this machine.
const SKIPPED: &str = "SKIPPED ";

struct Step {
    name: &'static str,
    seconds: f64,
    verdict: String,
    has_failed: bool,
}

/// Runs all steps. The causes of skips that this machine should not have are failures, unless `SHALLOP_REQUIRE` says
/// otherwise.
pub fn full() -> Result<bool, String> {
    let folder = folder();
    fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let required = std::env::var("SHALLOP_REQUIRE").unwrap_or_else(|_| machine::causes().join(","));
    Required::parse(&required)?;
    say(&format!("SHALLOP_REQUIRE={required}"));
    let mut steps = Vec::new();
    for name in std::iter::once("check-all-tests").chain(STEPS) {
        let mut make = Command::new("make");
        make.args(["--no-print-directory", name]).current_dir(root());
        make.env("SHALLOP_REQUIRE", &required).env("SHALLOP_KILLS", "50");
        let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        say(&format!("make {name}: its output is in {}", out.display()));
        let step = step(name, &mut make, &out, &err);
        say(&format!("make {name}: {}, {:.0} s", step.verdict, step.seconds));
        if step.has_failed {
            for file in [&out, &err] {
                say(&end(file));
            }
        }
        steps.push(step);
    }
    say("\nstep                   seconds  verdict");
    for step in &steps {
        say(&format!("{:<22}{:>8.0}  {}", step.name, step.seconds, step.verdict));
    }
    let failed: Vec<&str> = steps.iter().filter(|step| step.has_failed).map(|step| step.name).collect();
    say(&format!("\n{} steps, {} failed {}", steps.len(), failed.len(), failed.join(" ")));
    Ok(failed.is_empty())
}

fn step(name: &'static str, make: &mut Command, out: &Path, err: &Path) -> Step {
    let (seconds, verdict, has_failed) = match child::run(make, child::STEP_LIMIT, out, err) {
        Err(why) => (0.0, why, true),
        Ok(ended) if !ended.success => (ended.seconds, format!("FAILED, {}", ended.how), true),
        Ok(ended) => {
            let text = fs::read_to_string(out).unwrap_or_default();
            let skipped = text.lines().find_map(|line| line.strip_prefix(SKIPPED));
            let verdict = skipped.map_or("ok".to_owned(), |why| format!("skipped: {why}"));
            (ended.seconds, verdict, false)
        }
    };
    Step { name, seconds, verdict, has_failed }
}

/// The last lines of a file.
fn end(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(script: &str) -> Step {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        step("docs", &mut command, &folder.path().join("out"), &folder.path().join("err"))
    }

    #[test]
    fn a_step_fails_with_its_command_and_says_why_it_was_skipped() {
        assert!(ran("exit 3").has_failed);
        let skipped = ran("echo SKIPPED msrv: Rust 1.88 is not installed");
        assert_eq!(
            (skipped.verdict.as_str(), skipped.has_failed),
            ("skipped: msrv: Rust 1.88 is not installed", false)
        );
        assert_eq!(ran("echo done").verdict, "ok");
    }
}
