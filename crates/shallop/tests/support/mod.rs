//! A folder with a scenario in it, and the command run there.

#![allow(dead_code, reason = "each test file uses its part")]

#[cfg(target_os = "linux")]
pub mod transfer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a scenario in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn with(text: impl AsRef<[u8]>) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("scenario.toml"), text).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Runs the command here, its output piped.
    pub fn shallop(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command, which must succeed; what it said on standard error.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.shallop(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    }

    /// Runs the command, which must succeed; the JSON it printed.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.shallop(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn summary(&self, out: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(out).join("summary.json")).unwrap()).unwrap()
    }

    /// What is in the folder.
    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A summary without what it may differ in from one time to the next.
pub fn timeless(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.contains("\"wall_s\"")).collect::<Vec<_>>().join("\n")
}
