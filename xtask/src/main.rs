//! The gate (`test`, `full`), full runs that are recorded, and pages of docs that are made of the program. Rules of the
//! tree are checked by `python3 checks/tree`.

mod gate;
#[cfg(feature = "records")]
mod record;
mod records;
mod runs;
mod tree;

use std::{path::Path, process::ExitCode};

const USAGE: &str = "\
cargo run -p xtask -- VERB, where VERB is one of
  test         compile the workspace under Clippy once, run all tests and six quick experiments: make test
  full         run every step of make check-full, and go on after one that fails
  experiments  experiments [ID...]: run all in quick form with the command that tests call, or with $SHALLOP
  docs         write the pages of docs that are made of the program and its records: make write-docs
  records      records [ID...]: run in full those with other quick results than recorded: make records
  record       record REVISION DIR...: record the full runs in these folders, which that revision made
  record-page  record-page REVISION NAME DIR QUICK: record an example's full run, with its quick form's digest
python3 checks/tree checks the rules of the tree.";

#[expect(clippy::print_stderr, reason = "what is wrong is for whoever started the verb")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Ok(false)) => ExitCode::FAILURE,
        Some(Err(why)) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Writes the pages of docs that are made of the program and of its recorded runs.
#[cfg(feature = "docs")]
fn write_docs() -> Result<bool, String> {
    for (path, text) in shallop_workbench::pages::all(&tree::root())? {
        let file = tree::root().join(path);
        if std::fs::read_to_string(&file).is_ok_and(|found| found == text) {
            continue;
        }
        std::fs::write(&file, text).map_err(|why| format!("{path}: {why}"))?;
        gate::say(&format!("wrote {path}"));
    }
    Ok(true)
}

/// Runs a verb; `None` if there is no such verb. `Ok(false)` means that something failed.
fn run(words: &[&str]) -> Option<Result<bool, String>> {
    match words {
        ["test"] => Some(gate::test(false)),
        ["test", "--keep-going"] => Some(gate::test(true)),
        ["full"] => Some(gate::full()),
        ["experiments", chosen @ ..] => Some(gate::experiments(chosen)),
        ["record-page", revision, name, full, quick] => {
            let done = runs::record(revision, name, Path::new(full), Path::new(quick));
            Some(done.map(|()| true))
        }
        #[cfg(feature = "docs")]
        ["docs"] => Some(write_docs()),
        #[cfg(not(feature = "docs"))]
        ["docs"] => Some(Err("this needs the pages: make write-docs".to_owned())),
        #[cfg(feature = "records")]
        ["records", chosen @ ..] => Some(record::records(chosen).map(|()| true)),
        #[cfg(feature = "records")]
        ["record", revision, folders @ ..] => {
            let folders: Vec<String> = folders.iter().map(ToString::to_string).collect();
            Some(record::record(revision, &folders).map(|()| true))
        }
        #[cfg(not(feature = "records"))]
        ["records" | "record", ..] => {
            Some(Err("this needs the schema of results: cargo run -p xtask --features records".to_owned()))
        }
        _ => None,
    }
}
