//! Machines, the simulator and everything from a scenario to its results live behind walls: no files, threads,
//! clocks, environment, sockets or output, so that a run is a function of its scenario and seed, in a browser as on
//! a server.
//!
//! clippy.toml bans all of that by type, function and macro; a test has clippy find a planted breach of each kind. What
//! clippy cannot say is checked here: that no crate behind the walls lifts the bans. Test code is free to.

use crate::tokens::{self, Mention, MentionKind};
use crate::tree::{Finding, Source, sources};

/// The source folders of the crates behind the walls.
const WALLED: [&str; 13] = [
    "crates/core/src/", "crates/options/src/", "crates/control/src/", "crates/switch/src/", "crates/proto/src/",
    "crates/topology/src/", "crates/workload/src/", "crates/results/src/", "crates/plan/src/", "crates/scenario/src/",
    "crates/sim/src/", "crates/measure/src/", "crates/view/src/",
];

/// The lints that enforce the bans, and the lint groups that contain them.
const BANS: [&str; 11] = [
    "clippy::disallowed_macros", "clippy::disallowed_methods", "clippy::disallowed_types", "clippy::dbg_macro",
    "clippy::print_stderr", "clippy::print_stdout", "clippy::all", "clippy::restriction", "clippy::style",
    "unsafe_code", "warnings",
];

/// Bans that a file lifts for a reason that it states: a program adds its controllers before the first run.
const LIFTED: [(&str, &str); 1] = [("crates/control/src/added.rs", "clippy::disallowed_types")];

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
    let mut mentioned = Vec::new();
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
                mentioned.push((source, file.mentions));
            }
            Err(why) => findings.push(Finding::new(&source.path, 0, &format!("is no Rust: {why}"))),
        }
    }
    for (source, mentions) in mentioned {
        let is_test = |module: &String| {
            let rest = source.path.strip_prefix(module);
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        if of_tests.iter().any(is_test) {
            continue;
        }
        for mention in &mentions {
            let known = LIFTED.contains(&(source.path.as_str(), mention.path.as_str()));
            if let Some(what) = objection(mention).filter(|_| !known) {
                findings.push(Finding::new(&source.path, mention.line, &what));
            }
        }
    }
    findings
}

fn is_walled(source: &Source) -> bool {
    source.extension() == "rs" && WALLED.iter().any(|wall| source.path.starts_with(wall))
}

/// The folder of the modules a file declares, with a slash at its end.
fn home(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => format!("{folder}/"),
        module => format!("{folder}/{module}/"),
    }
}

