//! Two network namespaces with a veth pair between them. They have no names, so the kernel removes them when the last
//! process that uses them ends.

use nix::sched::{CloneFlags, setns, unshare};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::thread::scope;
use std::{fs::File, io};

/// The addresses of both ends.
pub const ADDRESSES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];
const INTERFACE: &str = "cable";

/// Two connected network namespaces.
pub struct Pair([OwnedFd; 2]);

impl Pair {
    /// Makes both namespaces and the veth pair.
    ///
    /// # Errors
    /// If the system does not allow namespaces, or `ip` fails.
    pub fn new() -> io::Result<Self> {
        let all = [namespace()?, namespace()?];
        let pair = Self(all);
        let other = format!("/proc/{}/fd/{}", std::process::id(), pair.0[1].as_raw_fd());
        let veth = format!("link add {INTERFACE} type veth peer name {INTERFACE} netns {other}");
        pair.within(0, || ip(&veth))?;
        for (number, address) in ADDRESSES.iter().enumerate() {
            pair.within(number, || {
                ip(&format!("address add {address}/24 dev {INTERFACE}"))?;
                ip(&format!("link set {INTERFACE} up"))
            })?;
        }
        Ok(pair)
    }

    /// Starts a program in one of the namespaces.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(&self, number: usize, command: &mut Command) -> io::Result<Child> {
        self.within(number, || command.spawn())
    }

    /// Runs a function in one of the namespaces.
    fn within<T: Send>(&self, number: usize, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        apart(|| {
            setns(&self.0[number], CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
}

/// Runs a function on a new thread, because a network namespace belongs to a thread.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    scope(|threads| threads.spawn(work).join()).unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
}

fn namespace() -> io::Result<OwnedFd> {
    apart(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
    })
}

fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("'ip {arguments}' failed"))) }
}
