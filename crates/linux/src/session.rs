//! Sessions: further terminals join a rehearsal with a shell, to run programs in its hosts. The rehearsal listens on an
//! abstract socket, `shallop-` and its process number, and sends the list of its hosts. Abstract sockets have no file
//! and end with the process.

use crate::error::{RehearsalError, failed};
use crate::namespace;
use crate::programs::{self, exit_status};
use crate::{realtime, run_clock::RunClock};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, geteuid};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::{os::fd::AsRawFd, os::linux::net::SocketAddrExt};
use std::{process::Child, time::Duration};

/// The start of the names of the sockets on which rehearsals listen.
const NAME: &str = "shallop-";
/// The most processes that are joined at a time.
const MOST_JOINED: usize = 64;
/// The interval of checks whether a program or the session has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Sends the list of hosts to every process that connects, until the run is over. `attached` are the hosts that
/// interfaces of this machine replace.
pub(crate) fn serve(
    hosts: &[namespace::Host], names: &[String], attached: &BTreeMap<u32, String>, clock: RunClock<'_>,
) -> io::Result<()> {
    let lines = (0..).zip(names.iter().zip(hosts)).map(|(number, (name, host))| {
        if attached.contains_key(&number) {
            return format!("- {name}\n");
        }
        let descriptor = host.namespace.as_raw_fd();
        format!("{descriptor} {name}\n")
    });
    let text: String = lines.chain(["\n".to_owned()]).collect();
    let address = SocketAddr::from_abstract_name(format!("{NAME}{}", std::process::id()))?;
    let listener = UnixListener::bind_addr(&address)?;
    listener.set_nonblocking(true)?;
    // The end of the connection tells a joined process that the session is over.
    let mut joined: Vec<UnixStream> = Vec::new();
    while !clock.is_over() {
        match listener.accept() {
            Ok((mut stream, _)) => {
                joined.retain_mut(is_open);
                let may_join = joined.len() < MOST_JOINED && peer(&stream).is_ok_and(|(_, user)| user == geteuid());
                if may_join && stream.write_all(text.as_bytes()).is_ok() {
                    stream.set_nonblocking(true)?;
                    joined.push(stream);
                }
            }
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    Ok(())
}

/// The process and the user at the other end of a connection.
fn peer(stream: &UnixStream) -> nix::Result<(u32, Uid)> {
    let peer = getsockopt(stream, PeerCredentials)?;
    Ok((peer.pid().unsigned_abs(), Uid::from_raw(peer.uid())))
}

/// Whether the other end has not closed a nonblocking connection; it sends nothing.
fn is_open(stream: &mut UnixStream) -> bool {
    stream.read(&mut [0]).is_err_and(|why| why.kind() == ErrorKind::WouldBlock)
}

/// The numbers of processes with a session, in ascending order.
pub fn list() -> Vec<u32> {
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let name = |line: &str| {
        let name = line.split_whitespace().next_back()?.strip_prefix('@')?;
        name.strip_prefix(NAME)?.parse().ok()
    };
    let mut all: Vec<u32> = text.lines().filter_map(name).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[derive(Debug)]
pub struct Session {
    process: u32,
    /// The connection to the rehearsal, which closes when the session ends.
    stream: UnixStream,
    /// The name of each host, and the file descriptor of its namespace in the process. Hosts behind an interface of the
    /// machine have no namespace.
    hosts: Vec<(Option<u32>, String)>,
}

impl Session {
    /// Joins the session of a process.
    ///
    /// # Errors
    /// If the process has no session.
    pub fn join(process: u32) -> Result<Self, RehearsalError> {
        let what = format!("the session of process {process}");
        let read = || -> io::Result<Self> {
            let address = SocketAddr::from_abstract_name(format!("{NAME}{process}"))?;
            let mut stream = UnixStream::connect_addr(&address)?;
            // Any process may listen under this name.
            let (listener, user) = peer(&stream)?;
            if listener != process {
                return Err(io::Error::other("another process listens under its name"));
            }
            if user != geteuid() {
                return Err(io::Error::other(format!("user {user} runs it; only that user may join")));
            }
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            let mut text = String::new();
            let mut byte = [0];
            while !text.ends_with("\n\n") && stream.read(&mut byte)? == 1 {
                text.push(char::from(byte[0]));
            }
            stream.set_nonblocking(true)?;
            let host = |line: &str| {
                let (descriptor, name) = line.split_once(' ')?;
                Some((descriptor.parse().ok(), name.to_owned()))
            };
            Ok(Self { process, stream, hosts: text.lines().filter_map(host).collect() })
        };
        read().map_err(failed(what))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|(_, name)| name.as_str())
    }

    /// Runs a program in a host, with the terminal of this process, until the program or the session ends. Returns the
    /// exit status.
    ///
    /// # Errors
    /// If there is no such host, or the program cannot be started.
    pub fn run(&mut self, host: &str, words: &[String]) -> Result<u32, RehearsalError> {
        let Some((descriptor, _)) = self.hosts.iter().find(|(_, name)| name == host) else {
            let known: Vec<&str> = self.names().collect();
            let known = known.join(", ");
            return Err(RehearsalError::Refused(format!("there is no host \"{host}\"; hosts: {known}")));
        };
        let Some(descriptor) = descriptor else {
            return Err(RehearsalError::Refused(format!("an interface of the machine replaces host \"{host}\"")));
        };
        let file = format!("/proc/{}/fd/{descriptor}", self.process);
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let start = || -> io::Result<Child> {
            namespace::enter(&File::open(&file)?)?;
            realtime::keep_off();
            programs::command(&names, host).args(words).spawn()
        };
        let child = start().map_err(failed(format!("a program in {host}")))?;
        self.watch(child).map_err(failed(format!("a program in {host}")))
    }

    fn watch(&mut self, mut child: Child) -> io::Result<u32> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(exit_status(status));
            }
            if !is_open(&mut self.stream) {
                // The program may have ended meanwhile.
                let _ = child.kill();
                return child.wait().map(exit_status);
            }
            std::thread::sleep(LOOK);
        }
    }
}
