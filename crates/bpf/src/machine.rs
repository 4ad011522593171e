//! What BPF programs require of this machine: type information of its kernel (BTF), capabilities, a BPF file system.

use crate::{BpfError, controller};
use std::{fs, path::Path};

/// The file with the type information (BTF) of the running kernel.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// A member of `bpf_prog_aux` in kernels that skip BPF programs, as its name stands in BTF, between zero bytes.
const OWNED_BY_FIRST: &[u8] = b"\0init_owned\0";
/// The folder in which programs are pinned, so that they outlive the process that loaded them.
pub const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";
const MOUNTS: &str = "/proc/self/mountinfo";
/// The folder in which `ip netns` keeps network namespaces, by name.
const NAMESPACES: &str = "/run/netns";
/// The file that shows the capabilities of this process.
const STATUS: &str = "/proc/self/status";
/// The file with the users of the machine that exist in this process's user namespace.
const USERS: &str = "/proc/self/uid_map";
/// The content of [`USERS`] in the initial user namespace.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// The capabilities that loading a controller takes, with their numbers (linux/capability.h). `CAP_SYS_ADMIN` includes
/// `CAP_BPF` and `CAP_PERFMON`.
const CAPABILITIES: [(&str, u32); 3] = [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const SYS_ADMIN: u32 = 21;

/// Whether the kernel offers its type information (`CONFIG_DEBUG_INFO_BTF`).
pub fn has_btf() -> bool {
    Path::new(BTF).exists()
}

/// Whether this kernel skips BPF controllers while process 1 has the processor, also for packets that an interrupt
/// receives at that time; `ssthresh` then returns whatever was on the stack. No kernel of kernel.org does that. Some
/// hosts of virtual machines run a modified kernel so that programs cannot observe process 1; it records for each
/// program whether process 1 owns it.
pub fn skips_programs() -> bool {
    fs::read(BTF).is_ok_and(|types| has_name(&types, OWNED_BY_FIRST))
}

fn has_name(types: &[u8], name: &[u8]) -> bool {
    types.windows(name.len()).any(|of| of == name)
}

/// The capabilities that this process lacks. Capabilities in a user namespace do not count.
pub fn lacking_capabilities() -> Vec<&'static str> {
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let status = fs::read_to_string(STATUS).unwrap_or_default();
    if users.split_whitespace().eq(ALL_USERS) { lacking(&status) } else { lacking("") }
}

fn lacking(status: &str) -> Vec<&'static str> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|of| u64::from_str_radix(of.trim(), 16).ok()).unwrap_or(0);
    let has = |bit: u32| bits >> bit & 1 == 1;
    let lacks = |&&(name, bit): &&(&str, u32)| !has(bit) && (name == "CAP_NET_ADMIN" || !has(SYS_ADMIN));
    CAPABILITIES.iter().filter(lacks).map(|(name, _)| *name).collect()
}

/// Whether a BPF file system is mounted at [`BPF_FILE_SYSTEM`].
pub fn keeps_programs() -> bool {
    is_mounted(&fs::read_to_string(MOUNTS).unwrap_or_default())
}

fn is_mounted(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.nth(4) == Some(BPF_FILE_SYSTEM) && line.contains(" - bpf ")
    })
}

/// The name of the network namespace if `ip netns exec` runs this process. Such a process has a `/sys` of its own,
/// whose mount has the name of the namespace and vanishes with the command.
pub fn entered_namespace() -> Option<String> {
    let name = name_of_sys(&fs::read_to_string(MOUNTS).unwrap_or_default())?;
    Path::new(NAMESPACES).join(&name).exists().then_some(name)
}

/// The source name of the topmost mount at `/sys`.
fn name_of_sys(mounts: &str) -> Option<String> {
    let of_line = |line: &str| {
        let (before, after) = line.split_once(" - sysfs ")?;
        let is_sys = before.split_whitespace().nth(4) == Some("/sys");
        is_sys.then(|| after.split_whitespace().next().unwrap_or_default().to_owned())
    };
    mounts.lines().rev().find_map(of_line)
}

/// Whether clang is installed, which compiles the programs when the command is built.
pub fn has_clang() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("clang").is_file())
}

/// Checks the requirements that are known before a program is loaded.
///
/// # Errors
/// The missing requirement, and how to meet it.
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
