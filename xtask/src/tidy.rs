//! Checks of source files: length, width, unfinished code, and the licence of C.

use crate::tree::{Finding, Source, sources};
use toml::{Table, Value};

/// The most lines of a source file, its tests included.
const LINES: usize = 500;
const COLUMNS: usize = 120;

/// Split, so that this file does not find itself.
const LOOSE_ENDS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("to", "do!"), concat!("unimple", "mented!")];
const MACHINE: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/tmp", "/wt"), concat!("..", "/shared"), concat!("arti", "factory")];

/// The folders of C that runs in a kernel, or is linked with GPL-2.0-only code (ns-3).
const GPL_C: [&str; 3] = ["checks/ns3/", "crates/bpf/c/", "examples/controllers/"];

pub fn check_tree() -> Result<Vec<Finding>, String> {
    Ok(check(&sources()?))
}

fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        findings.extend(length(source));
        for (line, text) in (1..).zip(source.text.split('\n')) {
            findings.extend(line_objections(source, text).iter().map(|what| Finding::new(&source.path, line, what)));
        }
        if let Some(what) = whole_objection(source) {
            findings.push(Finding::new(&source.path, 0, what));
        }
        findings.extend(licence(source));
    }
    findings
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let is_long = matches!(source.extension(), "rs" | "py" | "toml") && lines > LINES;
    is_long.then(|| Finding::new(&source.path, 0, &format!("has {lines} lines, more than {LINES}: split it")))
}

/// Whether the file was written for this project, not generated or copied.
fn is_written_here(source: &Source) -> bool {
    match source.extension() {
        "rs" | "py" | "pyi" | "toml" | "md" | "sh" | "c" | "h" | "yml" | "yaml" => true,
        "" => !source.path.ends_with("LICENSE"),
        _ => false,
    }
}

fn line_objections(source: &Source, line: &str) -> Vec<String> {
    let mut what = Vec::new();
    if let Some(named) = MACHINE.iter().find(|named| holds(line, named)) {
        what.push(format!("names {named}, which is of one machine only"));
    }
    if !is_written_here(source) {
        return what;
    }
    if line.ends_with(char::is_whitespace) {
        what.push("white space at the end of the line".into());
    }
    if line.contains('\t') && !source.path.ends_with("Makefile") {
        what.push("a tab".into());
    }
    if let Some(end) = LOOSE_ENDS.iter().find(|end| holds(line, end)) {
        what.push(format!("a loose end: {end}"));
    }
    // A table or a link cannot be broken.
    let unbreakable = source.extension() == "md"
        && (line.trim_start().starts_with('|') || line.contains("](") || line.contains("://"));
    let columns = line.chars().count();
    if matches!(source.extension(), "rs" | "md") && columns > COLUMNS && !unbreakable {
        what.push(format!("{columns} columns, more than {COLUMNS}"));
    }
    what
}

/// Whether `line` contains `words` as whole words.
fn holds(line: &str, words: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(words).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + words.len()..].chars().next();
        let joins = |edge: Option<char>, other: Option<char>| edge.is_some_and(in_word) && other.is_some_and(in_word);
        let starts_a_path = words.starts_with('/') && before.is_some_and(in_word);
        !starts_a_path && !joins(words.chars().next(), before) && !joins(words.chars().next_back(), after)
    })
}

fn whole_objection(source: &Source) -> Option<&'static str> {
    if source.extension() == "rs" && source.path.contains("src/") && !source.text.starts_with("//!") {
        return Some("does not begin with //! and what it is");
    }
    if source.path.rsplit('/').next() != Some("Cargo.toml") {
        return None;
    }
    let Ok(manifest) = source.text.parse::<Table>() else { return Some("is no TOML") };
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    let inherits = lints.and_then(Value::as_bool) == Some(true);
    let is_crate = manifest.contains_key("package");
    (is_crate && !inherits).then_some("does not take over the lints: [lints] workspace = true")
}

