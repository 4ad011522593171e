//! Checks of the workspace itself. Each is a function from what is there to findings; `cargo test` runs all of them on
//! the tree and on planted violations, and so does `cargo run -p xtask -- VERB` for one or all.

mod layers;
mod status;
mod tidy;
mod tokens;
mod tree;
mod walls;

use std::process::ExitCode;

use tree::Finding;

/// A check of the tree; `Err` if it could not be made.
type Check = fn() -> Result<Vec<Finding>, String>;

/// The verbs, with what each of them holds the tree to.
const VERBS: [(&str, &str, Check); 4] = [
    ("layers", "crates depend on each other by the written rule alone", layers::check_tree),
    ("walls", "machines touch no file, thread, clock, environment or socket", walls::check_tree),
    ("tidy", "files are short, clean and free of loose ends", tidy::check_tree),
    (
        "status",
        "the page of every figure is what the records of full runs make",
        status::check_tree,
    ),
];

#[expect(clippy::print_stderr, reason = "findings are for whoever started the check")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, revision, folders @ ..] = &arguments[..]
        && verb == "record"
    {
        return match status::record(revision, folders) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    let verb = arguments.first().cloned().unwrap_or_default();
    let chosen: Vec<_> = VERBS.iter().filter(|known| verb == "all" || verb == known.0).collect();
    if chosen.is_empty() {
        eprintln!("cargo run -p xtask -- VERB, where VERB is one of");
        for (name, what, _) in VERBS {
            eprintln!("  {name:<8}{what}");
        }
        eprintln!("  {:<8}every one of these", "all");
        eprintln!(
            "or  record REVISION [DIR...]: note the full runs in these folders, made by that revision"
        );
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
