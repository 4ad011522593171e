//! Programs of this machine in the hosts of a rehearsal. Each runs in namespaces of its own beside that of its host's
//! network: of processes, so that all it starts ends with it, of mounts, so that names of hosts are in its /etc/hosts,
//! and of the host's name. It ends with the run, and with this process however that ends ([`lifeline`]).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shallop_hosts::{addresses, lifeline};
use shallop_plan::ResolvedRun;
use shallop_results::summary::ProgramOfRun;

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::realtime;

/// How often is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(2);
/// Makes the namespaces of a program. `$1` is the text [`START`], the rest its arguments. `sh` becomes `unshare`, so
/// that its number `$$` is that of `unshare`, which waits for the first process of the new namespace of processes. That
/// runs [`START`], and is killed when `unshare` ends.
const APART: &str = r#"
exec unshare --mount --uts --pid --fork --kill-child=KILL sh -c "$1" sh "$$" "$@""#;
/// Starts a program, as the first process of its namespaces. `$1` is the number of `unshare`, `$2` this text, `$3` the
/// text of /etc/hosts, `$4` the name of the host, and the rest the program with its arguments. Line by line:
///
/// 1. `unshare` may have ended before this process was to be killed with it. Then nobody would end this process: if
///    `unshare` is gone, or is a zombie (Z, X), it ends by itself. /proc is still that of the machine here.
/// 2. /proc shows the processes of the new namespace. The file with the names of hosts is made in memory, at /run, ...
/// 3. ... becomes /etc/hosts, and stays that when /run is as before again. The host has its name.
/// 4. /sys shows the interfaces of the host. Where the machine does not allow that, it stays that of the machine.
/// 5. A program that is not there is told as such; otherwise the shell would say so in its own name.
/// 6. The program takes the place of this shell.
const START: &str = r#"
read -r _ _ state _ < "/proc/$1/stat" && test "$state" != Z && test "$state" != X && shift 2 || exit 1
mount -t proc proc /proc && mount -t tmpfs shallop /run && printf %s "$1" > /run/hosts &&
mount --bind /run/hosts /etc/hosts && umount -l /run && hostname "$2" && shift 2 || exit 1
mount -t sysfs sysfs /sys 2> /dev/null
command -v -- "$1" > /dev/null || { echo "shallop: there is no program $1" >&2; exit 127; }
exec "$@""#;
/// What gives a program a folder in memory, if nothing that it writes is kept.
const IN_MEMORY: &str = r#"mount -t tmpfs shallop /mnt && cd /mnt && exec "$@""#;

/// A program in a host.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The index of its group.
    pub(crate) group: usize,
    /// The number of its host.
    pub(crate) host: u32,
    /// When it starts, in nanoseconds of the run.
    pub(crate) start: u64,
    /// The name of its folder.
    pub(crate) folder: String,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// Whether it has the terminal of this process, and the run ends with it.
    pub(crate) is_shell: bool,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// When, in the time of the run.
    pub(crate) at: Duration,
    /// Its exit status, or 128 and the signal that ended it.
    pub(crate) status: u32,
}

/// What the programs of a run have in common.
pub(crate) struct Stage<'a> {
    pub(crate) hosts: &'a [Host],
    /// The names of hosts, by number.
    pub(crate) names: &'a [String],
    /// The folder with a folder for each program, if what programs write is kept.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) start: &'a OnceLock<Instant>,
    pub(crate) stop: &'a AtomicBool,
    /// Set when a shell has ended.
    pub(crate) is_over: &'a AtomicBool,
}

impl Stage<'_> {
    /// Runs a program from its start to its end, or to that of the run; then there is no status.
    pub(crate) fn run(&self, program: &Program) -> Result<Option<Ended>, RehearsalError> {
        let due = Duration::from_nanos(program.start);
        while self.start.get().is_none_or(|start| start.elapsed() < due) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(LOOK.min(due));
        }
        let begun = self.begin(program);
        let what = format!("the program {}", program.words.join(" "));
        let ended = begun.and_then(|child| self.watch(child)).map_err(failed(what));
        if program.is_shell {
            self.is_over.store(true, Ordering::Relaxed);
        }
        ended
    }

    fn begin(&self, program: &Program) -> io::Result<Child> {
        let Some(host) = self.hosts.get(program.host as usize) else {
            return Err(io::Error::other("no such host"));
        };
        namespace::enter(&host.namespace)?;
        realtime::keep_off();
        let mut command = command(self.names, &self.names[program.host as usize]);
        if program.is_shell {
            command.args(&program.words);
            return command.spawn();
        }
        command.stdin(Stdio::null());
        if let Some(folder) = self.folder {
            let folder = folder.join(&program.folder);
            fs::create_dir_all(&folder)?;
            command.stdout(File::create(folder.join("stdout"))?);
            command.stderr(File::create(folder.join("stderr"))?);
            command.current_dir(folder);
        } else {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.args(["sh", "-c", IN_MEMORY, "sh"]);
        }
        command.args(&program.words);
        command.spawn()
    }

    fn watch(&self, mut child: Child) -> io::Result<Option<Ended>> {
        loop {
            if let Some(status) = child.try_wait()? {
                let at = self.start.get().map_or(Duration::ZERO, Instant::elapsed);
                return Ok(Some(Ended { at, status: number(status) }));
            }
            if self.stop.load(Ordering::Relaxed) {
                // It may have ended this moment.
                let _ = child.kill();
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The text of /etc/hosts in each host, whose names these are, by number.
fn names_text(names: &[String]) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (number, name) in (0..).zip(names) {
        let v4 = Ipv4Addr::from_bits(addresses::address(number));
        let v6 = Ipv6Addr::from_bits(addresses::address_v6(number));
        // A text takes everything.
        let _ = writeln!(text, "{v4} {name}\n{v6} {name}");
    }
    text
}

/// The command to which a program is added that is to run in the host with this name, in the network namespace of this
/// thread. `names` are those of all hosts, by number.
pub(crate) fn command(names: &[String], host: &str) -> Command {
    let words = lifeline::words(std::process::id());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["sh", "-c", APART, "sh", START]);
    command.arg(names_text(names)).arg(host);
    command
}

/// The status of a program as a shell tells it.
pub(crate) fn number(status: ExitStatus) -> u32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(255).unsigned_abs()
}

/// What results say of a program.
pub(crate) fn told(
    setup: &ResolvedRun<'_>,
    names: &[String],
    program: &Program,
    end: Option<Ended>,
) -> ProgramOfRun {
    ProgramOfRun {
        group: setup.plan.groups[program.group].name.clone(),
        host: names[program.host as usize].clone(),
        command: program.words.clone(),
        ended_s: end.map(|end| end.at.as_secs_f64()),
        status: end.map(|end| u64::from(end.status)),
        files: program.folder.clone(),
    }
}
