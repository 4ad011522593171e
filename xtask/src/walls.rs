//! Machines, the simulator and the pure part of the lab live behind walls: no files, threads, clocks, environment,
//! sockets or output, so that a run is a function of its scenario and seed, in a browser as on a server.
//!
//! clippy.toml bans the same by type, where it can; this check also sees that nobody turned that off. Test code is
//! free.

use crate::tokens::{self, How, Mention};
use crate::tree::{Finding, Source, sources};

/// Trees that must stay pure, and those in them that need not.
const WALLED: [&str; 7] = [
    "crates/core/src/",
    "crates/control/src/",
    "crates/switch/src/",
    "crates/proto/src/",
    "crates/sim/src/",
    "crates/view/src/",
    "crates/lab/src/",
];
const FREE: [&str; 2] = ["crates/lab/src/host/", "crates/lab/src/host.rs"];

/// What must not be named, nor anything inside it, and why. `core` and `alloc` count as `std`.
const BANNED: [(&[&str], &str); 9] = [
    (&["std::fs", "std::os", "std::path"], "files belong to the store and the lab's host"),
    (&["std::thread"], "a run is one thread; jobs belong to the lab's host"),
    (&["std::time::Instant", "std::time::SystemTime", "std::time::UNIX_EPOCH"], "time is an input"),
    (&["std::env", "std::process"], "the environment belongs to the command"),
    (&["std::net"], "sockets belong to drivers of real hosts"),
    (
        &[
            "std::sync::atomic",
            "std::sync::mpsc",
            "std::sync::Barrier",
            "std::sync::Condvar",
            "std::sync::LazyLock",
            "std::sync::Mutex",
            "std::sync::Once",
            "std::sync::OnceLock",
            "std::sync::RwLock",
        ],
        "machines and runs share nothing",
    ),
    (
        &[
            "std::io::stdin",
            "std::io::stdout",
            "std::io::stderr",
            "std::io::Stdin",
            "std::io::Stdout",
            "std::io::Stderr",
            "std::println",
            "std::print",
            "std::eprintln",
            "std::eprint",
            "std::dbg",
            "std::thread_local",
            "std::include",
        ],
        "what is said belongs to the command, and to return values",
    ),
    (
        &["std::hash::RandomState", "std::collections::hash_map::RandomState"],
        "chance comes from the seed",
    ),
    (
        &["clippy::disallowed_methods", "clippy::disallowed_types", "clippy::disallowed_macros"],
        "a ban that is lifted here is no ban",
    ),
];

/// Macros that print, keep state in a thread or bring in code this check does not see.
const MACROS: [&str; 7] =
    ["dbg", "eprint", "eprintln", "include", "print", "println", "thread_local"];

/// Lint groups that hold the bans.
const GROUPS: [&str; 2] = ["clippy::all", "clippy::style"];

/// Crates and modules that do what the walls keep out.
const OUTSIDE: [&str; 10] = [
    "arrow_array",
    "arrow_schema",
    "crate::host",
    "getrandom",
    "indicatif",
    "libc",
    "parquet",
    "rayon",
    "shallop_store",
    "tempfile",
];

/// Looks for breaches of the walls in the tree.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let sources = sources()?;
    let bare = |wall: &&&str| !sources.iter().any(|source| source.path.starts_with(**wall));
    if let Some(wall) = WALLED.iter().find(bare) {
        return Err(format!("{wall} holds nothing: say in xtask/src/walls.rs where it went"));
    }
    Ok(check(&sources))
}

fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut of_tests = Vec::new();
    let mut said = Vec::new();
    for source in sources {
        let in_crate = WALLED.iter().map(|wall| wall.trim_end_matches("src/"));
        for settings in ["clippy.toml", ".clippy.toml"] {
            if in_crate.clone().any(|folder| source.path == format!("{folder}{settings}")) {
                let what = "would replace the bans of the root: remove it";
                findings.push(Finding::new(&source.path, 0, what));
            }
        }
        if !is_walled(source) {
            continue;
        }
        match tokens::read(&source.text) {
            Ok(file) => {
                let home = home(&source.path);
                of_tests.extend(file.test_modules.iter().map(|name| format!("{home}{name}")));
                said.push((source, file.mentions));
            }
            Err(why) => findings.push(Finding::new(&source.path, 0, &format!("is no Rust: {why}"))),
        }
    }
    for (source, mentions) in said {
        let is_test = |module: &String| {
            source
                .path
                .strip_prefix(module)
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        if of_tests.iter().any(is_test) {
            continue;
        }
        for mention in &mentions {
            if let Some(what) = objection(mention) {
                findings.push(Finding::new(&source.path, mention.line, &what));
            }
        }
    }
    findings
}

fn is_walled(source: &Source) -> bool {
    let path = &source.path;
    source.extension() == "rs"
        && WALLED.iter().any(|wall| path.starts_with(wall))
        && !FREE.iter().any(|free| path.starts_with(free))
}

/// The folder of the modules a file declares, with a slash at its end.
fn home(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => format!("{folder}/"),
        module => format!("{folder}/{module}/"),
    }
}

