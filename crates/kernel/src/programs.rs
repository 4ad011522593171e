//! Programs of this machine that run in kernels: the orders to their kernels, and their files.

use crate::{clock::BOOTED, error::KernelError};
use shallop_hosts::{HostFlows, Program, ProgramEnd, addresses};
use std::{fmt::Write as _, fs, os::unix::fs::symlink, path::Path};

/// The name of the folder that has, for each program's number, a folder for the program's files.
const KEPT: &str = "kept";
/// The name of the link to the scenario's folder, in the folder of the kernels of a run.
const SCENARIO: &str = "scenario";

/// The programs of a run, each with its number.
fn numbered(flows: &HostFlows) -> impl Iterator<Item = (u32, &Program)> {
    (0..).zip(&flows.programs)
}

/// Makes the lines of orders about programs for the agent of the kernel with these hosts.
pub fn orders(flows: &HostFlows, hosts: &[u32]) -> String {
    let mut text = String::new();
    // A string takes everything.
    for (card, &host) in hosts.iter().enumerate() {
        if let Some(name) = flows.names.get(host as usize) {
            let _ = writeln!(text, "name {card} {name}");
        }
        if let Some(controller) = flows.program_controllers.get(&host) {
            let _ = writeln!(text, "congestion {card} {controller}");
        }
        for (number, program) in numbered(flows).filter(|(_, program)| program.host == host) {
            let Program { start, group_name: folder, .. } = program;
            if program.is_shell {
                // The card of the console follows the cards of hosts.
                let console = hosts.len();
                let _ = writeln!(text, "console {console} {start}\nshell {card} {number}");
            }
            let _ = writeln!(text, "program {card} {number} {start} {folder}");
        }
    }
    text
}

/// Makes the files for the agent of the kernel with these hosts: the arguments of each program, with a zero byte after
/// each, and the names of all hosts in the form of `/etc/hosts`.
pub fn files(flows: &HostFlows, hosts: &[u32]) -> Vec<(String, Vec<u8>)> {
    let here = numbered(flows).filter(|(_, program)| hosts.contains(&program.host));
    let arguments = here.map(|(number, program)| {
        let words = program.words.iter().flat_map(|word| word.bytes().chain([0]));
        (format!("program.{number}"), words.collect())
    });
    let names = addresses::hosts_file(&flows.names, false);
    arguments.chain([("names".to_owned(), names.into_bytes())]).collect()
}

/// Makes the folders that programs write to, and the link to the folder that they see as `/scenario`, in the folder of
/// the run's kernels.
pub fn prepare(flows: &HostFlows, scenario: &Path, folder: &Path) -> Result<(), KernelError> {
    let make = || {
        for (number, _) in numbered(flows) {
            fs::create_dir_all(folder.join(KEPT).join(number.to_string()))?;
        }
        symlink(fs::canonicalize(scenario)?, folder.join(SCENARIO))
    };
    if flows.programs.is_empty() {
        return Ok(());
    }
    make().map_err(KernelError::io("a folder for programs"))
}

/// The ends of a run's programs, by number, as the logs of kernels report them. Programs that were still running at the
/// end of the run have none.
pub fn ends(flows: &HostFlows, logs: &[String]) -> Vec<Option<ProgramEnd>> {
    let mut ends = vec![None; flows.programs.len()];
    for (number, end) in logs.iter().flat_map(|log| log.lines()).filter_map(end_of) {
        if let Some(place) = ends.get_mut(number) {
            *place = Some(end);
        }
    }
    ends
}

/// The number and the end of a program in a line of a log; `None` unless the program ended by itself.
fn end_of(line: &str) -> Option<(usize, ProgramEnd)> {
    let words = line.strip_prefix("program ")?;
    let value =
        |name: &str| words.split_whitespace().filter_map(|word| word.split_once('=')).find(|(of, _)| *of == name);
    let number = value("number")?.1.parse().ok()?;
    let at: u64 = value("ended")?.1.parse().ok()?;
    let status = value("status")?.1.parse().ok()?;
    Some((number, ProgramEnd { at_s: at.saturating_sub(BOOTED) as f64 / 1e9, status }))
}

/// Moves the files that programs wrote to the folder `to`, which appears whole or not at all.
pub fn keep(folder: &Path, flows: &HostFlows, to: &Path) -> std::io::Result<()> {
    let draft = to.with_extension("files-draft");
    for old in [to, &draft] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir_all(&draft)?;
    for (number, program) in numbered(flows) {
        let from = folder.join(KEPT).join(number.to_string());
        copy(&from, &draft.join(program.folder(&flows.names)))?;
    }
    fs::rename(&draft, to)
}

/// Copies a folder with its files and folders, without devices, sockets and links.
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

/// Reads the output of a program: `stream` is `stdout` or `stderr`.
pub fn output(folder: &Path, number: u32, stream: &str) -> String {
    let path = folder.join(KEPT).join(number.to_string()).join(stream);
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    /// Two hosts with a program each, of which the second is a shell.
    fn two() -> HostFlows {
        let program = |host, words: &[&str]| Program {
            group: 0,
            group_name: format!("of-{host}"),
            host,
            start: 1_000,
            words: words.iter().map(|&word| word.to_owned()).collect(),
            is_shell: host == 1,
        };
        let mut flows = HostFlows::default();
        flows.programs.extend([program(0, &["echo", "a b", ""]), program(1, &["true"])]);
        flows.names.extend(["left", "right"].map(str::to_owned));
        flows.program_controllers.insert(1, "bbr".to_owned());
        flows
    }

    #[test]
    fn a_kernel_gets_the_orders_and_the_arguments_of_its_own_programs() {
        let flows = two();
        assert_eq!(orders(&flows, &[0]), "name 0 left\nprogram 0 0 1000 of-0\n");
        let of_one = "name 0 right\ncongestion 0 bbr\nconsole 1 1000\nshell 0 1\nprogram 0 1 1000 of-1\n";
        assert_eq!(orders(&flows, &[1]), of_one);
        let files = files(&flows, &[0]);
        assert_eq!(files[0], ("program.0".to_owned(), b"echo\0a b\0\0".to_vec()));
        let names = String::from_utf8(files[1].1.clone()).unwrap();
        assert_eq!(names, "127.0.0.1 localhost\n10.0.0.1 left\n10.0.0.2 right\n");
    }

    #[test]
    fn ends_of_programs_are_read_from_logs() {
        let logs = ["program number=1 ended=4000000000 killed=1\n", "x\nprogram number=0 ended=3000000000 status=3"];
        let ends = ends(&two(), &logs.map(str::to_owned));
        assert_eq!(ends, [Some(ProgramEnd { at_s: 2.0, status: 3 }), None]);
    }

    #[test]
    fn kept_files_replace_those_of_an_earlier_run() {
        let (flows, folder) = (two(), tempfile::tempdir().unwrap());
        prepare(&flows, &std::env::temp_dir(), folder.path()).unwrap();
        let inner = folder.path().join("kept/0/inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), "new").unwrap();
        let to = folder.path().join("run.files");
        fs::create_dir_all(to.join("old")).unwrap();
        keep(folder.path(), &flows, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("of-0.left/inner/file")).unwrap(), "new");
        assert!(!to.join("old").exists() && to.join("of-1.right").is_dir());
    }
}
