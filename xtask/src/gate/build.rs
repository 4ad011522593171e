//! The one compile: cargo builds test executables with Clippy as the compiler of the workspace's crates, so that lints,
//! tests, the command and experiments share one set of artifacts.

use super::{child::without_cargos_variables, machine::Machine};
use crate::tree::root;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Integration tests that run alone after the compile, by package and target; an empty package stands for any. They
/// measure wall-clock time, look at namespaces, programs and devices of the whole machine, or start a command other
/// than `shallop`, which cargo may link after the test.
const ALONE: [(&str, &str); 4] =
    [("", "machine"), ("shallop-quic", "it"), ("shallop-transfer", "it"), ("shallop-aimd", "aimd")];

/// Which test executables are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Unit tests of libraries and commands.
    Unit,
    /// All tests, and the command that tests call.
    Integration,
    Command,
}

#[derive(Clone, Debug)]
pub struct Test {
    pub package: String,
    /// The name of the target, such as "it".
    pub target: String,
    pub is_unit: bool,
    pub executable: PathBuf,
    /// The folder of the package, in which cargo runs its tests.
    pub folder: PathBuf,
}

impl Test {
    pub fn is_alone(&self) -> bool {
        let is_it = |(package, target): &(&str, &str)| {
            (package.is_empty() || *package == self.package) && *target == self.target
        };
        !self.is_unit && ALONE.iter().any(is_it)
    }

    /// Whether the test starts the command, which cargo may link after the test.
    pub fn needs_command(&self) -> bool {
        !self.is_unit && self.package == "shallop"
    }

    pub fn name(&self) -> String {
        if self.is_unit { format!("{} (unit)", self.package) } else { format!("{} {}", self.package, self.target) }
    }
}

/// A product of the compile that the gate runs.
pub enum Artifact {
    Test(Test),
    Command(PathBuf),
}

/// Cargo, with Clippy as the compiler of the workspace's crates and warnings as errors. Cargo tracks both variables: a
/// change of either compiles these crates again, and a crate with a warning is compiled again each time.
pub fn cargo() -> Result<Command, String> {
    let mut rustc = Command::new("rustc");
    let sysroot = rustc.args(["--print", "sysroot"]).output();
    let sysroot = sysroot.map_err(|why| format!("rustc could not be started: {why}"))?.stdout;
    let sysroot = String::from_utf8_lossy(&sysroot).trim().to_owned();
    let driver = Path::new(&sysroot).join("bin/clippy-driver");
    if !driver.exists() {
        return Err(format!("{}: missing (rustup component add clippy)", driver.display()));
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
    cargo.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    cargo.current_dir(root()).stdin(Stdio::null());
    Ok(cargo)
}

/// Compiles, and calls `each` with every artifact as soon as it exists.
pub fn stream(selection: Selection, machine: &Machine, each: &mut dyn FnMut(Artifact)) -> Result<(), String> {
    let mut cargo = cargo()?;
    // Always the whole workspace: a build of fewer packages would compile dependencies with other features.
    let targets: &[&str] = match selection {
        Selection::Unit => &["test", "--no-run", "--lib", "--bins"],
        Selection::Integration => &["test", "--no-run", "--tests"],
        Selection::Command => &["build", "--bin", "shallop"],
    };
    cargo.args(targets).args(["--workspace", "--locked", "--features", machine.features()]);
    cargo.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped());
    let mut child =
        without_cargos_variables(&mut cargo).spawn().map_err(|why| format!("cargo could not be started: {why}"))?;
    let out = child.stdout.take().ok_or("cargo has no output")?;
    for line in BufReader::new(out).lines() {
        let line = line.map_err(|why| format!("the output of cargo: {why}"))?;
        let Some(artifact) = serde_json::from_str(&line).ok().and_then(|value| artifact(&value)) else {
            continue;
        };
        let is_seen = matches!(&artifact, Artifact::Test(test) if test.is_unit);
        if selection == Selection::Unit || !is_seen {
            each(artifact);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the workspace does not compile without errors and warnings".to_owned()),
        Err(why) => Err(format!("cargo: {why}")),
    }
}

fn artifact(message: &Value) -> Option<Artifact> {
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let executable = PathBuf::from(message["executable"].as_str()?);
    let target = &message["target"];
    let name = target["name"].as_str()?.to_owned();
    let kind = target["kind"][0].as_str()?;
    if message["profile"]["test"] != true {
        return (kind == "bin" && name == "shallop").then_some(Artifact::Command(executable));
    }
    // `--lib` also compiles libraries with `test = false`: a derive macro, whose executable needs rustc's libraries.
    if target["test"] == false {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    // Names of packages: `path+file:///a/crates/core#shallop-core@0.1.0`, or without the name if the folder has it.
    let id = message["package_id"].as_str()?;
    let (place, fragment) = id.rsplit_once('#')?;
    let package = match fragment.split_once('@') {
        Some((package, _)) => package,
        None => place.rsplit('/').next()?,
    };
    Some(Artifact::Test(Test {
        package: package.to_owned(),
        target: name,
        is_unit: kind != "test",
        executable,
        folder,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(id: &str, kind: &str, name: &str, test: bool) -> Value {
        json!({
            "reason": "compiler-artifact", "package_id": id, "manifest_path": "/a/crates/measure/Cargo.toml",
            "target": {"kind": [kind], "name": name}, "profile": {"test": test}, "executable": "/t/deps/it-1",
        })
    }

    #[test]
    fn a_test_executable_is_found_with_its_package_and_folder() {
        let found = artifact(&message("path+file:///a/crates/measure#shallop-measure@0.1.0", "test", "it", true));
        let Some(Artifact::Test(test)) = found else { panic!("no test") };
        assert_eq!((test.name().as_str(), test.is_alone()), ("shallop-measure it", false));
        assert_eq!(test.folder, Path::new("/a/crates/measure"));
        let found = artifact(&message("path+file:///a/xtask#0.1.0", "bin", "xtask", true));
        assert!(matches!(found, Some(Artifact::Test(test)) if test.name() == "xtask (unit)"));
        let id = "path+file:///a/crates/kernel#shallop-kernel@0.1.0";
        let found = artifact(&message(id, "test", "machine", true));
        assert!(matches!(found, Some(Artifact::Test(test)) if test.is_alone()));
    }

    #[test]
    fn the_command_is_no_test_and_libraries_are_nothing_to_run() {
        let id = "path+file:///a/crates/shallop#0.1.0";
        assert!(matches!(artifact(&message(id, "bin", "shallop", false)), Some(Artifact::Command(_))));
        assert!(artifact(&message(id, "bin", "xtask", false)).is_none());
        let mut without_tests = message(id, "bin", "shallop", false);
        without_tests["target"]["test"] = json!(false);
        assert!(matches!(artifact(&without_tests), Some(Artifact::Command(_))));
        let mut untested = message(id, "proc-macro", "shallop_options_derive", true);
        untested["target"]["test"] = json!(false);
        assert!(artifact(&untested).is_none());
        let mut library = message(id, "lib", "shallop", false);
        library["executable"].take();
        assert!(artifact(&library).is_none());
    }
}
