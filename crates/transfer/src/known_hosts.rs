//! The file of known hosts: one line `HOST:PORT FINGERPRINT` for each host.
//!
//! Empty lines and lines that begin with `#` are ignored. Host names are compared without regard to case; an IPv6
//! address is in brackets.

use shallop_quic::identity::{Fingerprint, FingerprintError};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The longest file of known hosts that is read, bytes.
const MAX_FILE: u64 = 16 << 20;

#[derive(Debug, Error)]
pub enum KnownHostsError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}:{line}: {reason}", path.display())]
    Malformed {
        path: PathBuf,
        /// The number of the line in the file, from 1.
        line: usize,
        reason: String,
    },
    #[error("{0:?} is not HOST:PORT")]
    Name(String),
    #[error("{host} is known by another fingerprint, {known}")]
    Changed { host: String, known: Fingerprint },
}

/// The hosts of a file of known hosts, with their fingerprints.
#[derive(Clone, Debug)]
pub struct KnownHosts {
    path: PathBuf,
    hosts: BTreeMap<String, Fingerprint>,
}

impl KnownHosts {
    /// Reads a file of known hosts. A file that does not exist has no hosts.
    ///
    /// # Errors
    /// The file cannot be read, a line is malformed, or two lines give one host different fingerprints.
    pub fn load(path: &Path) -> Result<KnownHosts, KnownHostsError> {
        let text = match File::open(path) {
            Ok(file) => read(file),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(why) => Err(why),
        };
        let text = text.map_err(|source| KnownHostsError::File { path: path.to_owned(), source })?;
        Ok(KnownHosts { path: path.to_owned(), hosts: parse(path, &text)? })
    }

    /// Looks up the fingerprint of a host, given as `HOST:PORT`.
    pub fn fingerprint(&self, host: &str) -> Option<Fingerprint> {
        self.hosts.get(&host.to_lowercase()).copied()
    }

    /// Adds a host, given as `HOST:PORT`, to the file, and creates the file if needed. The file is locked and read
    /// again before the line is written, so that two processes never add one host with different fingerprints.
    ///
    /// # Errors
    /// The host has another fingerprint in the file, `host` is not `HOST:PORT`, or the file cannot be written.
    pub fn add(&mut self, host: &str, fingerprint: Fingerprint) -> Result<(), KnownHostsError> {
        let host = normalize(host).ok_or_else(|| KnownHostsError::Name(host.to_owned()))?;
        let at_file = |source| KnownHostsError::File { path: self.path.clone(), source };
        let mut file = open_for_append(&self.path).map_err(at_file)?;
        file.lock().map_err(at_file)?;
        let text = read(&file).map_err(at_file)?;
        self.hosts = parse(&self.path, &text)?;
        match self.hosts.insert(host.clone(), fingerprint) {
            Some(known) if known == fingerprint => return Ok(()),
            Some(known) => {
                self.hosts.insert(host.clone(), known);
                return Err(KnownHostsError::Changed { host, known });
            }
            None => {}
        }
        // An editor may have left the last line without a line end.
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let line = format!("{line_end}{host} {fingerprint}\n");
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(at_file)
    }
}

fn parse(path: &Path, text: &str) -> Result<BTreeMap<String, Fingerprint>, KnownHostsError> {
    let mut hosts = BTreeMap::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let malformed = |reason| KnownHostsError::Malformed { path: path.to_owned(), line, reason };
        let (host, fingerprint) = parse_line(content).map_err(malformed)?;
        if hosts.insert(host, fingerprint).is_some_and(|before| before != fingerprint) {
            let reason = "the host is there before, with another fingerprint".to_owned();
            return Err(malformed(reason));
        }
    }
    Ok(hosts)
}

fn parse_line(line: &str) -> Result<(String, Fingerprint), String> {
    let mut words = line.split_whitespace();
    let (Some(host), Some(fingerprint), None) = (words.next(), words.next(), words.next()) else {
        return Err("a line is HOST:PORT FINGERPRINT".to_owned());
    };
    let host = normalize(host).ok_or_else(|| format!("{host:?} is not HOST:PORT"))?;
    Ok((host, fingerprint.parse().map_err(|why: FingerprintError| why.to_string())?))
}

