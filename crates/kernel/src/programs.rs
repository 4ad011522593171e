//! Programs of this machine that run in hosts: what they are started with, and what they leave behind.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::KernelError;
use shallop_hosts::addresses;

/// The folder, among those of a run's kernels, that gets what programs write: a folder each, by number.
const KEPT: &str = "kept";
/// The name in that folder of the link to the scenario's folder.
const SCENARIO: &str = "scenario";

/// A program in a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its number.
    pub number: u32,
    /// The host, by its number among all hosts of kernels.
    pub host: u32,
    /// When it starts, in guest nanoseconds.
    pub start: u64,
    /// The name of its folder of work.
    pub folder: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// The programs of a run.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// All of them.
    pub all: Vec<Program>,
    /// The names of the hosts, in the order of their numbers.
    pub names: Vec<String>,
    /// The controller that programs of a host have by default.
    pub congestion: BTreeMap<u32, String>,
    /// The folder that programs see as `/scenario`.
    pub scenario: PathBuf,
    /// The number of the program that has the console, if there is one.
    pub shell: Option<u32>,
}

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub number: u32,
    /// When, in guest nanoseconds.
    pub at: u64,
    /// Its exit status; 128 and the signal if one ended it; `None` if it was still running at the end of the run.
    pub status: Option<u32>,
}

impl Programs {
    /// The orders to the kernel with these hosts.
    #[must_use]
    pub fn orders(&self, hosts: &[u32]) -> String {
        let mut text = String::new();
        for (card, &host) in hosts.iter().enumerate() {
            let of_host = self.all.iter().filter(|program| program.host == host);
            if let Some(name) = self.names.get(host as usize) {
                let _ = writeln!(text, "name {card} {name}");
            }
            if let Some(controller) = self.congestion.get(&host) {
                let _ = writeln!(text, "congestion {card} {controller}");
            }
            for Program { number, start, folder, .. } in of_host {
                if self.shell == Some(*number) {
                    // The console's card is after those of hosts.
                    let _ =
                        writeln!(text, "console {} {start}\nshell {card} {number}", hosts.len());
                }
                let _ = writeln!(text, "program {card} {number} {start} {folder}");
            }
        }
        text
    }

    /// The files that the agent of the kernel with these hosts finds: the arguments of each program, with a zero after
    /// each, and the names of all hosts in the form of `/etc/hosts`.
    #[must_use]
    pub fn files(&self, hosts: &[u32]) -> Vec<(String, Vec<u8>)> {
        let here = self.all.iter().filter(|program| hosts.contains(&program.host));
        let arguments = here.map(|program| {
            let words = program.command.iter().flat_map(|word| word.bytes().chain([0]));
            (format!("program.{}", program.number), words.collect())
        });
        let mut names = "127.0.0.1 localhost\n".to_owned();
        for (host, name) in self.names.iter().enumerate() {
            let _ =
                writeln!(names, "{} {name}", Ipv4Addr::from_bits(addresses::address(host as u32)));
        }
        arguments.chain([("names".to_owned(), names.into_bytes())]).collect()
    }

    /// Makes the places that programs write to, in the folder of the run's kernels.
    ///
    /// # Errors
    /// If they cannot be made.
    pub fn prepare(&self, folder: &Path) -> Result<(), KernelError> {
        let io = KernelError::io("a folder for programs");
        let all = || {
            for program in &self.all {
                fs::create_dir_all(folder.join(KEPT).join(program.number.to_string()))?;
            }
            symlink(fs::canonicalize(&self.scenario)?, folder.join(SCENARIO))
        };
        if self.all.is_empty() { Ok(()) } else { all().map_err(io) }
    }
}

/// How the programs of these kernels have ended, as their logs say, in the order of their numbers.
#[must_use]
pub fn ended(logs: &[String]) -> Vec<Ended> {
    let lines = logs.iter().flat_map(|log| log.lines());
    let mut all: Vec<Ended> = lines.filter_map(end_of).collect();
    all.sort_by_key(|ended| ended.number);
    all
}

