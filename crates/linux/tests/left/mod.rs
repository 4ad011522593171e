//! What a killed rehearsal may leave on the machine, for the tests of this crate and of the command.

use std::collections::BTreeSet;
use std::fs;

/// The network namespaces of all processes.
pub fn namespaces() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let links = processes.filter_map(|of| fs::read_link(of.path().join("ns/net")).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}

/// The command lines of processes that sleep for so many seconds: programs of hosts, which were to end.
pub fn sleepers(seconds: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|of| fs::read_to_string(of.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&format!("sleep\0{seconds}"))).collect()
}
