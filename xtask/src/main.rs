//! The gate (`test`, `full`) and checks of the workspace itself. A check is a function from files to findings; `cargo
//! test` runs all of them on the tree and on planted violations, `cargo run -p xtask -- VERB` runs one or all.

mod circles;
mod figures;
mod files;
mod gate;
mod layers;
mod picture;
#[cfg(feature = "records")]
mod record;
mod records;
mod tidy;
mod tokens;
mod tree;
#[cfg(test)]
mod walls;

use std::{path::Path, process::ExitCode};
use tree::Finding;

/// A check of the tree; `Err` if it could not be made.
type Check = fn() -> Result<Vec<Finding>, String>;

/// The checks, with their rules.
const VERBS: [(&str, &str, Check); 6] = [
    ("layers", "crates depend on each other by the written rule alone", layers::check_tree),
    ("circles", "few files import each other, and no crate holds more than 16 % of the lines", circles::check_tree),
    ("picture", "the picture of the crates agrees with the written rule", picture::check_tree),
    ("files", "git holds no binary and no file above 300 KB without a reason", files::check_tree),
    ("figures", "figures on pages of docs are those of recorded runs", figures::check_tree),
    ("tidy", "files are short, clean and free of loose ends", tidy::check_tree),
];

/// The other verbs, with what they do.
const OTHERS: [(&str, &str); 9] = [
    ("test", "compile the workspace under Clippy once, run all tests and six quick experiments: make test"),
    ("full", "run every step of make check-full, and go on after one that fails"),
    ("experiments", "experiments [ID...]: run all in quick form with the command that tests call, or with $SHALLOP"),
    ("docs", "write the pages of docs that are made of the program and its records: make write-docs"),
    ("records", "records [ID...]: run in full those with other quick results than recorded: make records"),
    ("record", "record REVISION DIR...: record the full runs in these folders, which that revision made"),
    ("write-figures", "write the figures of recorded runs to the pages of docs"),
    ("figures-of", "figures-of PAGE: print an entry for each paragraph whose numbers come from nowhere"),
    ("record-page", "record-page REVISION NAME DIR QUICK: record an example's full run, with its quick form's digest"),
];

#[expect(clippy::print_stderr, reason = "findings are for whoever started the check")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(done) = run(&words) {
        return match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    let verb = words.first().copied().unwrap_or_default();
    let chosen: Vec<_> = VERBS.iter().filter(|known| verb == "all" || verb == known.0).collect();
    if chosen.is_empty() {
        eprintln!("cargo run -p xtask -- VERB, where VERB is one of");
        for (name, what) in VERBS.map(|(name, what, _)| (name, what)).into_iter().chain(OTHERS) {
            eprintln!("  {name:<12}{what}");
        }
        eprintln!("  {:<12}every check", "all");
        return ExitCode::from(2);
    }
    let mut clean = true;
    for (name, what, check) in chosen {
        let findings = match check() {
            Ok(findings) => findings,
            Err(why) => vec![Finding::new(name, 0, &why)],
        };
        for finding in &findings {
            eprintln!("{finding}");
        }
        let verdict = if findings.is_empty() { "ok" } else { "FAILED" };
        eprintln!("{name}: {verdict}, {what}");
        clean &= findings.is_empty();
    }
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the pages of docs that are made of the program and of its recorded runs, and the figures of all pages.
#[cfg(feature = "docs")]
fn write_docs() -> Result<(), String> {
    let pages = shallop_workbench::pages::all(&tree::root())?;
    pages.iter().try_for_each(|(path, text)| tree::write(path, text))?;
    figures::write()
}

/// Runs a verb that is not a check; `None` if it is one. `Ok(false)` means that something failed.
fn run(words: &[&str]) -> Option<Result<bool, String>> {
    match words {
        ["test"] => Some(gate::test(false)),
        ["test", "--keep-going"] => Some(gate::test(true)),
        ["full"] => Some(gate::full()),
        ["experiments", chosen @ ..] => Some(gate::experiments(chosen)),
        ["write-figures"] => Some(figures::write().map(|()| true)),
        ["figures-of", page] => Some(figures::entries(page).map(|text| {
            gate::say(&text);
            true
        })),
        ["record-page", revision, name, full, quick] => {
            let done = figures::runs::record(revision, name, Path::new(full), Path::new(quick));
            Some(done.map(|()| true))
        }
        #[cfg(feature = "docs")]
        ["docs"] => Some(write_docs().map(|()| true)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_keeps_every_rule() {
        let made: Vec<_> = VERBS.map(|(name, _, check)| (name, std::thread::spawn(check))).into();
        for (name, check) in made {
            let lines: Vec<String> = check.join().unwrap().unwrap().iter().map(Finding::to_string).collect();
            assert!(lines.is_empty(), "{name}, where make write-docs writes figures:\n{}", lines.join("\n"));
        }
    }
}
