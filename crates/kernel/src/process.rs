//! The process of a kernel. It ends with the process that started it, however that ends ([`parent_death`]). The
//! kernel's files are in a `Folder`, which is removed as soon as every kernel has opened its files.

use crate::error::KernelError;
use shallop_hosts::parent_death;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A command that runs this program and is killed when the thread that starts it ends.
pub fn dies_with_us(program: &str) -> Command {
    let words = parent_death::command_prefix(std::process::id());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(program);
    command
}

/// How to start a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The path of the kernel as a program (User-Mode Linux).
    pub program: &'a Path,
    /// The path of the library that makes the kernel's random numbers repeatable.
    pub preload: &'a Path,
    /// The folder of the kernel's sockets and its initial file system. Names in `arguments` are relative to it.
    pub folder: &'a Path,
    /// The seed of the kernel's random numbers.
    pub seed: u64,
    /// The command line of the kernel.
    pub arguments: &'a [String],
}

#[derive(Debug)]
pub struct Process {
    child: Child,
    log: File,
}

/// The number of bytes from the end of a kernel's log that an error shows.
const LAST_WORDS: u64 = 2_000;

impl Process {
    /// Starts a kernel.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(launch: &Launch<'_>) -> Result<Self, KernelError> {
        let log = tempfile::tempfile().map_err(KernelError::io("a kernel's log"))?;
        let [out, errors] = [log.try_clone(), log.try_clone()];
        let what = "a kernel's log";
        let mut command = dies_with_us("setarch");
        command.arg("-R").arg(launch.program);
        command.args(launch.arguments).current_dir(launch.folder).env_clear();
        // Keeps glibc from registering restartable sequences, which do not work in the kernel's processes.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", launch.folder);
        command.env("TMPDIR", memory_folder());
        command.env("LD_PRELOAD", launch.preload).env("SHALLOP_SEED", launch.seed.to_string());
        command.stdin(Stdio::null());
        command.stdout(out.map_err(KernelError::io(what))?);
        command.stderr(errors.map_err(KernelError::io(what))?);
        let child = command.spawn().map_err(KernelError::io("setpriv, which starts a kernel"))?;
        Ok(Self { child, log })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The whole log of the kernel.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn log(&mut self) -> Result<String, KernelError> {
        self.log_from(0)
    }

    /// The last bytes of the kernel's log, for an error message.
    pub fn last_words(&mut self) -> String {
        let bytes = self.log.metadata().map_or(0, |about| about.len());
        self.log_from(bytes.saturating_sub(LAST_WORDS)).unwrap_or_default()
    }

    fn log_from(&mut self, start: u64) -> Result<String, KernelError> {
        let mut bytes = Vec::new();
        // The kernel shares the file offset, so it is restored after reading.
        let end = self.log.stream_position().map_err(KernelError::io("a kernel's log"))?;
        let read = self.log.seek(SeekFrom::Start(start)).and_then(|_| self.log.read_to_end(&mut bytes));
        let back = self.log.seek(SeekFrom::Start(end));
        read.and(back.map(|_| 0)).map_err(KernelError::io("a kernel's log"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Processor time of the kernel and its programs, in hundredths of a second. Each address space of a kernel is a
    /// process of its own, in the session that the kernel has made.
    pub fn processor_time(&self) -> Option<u64> {
        let own = time_in_session(self.id(), self.id())?;
        let entries = std::fs::read_dir("/proc").ok()?.flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let others = numbers.filter(|&process| process != self.id());
        Some(own + others.filter_map(|process| time_in_session(process, self.id())).sum::<u64>())
    }

    /// The memory of the kernel in bytes (PSS: memory shared with other kernels counts in part).
    pub fn memory(&self) -> Option<u64> {
        let maps = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.id())).ok()?;
        let line = maps.lines().find(|line| line.starts_with("Pss:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1_024)
    }
}

/// The processor time of a process in hundredths of a second, if the process belongs to this session.
fn time_in_session(process: u32, session: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name of the program: state, parent, group, session; user and system time are words 12 and 13.
    let words: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let number = |word: usize| words.get(word)?.parse::<u64>().ok();
    let belongs = process == session || number(3)? == u64::from(session);
    belongs.then_some(number(11)? + number(12)?)
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder for the files that back the kernels' memory: `/dev/shm` if it exists.
fn memory_folder() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_not_started_for_a_parent_that_has_ended() {
        assert!(dies_with_us("true").status().unwrap().success());
        let words = parent_death::command_prefix(u32::MAX);
        let mut of_another = Command::new(&words[0]);
        assert_eq!(of_another.args(&words[1..]).arg("true").status().unwrap().code(), Some(1));
    }
}
