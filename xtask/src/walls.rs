//! Machines, the simulator and everything from a scenario to its results live behind walls: no files, threads,
//! clocks, environment, sockets or output, so that a run is a function of its scenario and seed, in a browser as on
//! a server. clippy.toml bans all of that by type, function and macro, and the roots of these crates forbid to lift a
//! ban. Clippy must find a planted breach of each kind, and refuse each way to lift a ban.

use crate::tree::{root, sources};
use serde_json::Value;
use std::{env, fs, process::Command};

/// Lines that the bans must find, lines that they must not find, and lines that lift a ban.
const PLANTED: &str = include_str!("breaches.txt");
const FORBID: &str = "#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]";

/// The lines of a module to which clippy objects, each with the lint or error, under the root's bans and the
/// workspace's lints. Another file than the root has the module, so that it could bring in lifted bans.
fn found(planted: &[&str]) -> Vec<(usize, String)> {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let bans = toml::to_string(&manifest["workspace"]["lints"]["clippy"]).unwrap();
    let package = "[package]\nname = \"planted\"\nedition = \"2024\"\n[workspace]\n";
    write("Cargo.toml", &format!("{package}[lints.clippy]\n{bans}"));
    write("src/lib.rs", &format!("{FORBID}\n#[path = \"planted.txt\"]\npub mod planted;"));
    write("src/planted.txt", &planted.join("\n"));
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["clippy", "--offline", "--quiet", "--message-format", "json"])
        .env("CLIPPY_CONF_DIR", root())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found = Vec::new();
    for message in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let message = &message["message"];
        if message["level"] == "error" {
            let code = message["code"]["code"].as_str().unwrap_or_default();
            let spans = message["spans"].as_array().unwrap().iter().filter(|it| it["file_name"] == "src/planted.txt");
            found.extend(spans.map(|it| (it["line_start"].as_u64().unwrap() as usize - 1, code.to_owned())));
        }
    }
    found
}

#[test]
fn clippy_finds_a_planted_breach_of_each_kind_and_no_other() {
    let parts: Vec<Vec<&str>> = PLANTED.split("\n\n").map(|part| part.lines().collect()).collect();
    let [breaches, fine, lifts] = &parts[..] else { panic!("{} parts", parts.len()) };
    let both = [&breaches[..], fine].concat();
    let by_lints = found(&both);
    for (line, code) in both.iter().enumerate() {
        let is_found = by_lints.iter().any(|(at, lint)| *at == line && lint.starts_with("clippy::disallowed_"));
        assert_eq!(is_found, line < breaches.len(), "{code}");
    }
    let refused = found(lifts);
    for (line, code) in lifts.iter().enumerate() {
        assert!(refused.contains(&(line, "E0453".to_owned())), "{code} lifts a ban");
    }
}

/// One file lifts one ban: a program adds its controllers to a list in `control` before the first run.
#[test]
fn the_crates_behind_the_walls_forbid_to_lift_the_bans() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let walled = makefile.lines().find_map(|line| line.strip_prefix("PURE = ")).unwrap().split(' ');
    for name in walled {
        let folder = root().join("crates").join(name);
        let (forbid, rest) = FORBID.split_once(", clippy::disallowed_types").unwrap();
        let listed = format!("\n{forbid}{rest}\n#![deny(clippy::disallowed_types)]\n");
        let listed = if name == "control" { listed } else { format!("\n{FORBID}\n") };
        assert!(fs::read_to_string(folder.join("src/lib.rs")).unwrap().contains(&listed), "{name}");
        for bans in ["clippy.toml", ".clippy.toml"] {
            assert!(!folder.join(bans).exists(), "{name}/{bans} replaces the bans of the root");
        }
    }
    let mut of_control = sources().unwrap();
    of_control.retain(|it| it.path.starts_with("crates/control/src/") && it.text.contains("disallowed_types"));
    let lifted: Vec<_> =
        of_control.iter().map(|it| (it.path.as_str(), it.text.matches("disallowed").count())).collect();
    assert_eq!(lifted, [("crates/control/src/added.rs", 1), ("crates/control/src/lib.rs", 3)]);
}
