//! User namespaces for rehearsals of ordinary users: in its own user namespace a process has root's rights over the
//! network namespaces that it makes, and over nothing else (`user_namespaces(7)`).

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Moves this process, which must have one thread, to a new user namespace, unless it is root. Nothing changes where
/// that is forbidden; making a host then fails with the reason.
///
/// # Errors
/// If the new namespace cannot be used.
pub fn enter() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() || unshare(CloneFlags::CLONE_NEWUSER).is_err() {
        return Ok(());
    }
    // The kernel lets ordinary users map a group only without setgroups(2).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Moves this process, which must have one thread, to the user namespace of another process of this user.
///
/// # Errors
/// If the process does not exist, or belongs to another user.
pub fn join(process: u32) -> io::Result<()> {
    let theirs = format!("/proc/{process}/ns/user");
    if fs::read_link(&theirs)? == fs::read_link("/proc/self/ns/user")? {
        return Ok(());
    }
    Ok(setns(File::open(theirs)?, CloneFlags::CLONE_NEWUSER)?)
}

/// The reason why this process may not make network namespaces: a sysctl, or its parent.
pub(crate) fn denied() -> String {
    let value = |name: &str| fs::read_to_string(path_of(name)).ok().map(|text| text.trim().to_owned());
    let forbidding = [
        ("user.max_user_namespaces", "0"),
        ("user.max_net_namespaces", "0"),
        ("kernel.unprivileged_userns_clone", "0"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
    ];
    let found = forbidding.iter().find(|(name, bad)| value(name).as_deref() == Some(bad));
    let why = found.map_or_else(
        || "the parent of this process forbids them (a container, or seccomp)".to_owned(),
        |(name, bad)| format!("the sysctl {name} = {bad} forbids them to ordinary users"),
    );
    format!("no network namespace can be made here: {why}; root is not bound by it")
}

/// The file of a sysctl, such as `net.ipv4.tcp_timestamps`.
pub(crate) fn path_of(sysctl: &str) -> PathBuf {
    Path::new("/proc/sys").join(sysctl.replace('.', "/"))
}