/// What is wrong with the licence of a file of C, which its first line names.
fn licence(source: &Source) -> Option<Finding> {
    if !matches!(source.extension(), "c" | "cc" | "h") {
        return None;
    }
    let in_kernel = source.path.ends_with(".bpf.c") || GPL_C.iter().any(|folder| source.path.starts_with(folder));
    let licence = if in_kernel { "GPL-2.0-only OR BSD-2-Clause" } else { "Apache-2.0" };
    let wanted = format!("SPDX-License-Identifier: {licence}");
    let first = source.text.lines().next().unwrap_or_default();
    let named = first.trim_start_matches(['/', '*', ' ']).trim_end_matches(['/', '*', ' ']);
    (named != wanted).then(|| Finding::new(&source.path, 1, &format!("is not \"{wanted}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn found_in(path: &str, text: &str) -> Vec<String> {
        check(&[source(path, text)]).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn an_untidy_line_is_found() {
        let long = "x".repeat(COLUMNS + 1);
        let mut planted = vec![
            ("a.rs", "let x = 1; ".to_owned()),
            ("a.py", "\tx = 1".to_owned()),
            (".ci/run", "make \r".to_owned()),
            ("a.rs", long.clone()),
            ("a.md", long),
        ];
        for end in LOOSE_ENDS {
            planted.push(("a.py", format!("# {end} later")));
            planted.push(("a.rs", format!("    {end}()")));
        }
        for machine in MACHINE {
            planted.push(("a.json", format!("\"{machine}\"")));
            planted.push(("Makefile", format!("cd {machine}")));
        }
        for (path, line) in planted {
            let findings = found_in(path, &format!("# first\n{line}\n"));
            assert_eq!(findings.len(), 1, "{path}: {line}: {findings:?}");
            assert!(findings[0].starts_with(&format!("{path}:2: ")), "{findings:?}");
        }
    }

    #[test]
    fn lines_that_only_look_untidy_pass() {
        let long = "µ".repeat(COLUMNS);
        for (path, line) in [
            ("a.rs", long.as_str()),
            ("a.md", &format!("| {long} |")),
            ("a.md", &format!("[text](https://example.org/{long})")),
            ("a.toml", &format!("# {long}{long}")),
            ("Makefile", "\tmake"),
            ("a.snap", "text "),
            ("LICENSE", "text "),
            ("a.rs", concat!("MASTO", "DON and frame/wo", "rk/x")),
            ("a.rs", concat!("mod x; // ..", "/shared_buffer.rs")),
        ] {
            assert_eq!(found_in(path, line), Vec::<String>::new());
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let lines = |count: usize| found_in("a.py", &"x = 1\n".repeat(count)).join("; ");
        assert_eq!(lines(LINES), "");
        assert!(lines(LINES + 1).contains("more than 500: split it"), "{}", lines(LINES + 1));
        assert_eq!(check(&[source("a.csv", &"1\n".repeat(LINES * 2))]), []);
    }

    #[test]
    fn a_file_that_does_not_say_what_it_is_is_found() {
        assert_eq!(found_in("crates/core/src/a.rs", "use std::fmt;\n").len(), 1);
        assert_eq!(found_in("xtask/src/a.rs", "").len(), 1);
        assert!(found_in("crates/core/src/a.rs", "//! Words.\n").is_empty());
        assert!(found_in("crates/core/tests/a.rs", "use std::fmt;\n").is_empty());
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let package = "[package]\nname = \"x\"\n";
        for lints in ["", "[lints]\nworkspace = false\n", "# [lints]\n# workspace = true\n"] {
            assert_eq!(found_in("crates/x/Cargo.toml", &format!("{package}{lints}")).len(), 1);
        }
        for whole in [format!("{package}[lints]\nworkspace = true\n"), "[workspace]\n".into()] {
            assert!(found_in("crates/x/Cargo.toml", &whole).is_empty());
        }
    }
    #[test]
    fn c_names_the_licence_of_its_place() {
        let kernel = "// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n";
        let user = "/* SPDX-License-Identifier: Apache-2.0 */\n";
        for (path, text) in [("crates/bpf/c/x.h", kernel), ("a/tests/x.bpf.c", kernel), ("a/agent/x.c", user)] {
            assert_eq!(found_in(path, text), Vec::<String>::new());
            let other = if text == kernel { user } else { kernel };
            for wrong in [other, "", "int x;\n", &format!("int x;\n{text}")] {
                assert_eq!(found_in(path, wrong).len(), 1, "{path}: {wrong:?}");
            }
        }
        assert!(found_in("a/x.py", "x = 1\n").is_empty());
    }
}
