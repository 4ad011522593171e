//! Jobs of the gate: test executables, experiments, doc tests, Python. Each is a process whose output is kept.

use super::build::{Test, cargo};
use super::harness::{self, Counts, Skip};
use super::machine::Machine;
use super::tally::{Group, Outcome};
use super::{child, junit, say};
use crate::tree::{root, target};
use shallop_testing::Required;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A process to run, and how its output is read.
pub struct Job {
    pub group: Group,
    pub name: String,
    command: Result<Command, String>,
    reader: Reader,
}

enum Reader {
    Executable,
    Executables,
    /// The report of pytest in this file.
    Junit(PathBuf),
    /// Only the exit status counts.
    Status,
}

/// The counts of a job, and what failed besides tests.
type Read = (Counts, Option<String>);

impl Job {
    pub fn test(test: &Test) -> Self {
        let group = if test.is_unit { Group::Unit } else { Group::Integration };
        let mut command = Command::new(&test.executable);
        command.current_dir(&test.folder).env("CARGO_MANIFEST_DIR", &test.folder);
        Self { group, name: test.name(), command: Ok(command), reader: Reader::Executable }
    }

    pub fn experiment(id: &str, shallop: &Path) -> Self {
        let mut command = Command::new(shallop);
        command.args(["reproduce", id, "--quick"]).current_dir(root());
        let (group, reader) = (Group::Experiments, Reader::Status);
        Self { group, name: id.to_owned(), command: Ok(command), reader }
    }

    pub fn docs(machine: &Machine) -> Self {
        let command = cargo().map(|mut cargo| {
            cargo.args(["test", "--doc", "--workspace", "--locked"]);
            cargo.args(["--features", machine.features()]);
            cargo
        });
        let (group, reader) = (Group::Docs, Reader::Executables);
        Self { group, name: "doc tests".to_owned(), command, reader }
    }

    /// `make python`, with the command that was compiled for tests. Its report goes into `folder`.
    pub fn python(shallop: &Path, folder: &Path) -> Self {
        let report = folder.join("python.xml");
        // The report of an earlier run must not count for a run that writes none.
        let _ = fs::remove_file(&report);
        let mut command = Command::new("make");
        command.args(["--no-print-directory", "python"]).current_dir(root());
        command.env("PYTEST_ADDOPTS", format!("--junit-xml={}", report.display()));
        command.env("SHALLOP_COMMAND", shallop);
        let (group, reader) = (Group::Python, Reader::Junit(report));
        Self { group, name: "python".to_owned(), command: Ok(command), reader }
    }

    /// Runs the job, with its output in `folder`. If it fails, its output is printed without the tests that passed.
    pub fn run(self, required: &Required, folder: &Path) -> Outcome {
        let Self { group, name, command, reader } = self;
        let ended = command.and_then(|mut command| {
            let (read, seconds) = start(&mut command, &reader, &folder.join(file_name(&name)))?;
            let (mut counts, mut trouble) = read;
            if matches!(reader, Reader::Executable) {
                let file = folder.join(file_name(&name) + "-required");
                trouble = trouble.or(run_required(&command, &file, required, &mut counts)?);
            }
            Ok((counts, trouble, seconds))
        });
        let (counts, trouble, seconds) = ended.unwrap_or_else(|why| (Counts::default(), Some(why), 0.0));
        Outcome { group, name, counts, seconds, trouble }
    }
}

fn file_name(job: &str) -> String {
    job.replace(|letter: char| !letter.is_alphanumeric() && letter != '-', "_")
}

/// Starts a command and reads its counts. `file` is the path of its output, without extension.
fn start(command: &mut Command, reader: &Reader, file: &Path) -> Result<(Read, f64), String> {
    let (out, err) = (file.with_extension("out"), file.with_extension("err"));
    let ended = child::run(command, child::JOB_LIMIT, &out, &err)?;
    let text =
        |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let printed = text(&out);
    let counts = match reader {
        Reader::Executable => harness::read(&printed),
        Reader::Executables => harness::read_all(&printed),
        Reader::Junit(report) => junit::read(&text(report)),
        Reader::Status => Some(Counts { passed: usize::from(ended.success), ..Counts::default() }),
    };
    let read = match counts {
        Some(counts) if ended.success || counts.failed > 0 => (counts, None),
        Some(counts) => (counts, Some(ended.how)),
        None => (Counts::default(), Some(format!("{}, and printed no closing line", ended.how))),
    };
    if read.1.is_some() || read.0.failed > 0 {
        let told: Vec<&str> = printed.lines().filter(|line| !line.ends_with(" ... ok")).collect();
        say(&format!("\n{} failed:\n{}\n{}", file.display(), told.join("\n"), text(&err)));
    }
    Ok((read, ended.seconds))
}

/// Runs the tests that Rust's own harness skipped for a cause that is required; it does not know `SHALLOP_REQUIRE`.
fn run_required(
    command: &Command, file: &Path, required: &Required, counts: &mut Counts,
) -> Result<Option<String>, String> {
    let (due, others): (Vec<Skip>, _) =
        counts.skipped.drain(..).partition(|skip| skip.is_built_in && required.contains_word(&skip.cause));
    counts.skipped = others;
    if due.is_empty() {
        return Ok(None);
    }
    let mut again = Command::new(command.get_program());
    again.args(["--exact", "--ignored"]).args(due.iter().map(|skip| &skip.name));
    if let Some(folder) = command.get_current_dir() {
        again.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    }
    let ((more, trouble), _) = start(&mut again, &Reader::Executable, file)?;
    counts.passed += more.passed;
    counts.failed += more.failed;
    Ok(trouble)
}

/// Where the output of jobs is kept.
pub fn folder() -> PathBuf {
    target().join("gate")
}
