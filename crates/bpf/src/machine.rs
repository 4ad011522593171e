//! What this machine has for programs: type information of its kernel, capabilities, a place where programs stay.

use std::fs;
use std::path::Path;

use crate::{BpfError, controller};

/// The type information of the running kernel.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// What a kernel that leaves programs out has in its `bpf_prog_aux`, between two ends of names.
const OWNED_BY_FIRST: &[u8] = b"\0init_owned\0";
/// Where programs stay when the process that has loaded them ends.
pub const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";
/// What says which folder is of a BPF file system.
const MOUNTS: &str = "/proc/self/mountinfo";
/// Where `ip netns` keeps network namespaces, by name.
const NAMESPACES: &str = "/run/netns";
/// What says which capabilities this process has.
const STATUS: &str = "/proc/self/status";
/// Which users of the machine this process's user namespace has, and what the first one has: all.
const USERS: &str = "/proc/self/uid_map";
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// The capabilities that loading a controller takes, with their numbers (linux/capability.h). `CAP_SYS_ADMIN` has those
/// of `CAP_BPF` and `CAP_PERFMON` in it.
const CAPABILITIES: [(&str, u32); 3] =
    [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const SYS_ADMIN: u32 = 21;

/// Whether the kernel has told the types of its own data (`CONFIG_DEBUG_INFO_BTF`).
#[must_use]
pub fn has_btf() -> bool {
    Path::new(BTF).exists()
}

/// Whether this kernel leaves controllers out while process 1 has the processor, even where an interrupt receives a
/// packet meanwhile: `ssthresh` is then whatever was on the stack. No kernel of kernel.org does that; some hosts of
/// virtual machines have theirs changed, to keep programs from watching process 1. Theirs notes with each program
/// whether process 1 owns it.
#[must_use]
pub fn skips_programs() -> bool {
    fs::read(BTF).is_ok_and(|types| has_name(&types, OWNED_BY_FIRST))
}

fn has_name(types: &[u8], name: &[u8]) -> bool {
    types.windows(name.len()).any(|of| of == name)
}

/// The capabilities that this process lacks for programs. Those of a user namespace do not count.
#[must_use]
pub fn lacking_capabilities() -> Vec<&'static str> {
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let status = fs::read_to_string(STATUS).unwrap_or_default();
    if users.split_whitespace().eq(ALL_USERS) { lacking(&status) } else { lacking("") }
}

fn lacking(status: &str) -> Vec<&'static str> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|of| u64::from_str_radix(of.trim(), 16).ok()).unwrap_or(0);
    let has = |bit: u32| bits >> bit & 1 == 1;
    let lacks =
        |&&(name, bit): &&(&str, u32)| !has(bit) && (name == "CAP_NET_ADMIN" || !has(SYS_ADMIN));
    CAPABILITIES.iter().filter(lacks).map(|(name, _)| *name).collect()
}

/// Whether there is a BPF file system where programs stay.
#[must_use]
pub fn keeps_programs() -> bool {
    is_mounted(&fs::read_to_string(MOUNTS).unwrap_or_default())
}

fn is_mounted(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.nth(4) == Some(BPF_FILE_SYSTEM) && line.contains(" - bpf ")
    })
}

/// The network namespace in which `ip netns exec` runs this process: with a `/sys` of its own, which is called as the
/// namespace and is lost with the command.
#[must_use]
pub fn entered_namespace() -> Option<String> {
    let name = name_of_sys(&fs::read_to_string(MOUNTS).unwrap_or_default())?;
    Path::new(NAMESPACES).join(&name).exists().then_some(name)
}

/// What the uppermost mount at `/sys` is called.
fn name_of_sys(mounts: &str) -> Option<String> {
    let of_line = |line: &str| {
        let (before, after) = line.split_once(" - sysfs ")?;
        let is_sys = before.split_whitespace().nth(4) == Some("/sys");
        is_sys.then(|| after.split_whitespace().next().unwrap_or_default().to_owned())
    };
    mounts.lines().rev().find_map(of_line)
}

/// Whether there is clang, which compiles programs when the command is built.
#[must_use]
pub fn has_clang() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("clang").is_file())
}

/// Checks what can be known of this machine before a program is loaded.
///
/// # Errors
/// What is missing, and how to get it.
pub fn check() -> Result<(), BpfError> {
    if !controller::IS_BUILT {
        return Err(BpfError::NotBuilt);
    }
    if !lacking_capabilities().is_empty() {
        return Err(BpfError::NotAllowed);
    }
    if !has_btf() {
        return Err(BpfError::Lacks(format!(
            "this kernel has no type information in {BTF}, which programs need: CONFIG_DEBUG_INFO_BTF"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_those_in_effect() {
        let of = |bits: &str| lacking(&format!("Name:\tx\nCapPrm:\tffff\nCapEff:\t{bits}\n"));
        assert!(of("000001ffffffffff").is_empty());
        assert_eq!(of("0000000000000000"), ["CAP_NET_ADMIN", "CAP_PERFMON", "CAP_BPF"]);
        assert!(of("0000000000201000").is_empty(), "CAP_SYS_ADMIN and CAP_NET_ADMIN");
        assert_eq!(of("0000008000001000"), ["CAP_PERFMON"]);
        assert_eq!(lacking("").len(), 3);
    }

    #[test]
    fn a_member_is_known_by_its_whole_name() {
        assert!(has_name(b"\0aux\0init_owned\0user\0", OWNED_BY_FIRST));
        assert!(!has_name(b"\0aux\0init_owned_by\0", OWNED_BY_FIRST));
        assert!(!has_name(b"\0aux\0not_init_owned\0", OWNED_BY_FIRST));
    }

    #[test]
    fn a_bpf_file_system_is_one_that_is_mounted_at_its_place() {
        let own = "23 27 0:22 / /sys rw - sysfs sysfs rw\n49 46 0:40 / /sys rw,relatime - sysfs one rw\n\
                   50 49 0:7 / /sys/kernel rw - tmpfs two rw";
        assert_eq!((name_of_sys(own), name_of_sys("")), (Some("one".to_owned()), None));
        let line = "29 23 0:26 / /sys/fs/bpf rw,nosuid shared:10 - bpf bpf rw,mode=700";
        assert!(is_mounted(line));
        for other in [line.replace("/sys/fs/bpf", "/bpf"), line.replace("- bpf", "- tmpfs")] {
            assert!(!is_mounted(&other), "{other}");
        }
    }
}
