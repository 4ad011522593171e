//! Two network namespaces with a veth pair between them. They have no names, so the system removes them with the last
//! process that holds them open, however that ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::thread::scope;

use nix::sched::{CloneFlags, setns, unshare};

/// Addresses of both ends, by number.
pub const ADDRESSES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];
const INTERFACE: &str = "cable";

/// The namespaces.
pub struct Pair([OwnedFd; 2]);

impl Pair {
    /// Makes both, and the pair between them.
    ///
    /// # Errors
    /// If the system allows no namespaces, or `ip` fails.
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

    /// Starts a program in one of them.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(&self, number: usize, command: &mut Command) -> io::Result<Child> {
        self.within(number, || command.spawn())
    }

    /// Does something in one of them.
    fn within<T: Send>(
        &self,
        number: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        apart(|| {
            setns(&self.0[number], CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
}

/// A namespace is of a thread: this one ends with what it does.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    scope(|threads| threads.spawn(work).join())
        .unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
}

fn namespace() -> io::Result<OwnedFd> {
    apart(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
    })
}

fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("'ip {arguments}' failed")))
    }
}
