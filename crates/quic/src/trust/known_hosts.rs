//! Hosts whose fingerprints are known, in a text file: `HOST:PORT FINGERPRINT` a line.
//!
//! Empty lines and those that start with `#` say nothing. Hosts are the same in either case; an IPv6 address has
//! brackets around it.

use crate::trust::identity::{Fingerprint, FingerprintError};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Bytes of the file, at most.
const MAX_FILE: u64 = 16 << 20;

/// What is wrong with known hosts.
#[derive(Debug, Error)]
pub enum KnownHostsError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not understood.
    #[error("{}:{line}: {reason}", path.display())]
    Malformed {
        /// Of which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// What was to be the name of a host is none.
    #[error("{0:?} is not HOST:PORT")]
    Name(String),
    /// The host is known by another fingerprint.
    #[error("{host} is known by another fingerprint, {known}")]
    Changed {
        /// Which one.
        host: String,
        /// The one it is known by.
        known: Fingerprint,
    },
}

/// What is known of a host that shows a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It is known by this fingerprint.
    Known,
    /// It is not known.
    Unknown,
    /// It is known by another fingerprint, this one.
    Changed(Fingerprint),
}

/// Hosts whose fingerprints are known.
#[derive(Clone, Debug)]
pub struct KnownHosts {
    path: PathBuf,
    hosts: BTreeMap<String, Fingerprint>,
}

impl KnownHosts {
    /// Reads a file; when it is not there, no host is known.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or a line is not understood.
    pub fn load(path: &Path) -> Result<KnownHosts, KnownHostsError> {
        let text =
            read(path).map_err(|source| KnownHostsError::File { path: path.to_owned(), source })?;
        let mut hosts = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (host, fingerprint) = entry(line).map_err(|reason| KnownHostsError::Malformed {
                path: path.to_owned(),
                line: number,
                reason,
            })?;
            if hosts.insert(host, fingerprint).is_some_and(|before| before != fingerprint) {
                let reason = "the host is there before, with another fingerprint".to_owned();
                return Err(KnownHostsError::Malformed {
                    path: path.to_owned(),
                    line: number,
                    reason,
                });
            }
        }
        Ok(KnownHosts { path: path.to_owned(), hosts })
    }

    /// What is known of a host, `HOST:PORT`, that shows a fingerprint.
    #[must_use]
    pub fn check(&self, host: &str, fingerprint: Fingerprint) -> Check {
        match self.fingerprint(host) {
            Some(known) if known == fingerprint => Check::Known,
            Some(known) => Check::Changed(known),
            None => Check::Unknown,
        }
    }

    /// The fingerprint that a host, `HOST:PORT`, is known by.
    #[must_use]
    pub fn fingerprint(&self, host: &str) -> Option<Fingerprint> {
        self.hosts.get(&host.to_lowercase()).copied()
    }

    /// Adds a host, `HOST:PORT`, to the file, which is made if need be.
    ///
    /// # Errors
    ///
    /// When it is known by another fingerprint, is not `HOST:PORT`, or the file cannot be written.
    pub fn add(&mut self, host: &str, fingerprint: Fingerprint) -> Result<(), KnownHostsError> {
        let host = name(host).ok_or_else(|| KnownHostsError::Name(host.to_owned()))?;
        match self.check(&host, fingerprint) {
            Check::Known => return Ok(()),
            Check::Changed(known) => return Err(KnownHostsError::Changed { host, known }),
            Check::Unknown => {}
        }
        append(&self.path, &format!("{host} {fingerprint}\n"))
            .map_err(|source| KnownHostsError::File { path: self.path.clone(), source })?;
        self.hosts.insert(host, fingerprint);
        Ok(())
    }
}

fn entry(line: &str) -> Result<(String, Fingerprint), String> {
    let mut words = line.split_whitespace();
    let (Some(host), Some(fingerprint), None) = (words.next(), words.next(), words.next()) else {
        return Err("a line is HOST:PORT FINGERPRINT".to_owned());
    };
    let host = name(host).ok_or_else(|| format!("{host:?} is not HOST:PORT"))?;
    Ok((host, fingerprint.parse().map_err(|why: FingerprintError| why.to_string())?))
}

/// The name that a host goes by here.
fn name(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let odd = |it: char| it.is_whitespace() || it.is_control() || matches!(it, '#' | '[' | ']');
    let fine = match bare {
        Some(address) => !address.is_empty() && !address.contains(odd),
        None => !host.is_empty() && !host.contains(|it| odd(it) || it == ':'),
    };
    let digits = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    let real = port.parse::<u16>().is_ok_and(|port| port != 0);
    (fine && digits && real).then(|| text.to_lowercase())
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => file.take(MAX_FILE + 1).read_to_string(&mut text)?,
        Err(why) if why.kind() == io::ErrorKind::NotFound => 0,
        Err(why) => return Err(why),
    };
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    Ok(text)
}

/// Adds a line in one write, so that lines of processes at the same time do not mix.
fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // Someone's editor may have left the last line without its end.
    let whole = read(path)?;
    let before = if whole.is_empty() || whole.ends_with('\n') { "" } else { "\n" };
    let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{before}{line}").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{Check, KnownHosts, KnownHostsError};
    use crate::trust::identity::{Fingerprint, Identity};
    use proptest::prelude::proptest;

    fn fingerprint() -> Fingerprint {
        Identity::make().unwrap().fingerprint()
    }

    #[test]
    fn hosts_are_known_once_they_are_added() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/known");
        let (first, second) = (fingerprint(), fingerprint());
        let mut known = KnownHosts::load(&path).unwrap();
        assert_eq!(known.check("a.example:4433", first), Check::Unknown);
        known.add("A.example:4433", first).unwrap();
        known.add("a.example:4433", first).unwrap();
        known.add("[fe80::1]:4433", second).unwrap();
        for known in [&known, &KnownHosts::load(&path).unwrap()] {
            assert_eq!(known.check("a.Example:4433", first), Check::Known);
            assert_eq!(known.check("a.example:4433", second), Check::Changed(first));
            assert_eq!(known.check("a.example:4434", first), Check::Unknown);
            assert_eq!(known.check("[FE80::1]:4433", second), Check::Known);
        }
        let text = format!("a.example:4433 {first}\n[fe80::1]:4433 {second}\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let why = known.add("a.example:4433", second).unwrap_err();
        assert!(matches!(why, KnownHostsError::Changed { known, .. } if known == first));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn lines_that_are_not_understood_are_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("known");
        let (first, second) = (fingerprint(), fingerprint());
        std::fs::write(&path, format!("# who\n\n  a:1   {first}  \na:1 {first}\nb:1 {second}"))
            .unwrap();
        let mut known = KnownHosts::load(&path).unwrap();
        assert_eq!(known.check("b:1", second), Check::Known);
        known.add("c:1", first).unwrap();
        assert_eq!(KnownHosts::load(&path).unwrap().check("c:1", first), Check::Known);
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
            assert!(
                matches!(known.add(name, fingerprint()), Err(KnownHostsError::Name(_))),
                "{name:?}"
            );
        }
        assert!(!place.path().join("known").exists());
    }

    proptest! {
        #[test]
        fn no_text_makes_loading_panic(text in "[ab:# \\[\\]0-9\n-]{0,60}") {
            let place = tempfile::tempdir().unwrap();
            std::fs::write(place.path().join("known"), text).unwrap();
            let _ = KnownHosts::load(&place.path().join("known"));
        }
    }
}