/// Why the walls do not let a mention through.
fn objection(mention: &Mention) -> Option<String> {
    let path = standard(&mention.path);
    let inside = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    if mention.how == How::Loophole {
        return Some(format!("{path} goes past this check: do without"));
    }
    let last = path.rsplit("::").next().unwrap_or_default();
    if mention.how == How::Invoked && MACROS.contains(&last) {
        return Some(format!("{last}! has no place behind the walls"));
    }
    if GROUPS.contains(&path.as_str()) {
        return Some(format!("{path} holds the bans of clippy.toml: name the one lint"));
    }
    for (paths, why) in BANNED {
        if paths.iter().any(|banned| inside(banned, &path)) {
            return Some(format!("{path}: {why}"));
        }
    }
    let imported = matches!(mention.how, How::Imported | How::Everything);
    if let Some(krate) = OUTSIDE.iter().find(|krate| inside(krate, &path)) {
        // One word alone may be a variable.
        let is_path = imported || path.contains("::");
        return is_path.then(|| format!("{path}: {krate} has no place behind the walls"));
    }
    // Under another name, or by its last segments, what is banned would not be seen again.
    let all = BANNED.iter().flat_map(|(paths, _)| *paths).chain(&OUTSIDE);
    let hides = |banned: &&&str| inside(&path, banned);
    let hidden = all.into_iter().find(hides).filter(|_| imported)?;
    Some(format!("{path} also holds {hidden}: import what is needed by name"))
}

fn standard(path: &str) -> String {
    let root = path.split("::").next().unwrap_or_default();
    match root {
        "core" | "alloc" => format!("std{}", &path[root.len()..]),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::assert_clean;

    fn found_in(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        check(&[source]).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn the_tree_keeps_behind_its_walls() {
        assert_clean(check_tree());
    }

    #[test]
    fn a_breach_is_found_wherever_it_is_planted() {
        for code in [
            "use std::fs;",
            "use std::{collections::BTreeMap, fs::File};",
            "fn f() { let x = std::env::var(\"X\"); }",
            "fn f(at: std::time::Instant) {}",
            "use std::time; fn f() { time::Instant::now(); }",
            "use std as rust;",
            "use std::sync::{self, Arc};",
            "use std::*;",
            "use core::sync::atomic::AtomicU64;",
            "fn f() { assert!(std::thread::current().name().is_none()); }",
            "macro_rules! m { () => { std::process::exit(1) } }",
            "fn f() { println!(\"x\"); }",
            "fn f() { std::eprintln!(\"x\"); }",
            "use std::println as say;",
            "use std::io;",
            "thread_local! { static X: u8 = 0; }",
            "#[allow(clippy::disallowed_methods, reason = \"\")] fn f() {}",
            "#![cfg_attr(unix, expect(clippy::disallowed_types))]",
            "#![allow(clippy::all)]",
            "#[path = \"../../lab/src/host/jobs.rs\"] mod jobs;",
            "fn f() { rayon::join(a, b); }",
            "use crate::host::jobs;",
            "use shallop_store::write_file;",
            "#[cfg(not(test))] use std::net::UdpSocket;",
        ] {
            let findings = found_in("crates/lab/src/run.rs", &format!("//! Runs.\n{code}"));
            assert!(!findings.is_empty(), "{code}");
            assert!(findings[0].starts_with("crates/lab/src/run.rs:2: "), "{findings:?}");
        }
    }

    #[test]
    fn what_is_no_breach_passes() {
        for code in [
            "// std::fs\nuse std::time::Duration; /* std::env */ const A: &str = \"std::net\";",
            "use std::{fmt, io::Write, sync::Arc}; use std::collections::BTreeMap;",
            "fn f(rayon: u8) { let libc = rayon; env!(\"CARGO_PKG_VERSION\"); }",
            "use crate::fs::Instant; use super::path; mod env;",
            "#[cfg(test)] mod tests { use std::fs; fn t() { println!(\"x\"); } }",
            "#[test] fn t() { std::fs::read(\"x\").unwrap(); }",
            "pub use host::jobs; #[allow(clippy::float_cmp, reason = \"\")] fn f() {}",
        ] {
            let findings = found_in("crates/lab/src/run.rs", code);
            assert!(findings.is_empty(), "{findings:?}");
        }
    }

    #[test]
    fn walls_stand_around_pure_code_only() {
        let code = "use std::fs;";
        for path in ["crates/core/src/a/b.rs", "crates/sim/src/lib.rs", "crates/lab/src/hosts.rs"] {
            assert_eq!(found_in(path, code).len(), 1, "{path}");
        }
        for path in [
            "crates/lab/src/host.rs",
            "crates/lab/src/host/jobs.rs",
            "crates/store/src/files.rs",
            "crates/shallop/src/main.rs",
            "crates/proto/tests/pair.rs",
            "crates/core/src/notes.md",
        ] {
            assert!(found_in(path, code).is_empty(), "{path}");
        }
        assert_eq!(found_in("crates/core/clippy.toml", "").len(), 1);
        assert!(found_in("crates/store/clippy.toml", "").is_empty());
        assert_eq!(found_in("crates/core/src/lib.rs", "fn {").len(), 1);
    }

    #[test]
    fn a_module_of_tests_in_a_file_of_its_own_is_free() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let breach = "use std::fs;";
        let tree = |declaration| {
            [
                source("crates/sim/src/world.rs", declaration),
                source("crates/sim/src/world/tests.rs", breach),
                source("crates/sim/src/world/tests/more.rs", breach),
                source("crates/sim/src/tests.rs", breach),
            ]
        };
        assert_eq!(check(&tree("#[cfg(test)] mod tests;")).len(), 1, "the last is another module");
        assert_eq!(check(&tree("mod tests;")).len(), 3);
    }
}