/// Checks that a text is `HOST:PORT` and converts it to lower case.
fn normalize(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_bad = |of: char| of.is_whitespace() || of.is_control() || matches!(of, '#' | '[' | ']');
    let is_host = match address {
        Some(address) => !address.is_empty() && !address.contains(is_bad),
        None => !host.is_empty() && !host.contains(|of| is_bad(of) || of == ':'),
    };
    let is_digits = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    let is_port = is_digits && port.parse::<u16>().is_ok_and(|port| port != 0);
    (is_host && is_port).then(|| text.to_lowercase())
}

fn read(file: impl Read) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    Ok(text)
}

fn open_for_append(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    File::options().read(true).append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::{KnownHosts, KnownHostsError};
    use proptest::prelude::{prop_assert_eq, proptest};
    use shallop_quic::identity::{Fingerprint, Identity};

    fn fingerprint() -> Fingerprint {
        Identity::make().unwrap().fingerprint()
    }

    #[test]
    fn added_hosts_are_known_under_any_case() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/known");
        let (first, second) = (fingerprint(), fingerprint());
        let mut known = KnownHosts::load(&path).unwrap();
        assert_eq!(known.fingerprint("a.example:4433"), None);
        known.add("A.example:4433", first).unwrap();
        known.add("a.example:4433", first).unwrap();
        known.add("[fe80::1]:4433", second).unwrap();
        for known in [&known, &KnownHosts::load(&path).unwrap()] {
            assert_eq!(known.fingerprint("a.Example:4433"), Some(first));
            assert_eq!(known.fingerprint("a.example:4434"), None);
            assert_eq!(known.fingerprint("[FE80::1]:4433"), Some(second));
        }
        let text = format!("a.example:4433 {first}\n[fe80::1]:4433 {second}\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let why = known.add("a.example:4433", second).unwrap_err();
        assert!(matches!(why, KnownHostsError::Changed { known, .. } if known == first));
        assert_eq!(known.fingerprint("a.example:4433"), Some(first));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn processes_that_add_a_host_at_a_time_leave_one_fingerprint() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("known");
        let added = std::thread::scope(|scope| {
            let add = || {
                let mut known = KnownHosts::load(&path).unwrap();
                std::thread::yield_now();
                known.add("host:1", fingerprint()).is_ok()
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(add)).collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(|&added| added).count()
        });
        assert_eq!(added, 1, "the others find the fingerprint of the first");
        assert!(KnownHosts::load(&path).unwrap().fingerprint("host:1").is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn an_error_names_the_malformed_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("known");
        let (first, second) = (fingerprint(), fingerprint());
        std::fs::write(&path, format!("# who\n\n  a:1   {first}  \na:1 {first}\nb:1 {second}")).unwrap();
        let mut known = KnownHosts::load(&path).unwrap();
        assert_eq!(known.fingerprint("b:1"), Some(second));
        known.add("c:1", first).unwrap();
        assert_eq!(KnownHosts::load(&path).unwrap().fingerprint("c:1"), Some(first));
        let bad = [
            "a:1".to_owned(),
            format!("a {first}"),
            format!("a:0 {first}"),
            format!("a:99999 {first}"),
            format!("fe80::1:4433 {first}"),
            format!("[]:1 {first}"),
            format!("b:1 {first} more"),
            "b:1 0011".to_owned(),
            format!("a:1 {second}"),
        ];
        for line in bad {
            std::fs::write(&path, format!("a:1 {first}\n# x\n{line}\nc:1 {first}\n")).unwrap();
            match KnownHosts::load(&path) {
                Err(KnownHostsError::Malformed { line: 3, .. }) => {}
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn names_that_would_break_the_file_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let mut known = KnownHosts::load(&place.path().join("known")).unwrap();
        for name in ["a", "a:", ":1", "a b:1", "a\n:1", "#a:1", "a:+1", "a:1\n", "[a:1", "a]:1"] {
            let added = known.add(name, fingerprint());
            assert!(matches!(added, Err(KnownHostsError::Name(_))), "{name:?}");
        }
        assert!(!place.path().join("known").exists());
    }

    proptest! {
        #[test]
        fn a_text_without_fingerprints_loads_if_it_has_only_comments(text in "[ab:# \\[\\]0-9\n-]{0,60}") {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("known");
            std::fs::write(&path, &text).unwrap();
            let is_comment = |line: &str| line.trim().is_empty() || line.trim().starts_with('#');
            prop_assert_eq!(KnownHosts::load(&path).is_ok(), text.lines().all(is_comment));
        }
    }
}
