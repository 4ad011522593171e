//! A folder with a scenario in it, and the command run there.

#![allow(dead_code, reason = "each test file uses its part")]

#[cfg(unix)]
pub mod script;
#[cfg(target_os = "linux")]
pub mod transfer;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A scenario with four senders behind a link of 1 Gb/s: these lines at the top, a scheme for each transport, and flows
/// without end that start in this interval.
pub fn dumbbell(top: &str, transports: &[&str], start: &str) -> String {
    let scheme = |transport: &&str| format!("[[scheme]]\ntransport = \"{transport}\"\n\n");
    let schemes: String = transports.iter().map(scheme).collect();
    format!(
        "\n{top}\n\n[topology]\nkind = \"dumbbell\"\nsenders = 4\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
         sender_delay = \"0ms..2ms\"\n\n{schemes}[[group]]\nname = \"all\"\nstart = \"{start}\"\n"
    )
}

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

    /// Runs the command in this folder.
    pub fn shallop(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command, which must succeed. Returns its standard error.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.shallop(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    }

    /// Runs the command, which must end with exit code 2, print nothing, and say these words on standard error.
    /// Returns its standard error.
    pub fn refused(&self, arguments: &[&str], words: &[&str]) -> String {
        let output = self.shallop(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for word in words {
            assert!(unwrapped(&said).contains(&unwrapped(word)), "{word} is not in: {said}");
        }
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
        said
    }

    /// Runs the command, which must succeed and print JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.shallop(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn summary(&self, out: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(out).join("summary.json")).unwrap()).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A message without spaces and the marks of broken lines, which depend on the width of the terminal.
pub fn unwrapped(message: &str) -> String {
    message.chars().filter(|&letter| !letter.is_whitespace() && letter != '│').collect()
}

/// A summary without the lines that differ between equal runs.
pub fn timeless(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.contains("\"wall_s\"")).collect::<Vec<_>>().join("\n")
}
