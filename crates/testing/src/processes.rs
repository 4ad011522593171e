//! Processes and network namespaces of the machine, by which tests find what a killed run left behind.

use std::{collections::BTreeSet, fs};

/// The process numbers that satisfy `wanted`.
pub fn find(wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|&process| wanted(process)).collect()
}

/// The program and arguments of a process; empty for a process that has ended.
pub fn arguments(process: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    // Each argument ends with a zero byte.
    let words = bytes.split_inclusive(|byte| *byte == 0).map(|word| word.strip_suffix(&[0]));
    words.flatten().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The network namespaces of all processes.
pub fn network_namespaces() -> BTreeSet<String> {
    let links = find(|_| true).into_iter();
    let links = links.filter_map(|process| fs::read_link(format!("/proc/{process}/ns/net")).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}

/// The command lines of processes that run `sleep SECONDS`. Tests start such programs in hosts, to see whether they end
/// with their run.
pub fn sleepers(seconds: &str) -> Vec<String> {
    let all = find(|_| true).into_iter().map(arguments);
    let sleeps = all.filter(|words| words.windows(2).any(|two| two == ["sleep", seconds]));
    sleeps.map(|words| words.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_namespace() {
        assert_eq!(find(|process| process == std::process::id()), [std::process::id()]);
        assert!(std::env::args().eq(arguments(std::process::id())));
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        assert!(network_namespaces().contains(&own.to_string_lossy().into_owned()));
    }

    #[test]
    fn a_sleeper_is_found_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("98764").spawn().unwrap();
        let found = crate::soon(|| sleepers("98764") == ["sleep 98764"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found && sleepers("98764").is_empty());
    }
}