fn end_of(line: &str) -> Option<Ended> {
    let words = line.strip_prefix("program ")?;
    let value = |name: &str| {
        words.split_whitespace().filter_map(|word| word.split_once('=')).find(|(of, _)| *of == name)
    };
    let (number, at) = (value("number")?.1.parse().ok()?, value("ended")?.1.parse().ok()?);
    Some(Ended { number, at, status: value("status").and_then(|(_, status)| status.parse().ok()) })
}

/// Moves what programs have written to a folder, which appears whole or not at all. Programs are named there by
/// `name`.
///
/// # Errors
/// If it cannot be written.
pub fn keep(
    folder: &Path,
    programs: &[Program],
    name: impl Fn(&Program) -> String,
    to: &Path,
) -> std::io::Result<()> {
    let draft = to.with_extension("files-draft");
    for old in [to, &draft] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir_all(&draft)?;
    for program in programs {
        let from = folder.join(KEPT).join(program.number.to_string());
        copy(&from, &draft.join(name(program)))?;
    }
    fs::rename(&draft, to)
}

/// Copies a folder with its files; what is neither is left out.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// What a program has written to its standard error, or output, as far as it is text.
#[must_use]
pub fn output(folder: &Path, number: u32, stream: &str) -> String {
    let path = folder.join(KEPT).join(number.to_string()).join(stream);
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    fn two() -> Programs {
        let program = |number, host, command: &[&str]| Program {
            number,
            host,
            start: 1_000,
            folder: format!("of-{number}"),
            command: command.iter().map(|&word| word.to_owned()).collect(),
        };
        Programs {
            all: vec![program(0, 0, &["echo", "a b", ""]), program(1, 1, &["true"])],
            names: vec!["left".to_owned(), "right".to_owned()],
            congestion: BTreeMap::from([(1, "bbr".to_owned())]),
            scenario: std::env::temp_dir(),
            shell: Some(1),
        }
    }

    #[test]
    fn a_kernel_is_told_of_its_own_programs_with_their_words_as_they_are() {
        let programs = two();
        assert_eq!(programs.orders(&[0]), "name 0 left\nprogram 0 0 1000 of-0\n");
        let of_one =
            "name 0 right\ncongestion 0 bbr\nconsole 1 1000\nshell 0 1\nprogram 0 1 1000 of-1\n";
        assert_eq!(programs.orders(&[1]), of_one);
        let files = programs.files(&[0]);
        assert_eq!(files[0], ("program.0".to_owned(), b"echo\0a b\0\0".to_vec()));
        let names = String::from_utf8(files[1].1.clone()).unwrap();
        assert_eq!(names, "127.0.0.1 localhost\n10.0.0.1 left\n10.0.0.2 right\n");
    }

    #[test]
    fn logs_say_how_programs_ended() {
        let logs = ["program number=1 ended=7 killed=1\n", "x\nprogram number=0 ended=5 status=3"];
        let ended = ended(&logs.map(str::to_owned));
        assert_eq!(ended[0], Ended { number: 0, at: 5, status: Some(3) });
        assert_eq!(ended[1], Ended { number: 1, at: 7, status: None });
    }

    #[test]
    fn what_programs_wrote_replaces_what_an_earlier_run_left() {
        let (programs, folder) = (two(), tempfile::tempdir().unwrap());
        programs.prepare(folder.path()).unwrap();
        let inner = folder.path().join("kept/0/inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), "new").unwrap();
        let to = folder.path().join("run.files");
        fs::create_dir_all(to.join("old")).unwrap();
        keep(folder.path(), &programs.all, |program| program.folder.clone(), &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("of-0/inner/file")).unwrap(), "new");
        assert!(!to.join("old").exists() && to.join("of-1").is_dir());
    }
}
