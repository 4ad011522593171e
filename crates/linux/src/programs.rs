//! Programs of this machine in the hosts of a rehearsal. Besides the network namespace of its host, each program has
//! its own namespaces: of processes, so that all its children end with it, of mounts, so that its /etc/hosts has the
//! names of hosts, and of the host name. A program ends with the run, and with this process however that ends
//! ([`parent_death`]).

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::{realtime, run_clock::RunClock};
use shallop_hosts::{Program, ProgramEnd, addresses, parent_death};
use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, os::unix::process::ExitStatusExt, path::Path};

/// The interval of checks whether a program has ended.
const LOOK: Duration = Duration::from_millis(2);
/// Shell text that makes the namespaces of a program. `$1` is the text [`START`], the rest are its arguments. The shell
/// replaces itself with `unshare`, so `$$` is the process number of `unshare`. `unshare` waits for the first process of
/// the new process namespace, which runs [`START`] and is killed when `unshare` ends.
const APART: &str = r#"
exec unshare --mount --uts --pid --fork --kill-child=KILL sh -c "$1" sh "$$" "$@""#;
/// Shell text that starts a program as the first process of its namespaces. `$1` is the process number of `unshare`,
/// `$2` this text, `$3` the text of /etc/hosts, `$4` the name of the host, and the rest the program with its arguments.
/// By line:
///
/// 1. Ends if `unshare` is gone or a zombie (Z, X): it may have ended before the kernel was told to kill this process
///    with it. /proc still belongs to the machine here.
/// 2. Mounts /proc of the new namespace, and writes the names of hosts to a file in memory at /run.
/// 3. Binds that file to /etc/hosts, restores /run, and sets the host name.
/// 4. Mounts /sys with the interfaces of the host, where that is allowed.
/// 5. Reports a missing program in the name of shallop, not of the shell.
/// 6. Replaces the shell with the program.
const START: &str = r#"
read -r _ _ state _ < "/proc/$1/stat" && test "$state" != Z && test "$state" != X && shift 2 || exit 1
mount -t proc proc /proc && mount -t tmpfs shallop /run && printf %s "$1" > /run/hosts &&
mount --bind /run/hosts /etc/hosts && umount -l /run && hostname "$2" && shift 2 || exit 1
mount -t sysfs sysfs /sys 2> /dev/null
command -v -- "$1" > /dev/null || { echo "shallop: there is no program $1" >&2; exit 127; }
exec "$@""#;
/// Shell text that gives a program a folder in memory as its working folder, if its files are not kept.
const IN_MEMORY: &str = r#"mount -t tmpfs shallop /mnt && cd /mnt && exec "$@""#;

pub(crate) struct ProgramRunner<'a> {
    pub(crate) hosts: &'a [Host],
    /// The names of hosts, by number.
    pub(crate) names: &'a [String],
    /// The folder that gets a folder for each program, if the files of programs are kept.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) clock: RunClock<'a>,
    /// Set when a shell has ended.
    pub(crate) is_over: &'a AtomicBool,
}

impl ProgramRunner<'_> {
    /// Runs a program until it ends or the run is over. Returns `None` if the run was over first.
    pub(crate) fn run(&self, program: &Program) -> Result<Option<ProgramEnd>, RehearsalError> {
        let due = Duration::from_nanos(program.start);
        while self.clock.elapsed().is_none_or(|elapsed| elapsed < due) {
            if self.clock.is_over() {
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
            let folder = folder.join(program.folder(self.names));
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

    fn watch(&self, mut child: Child) -> io::Result<Option<ProgramEnd>> {
        loop {
            if let Some(status) = child.try_wait()? {
                let at_s = self.clock.elapsed().unwrap_or_default().as_secs_f64();
                return Ok(Some(ProgramEnd { at_s, status: exit_status(status) }));
            }
            if self.clock.is_over() {
                // The program may have ended meanwhile.
                let _ = child.kill();
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The command before a program and its arguments that runs the program in a host, in the network namespace of this
/// thread. `names` are the names of all hosts, by number.
pub(crate) fn command(names: &[String], host: &str) -> Command {
    let words = parent_death::command_prefix(std::process::id());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["sh", "-c", APART, "sh", START]);
    command.arg(addresses::hosts_file(names, true)).arg(host);
    command
}

/// The exit status of a program as in a shell: 128 and the signal if one ended the program.
pub(crate) fn exit_status(status: ExitStatus) -> u32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(255).unsigned_abs()
}
