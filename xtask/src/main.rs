//! Checks of the workspace itself. Each is a function from files to findings. `cargo test` runs all of them on the tree
//! and on planted violations; `cargo run -p xtask -- VERB` runs one or all.

mod circles;
mod files;
mod follow;
mod layers;
mod page;
mod picture;
mod record;
mod shared;
mod tidy;
mod tokens;
mod tree;
mod walls;

use std::process::ExitCode;

use tree::Finding;

/// A check of the tree; `Err` if it could not be made.
type Check = fn() -> Result<Vec<Finding>, String>;

/// The verbs with their rules.
const VERBS: [(&str, &str, Check); 7] = [
    ("layers", "crates depend on each other by the written rule alone", layers::check_tree),
    (
        "circles",
        "few files import each other, and no crate holds a quarter of the lines",
        circles::check_tree,
    ),
    ("picture", "the picture of the crates is that of the rule", picture::check_tree),
    (
        "shared",
        "libraries are built once for the command and the Python module",
        shared::check_tree,
    ),
    ("walls", "machines touch no file, thread, clock, environment or socket", walls::check_tree),
    ("files", "git holds no binary and no file above 300 KB without a reason", files::check_tree),
    ("tidy", "files are short, clean and free of loose ends", tidy::check_tree),
];

#[expect(clippy::print_stderr, reason = "findings are for whoever started the check")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["record", revision, ..] => Some(record::record(revision, &arguments[2..])),
        ["page"] => Some(follow::follow()),
        _ => None,
    };
    if let Some(done) = done {
        return done.map_or_else(
            |why| {
                eprintln!("{why}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
    let verb = arguments.first().cloned().unwrap_or_default();
    let chosen: Vec<_> = VERBS.iter().filter(|known| verb == "all" || verb == known.0).collect();
    if chosen.is_empty() {
        eprintln!("cargo run -p xtask -- VERB, where VERB is one of");
        for (name, what, _) in VERBS {
            eprintln!("  {name:<8}{what}");
        }
        eprintln!("  {:<8}every one of these", "all");
        eprintln!("or  page: follow docs/add-a-controller.md literally, on a copy of the tree");
        eprintln!(
            "or  record REVISION DIR...: record the full runs in these folders, which that revision made"
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