/// The reason why a crate behind the walls may not have this mention; `None` if it may.
fn objection(mention: &Mention) -> Option<String> {
    match (mention.kind, mention.path.as_str()) {
        (MentionKind::Attribute, lint) if BANS.contains(&lint) => {
            Some(format!("{lint}: a ban that is lifted is no ban"))
        }
        (MentionKind::Attribute, "path") | (_, "include" | "core::include" | "std::include") => {
            Some(format!("{} brings in a file that may lift bans", mention.path))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::root;
    use serde_json::Value;
    use std::process::Command;
    use std::{env, fs};

    fn found_in(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        check(&[source]).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_ban_that_is_lifted_is_found() {
        for code in [
            "#[allow(clippy::disallowed_methods, reason = \"\")] fn f() {}",
            "#![cfg_attr(unix, expect(clippy::disallowed_types))]",
            "macro_rules! m { () => { #[allow(clippy::disallowed_macros)] fn f() {} }; }",
            "#[cfg(not(test))] #[expect(clippy::print_stdout)] mod m {}",
            "#![allow(clippy::all)]",
            "#![allow(unused, warnings)]",
            "#[path = \"../../workbench/src/jobs.rs\"] mod jobs;",
            "fn f() { include!(\"../../workbench/src/jobs.rs\"); }",
            "use std::include as bring;",
        ] {
            let findings = found_in("crates/measure/src/run.rs", &format!("//! Runs.\n{code}"));
            assert_eq!(findings.len(), 1, "{code}: {findings:?}");
            assert!(findings[0].starts_with("crates/measure/src/run.rs:2: "), "{findings:?}");
        }
    }

    #[test]
    fn code_that_lifts_no_ban_passes() {
        for code in [
            "#[allow(clippy::float_cmp, reason = \"warnings\")] fn f(warnings: u8, path: u8) {}",
            "const A: &str = include_str!(\"a.txt\");",
            "/// #[allow(warnings)]\nfn f() { let all = [clippy::all]; }",
            "#[cfg(test)] mod tests { #![allow(clippy::disallowed_types)] }",
            "#[test] #[allow(clippy::disallowed_methods)] fn t() {}",
        ] {
            let findings = found_in("crates/measure/src/run.rs", code);
            assert!(findings.is_empty(), "{findings:?}");
        }
    }

    #[test]
    fn only_pure_crates_are_checked() {
        let code = "#![allow(clippy::disallowed_types)]";
        for path in ["crates/core/src/a/b.rs", "crates/sim/src/lib.rs"] {
            assert_eq!(found_in(path, code).len(), 1, "{path}");
        }
        for path in ["crates/workbench/src/clock.rs", "crates/proto/tests/it/pair.rs", "crates/core/src/a.md"] {
            assert!(found_in(path, code).is_empty(), "{path}");
        }
        assert_eq!(found_in("crates/core/clippy.toml", "").len(), 1);
        assert!(found_in("crates/store/clippy.toml", "").is_empty());
        assert_eq!(found_in("crates/core/src/lib.rs", "fn {").len(), 1);
    }

    #[test]
    fn a_module_of_tests_in_a_file_of_its_own_is_free() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let breach = "#![allow(warnings)]";
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

    /// Lines that the bans must find.
    const BREACHES: &[&str] = &[
        "use std::fs::File;",
        "pub use std::{collections::BTreeMap, fs::OpenOptions};",
        "pub fn f01() { let _ = std::fs::metadata(\"x\"); }",
        "pub mod m02 { use std::fs::*; pub fn f() { let _ = read(\"x\"); } }",
        "pub fn f03() -> Option<String> { std::env::var(\"X\").ok() }",
        "pub fn f04(_: std::time::Instant) {}",
        "pub mod m05 { use std::time; pub fn f() { let _ = time::SystemTime::now(); } }",
        "pub mod m06 { use std as rust; pub fn f() { rust::process::exit(1) } }",
        "pub fn f07() { let _ = std::time::UNIX_EPOCH.elapsed(); }",
        "pub fn f08() { let _ = core::sync::atomic::AtomicU64::new(0); }",
        "pub static S09: std::sync::Mutex<u8> = std::sync::Mutex::new(0);",
        "pub static S10: std::sync::OnceLock<u8> = std::sync::OnceLock::new();",
        "pub fn f11() { let _ = std::sync::mpsc::channel::<u8>(); }",
        "pub fn f12() { assert!(std::thread::current().name().is_none()); }",
        "macro_rules! m13 { () => { std::process::abort() }; } pub fn f13() { m13!() }",
        "pub fn f14() { println!(\"x\"); }",
        "pub fn f15() { std::eprintln!(\"x\"); }",
        "pub mod m16 { use std::println as say; pub fn f() { say!(\"x\"); } }",
        "pub fn f17() { let _ = std::io::stdout(); }",
        "thread_local! { pub static S18: u8 = const { 0 }; }",
        "pub fn f19(_: std::net::UdpSocket) {}",
        "pub fn f20() { let _ = std::process::Command::new(\"x\"); }",
        "pub fn f21(at: &std::path::Path) -> bool { at.is_relative() }",
        "pub fn f22(_: &std::collections::HashMap<u8, u8>) {}",
        "pub fn f23() { let _ = std::hash::RandomState::new(); }",
        "pub fn f24(x: f64) -> f64 { x.powf(0.5) }",
        "pub fn f25(_: std::rc::Rc<std::cell::RefCell<u8>>) {}",
    ];

    /// Lines that the bans must not find.
    const FINE: &[&str] = &[
        "use std::{fmt::Write as _, io::BufRead, sync::Arc, time::Duration};",
        "pub fn f26(x: f64, _: Arc<Duration>) -> f64 { x.sqrt() }",
        "pub fn f27(text: &mut String) { let _ = write!(text, env!(\"CARGO_PKG_VERSION\")); }",
        "pub fn f28(lines: impl BufRead) -> usize { lines.lines().count() }",
    ];

    /// The lines of a library that clippy objects to under the root's settings and the workspace's lints.
    fn found_by_clippy(lines: &[&str]) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
        let bans = toml::to_string(&manifest["workspace"]["lints"]["clippy"]).unwrap();
        let package = "[package]\nname = \"planted\"\nedition = \"2024\"\n[workspace]\n";
        write("Cargo.toml", &format!("{package}[lints.clippy]\n{bans}"));
        write("src/lib.rs", &lines.join("\n"));
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["clippy", "--offline", "--quiet", "--message-format", "json"])
            .env("CLIPPY_CONF_DIR", root())
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut found = Vec::new();
        for message in messages {
            let message = &message["message"];
            if message["code"]["code"].as_str().is_some_and(|lint| BANS.contains(&lint)) {
                let spans = message["spans"].as_array().unwrap().iter();
                found.extend(spans.filter_map(|span| span["line_start"].as_u64()));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|line| line as usize - 1).collect()
    }

    #[test]
    fn clippy_finds_a_planted_breach_of_each_kind_and_no_other() {
        let all = [BREACHES, FINE].concat();
        let found = found_by_clippy(&all);
        for (line, code) in all.into_iter().enumerate() {
            assert_eq!(found.contains(&line), line < BREACHES.len(), "{code}");
        }
    }
}
