//! Files that git must not hold: binaries, and files above 300 KB. Build products (libraries, wheels, commands) and
//! generated data make a repository grow unnoticed.

use crate::tree::{Finding, paths, root};
use std::fs;

/// The most bytes of a file in git.
const BYTES: u64 = 300_000;

/// The binary or large files that are wanted, each with the reason. An entry without such a file is a finding.
const WANTED: [(&str, &str); 7] = [
    ("crates/linux/tests/tapes/bbr.tape", "a rehearsal that tests replay"),
    ("crates/linux/tests/tapes/cubic.tape", "a rehearsal that tests replay"),
    ("crates/shallop/tests/it/hostile/scenario.toml.gz", "input that the command refuses"),
    ("crates/shallop/tests/it/hostile/utf16.toml", "input that the command refuses"),
    ("crates/view/vendor/vega-embed.min.js.gz", "built into reports; see SHA256SUMS beside it"),
    ("crates/view/vendor/vega-lite.min.js.gz", "built into reports; see SHA256SUMS beside it"),
    ("crates/view/vendor/vega.min.js.gz", "built into reports; see SHA256SUMS beside it"),
];

pub fn check_tree() -> Result<Vec<Finding>, String> {
    let root = root();
    let mut found = Vec::new();
    for path in paths()? {
        let at = root.join(&path);
        // A tracked file that does not exist is being removed; the target of a link has a path of its own.
        let Ok(about) = fs::symlink_metadata(&at) else { continue };
        if about.is_file() {
            let bytes = fs::read(&at).map_err(|why| format!("{path}: {why}"))?;
            found.extend(objection(&bytes).map(|what| (path, what)));
        }
    }
    Ok(check(&found, &WANTED))
}

/// Why these contents may not be in the repository.
fn objection(bytes: &[u8]) -> Option<String> {
    let length = bytes.len() as u64;
    if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
        return Some(format!("is binary ({length} bytes)"));
    }
    (length > BYTES).then(|| format!("has {length} bytes, more than {BYTES}"))
}

/// Findings: files that are not wanted, and wanted files that do not exist.
fn check(found: &[(String, String)], wanted: &[(&str, &str)]) -> Vec<Finding> {
    let is_wanted = |path: &str| wanted.iter().any(|(name, _)| *name == path);
    let unwanted = found.iter().filter(|(path, _)| !is_wanted(path));
    let unwanted = unwanted.map(|(path, what)| Finding::new(path, 0, &format!("{what}: remove it from git")));
    let exists = |name: &str| found.iter().any(|(path, _)| path == name);
    let gone = wanted.iter().filter(|(name, _)| !exists(name));
    let gone =
        gone.map(|(name, _)| Finding::new(name, 0, "no such binary or large file: remove its entry from files.rs"));
    unwanted.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_decide_what_is_binary_whatever_the_name() {
        assert!(objection(b"\x7fELF\x02\x01\x01\0").unwrap().contains("binary"));
        assert!(objection(b"\x1f\x8b\x08").unwrap().contains("binary"), "gzip is no UTF-8");
        assert_eq!(objection("text with µ\r\n".as_bytes()), None);
        assert_eq!(objection(b""), None);
    }

    #[test]
    fn a_text_above_the_limit_is_found() {
        let text = |length: u64| vec![b'x'; length as usize];
        assert_eq!(objection(&text(BYTES)), None);
        assert!(objection(&text(BYTES + 1)).unwrap().contains("300001 bytes"));
    }

    #[test]
    fn wanted_files_pass_until_they_are_gone() {
        let found = |path: &str| vec![(path.to_owned(), "is binary".to_owned())];
        assert_eq!(check(&found("a.so"), &[]).len(), 1);
        assert_eq!(check(&found("a.so"), &[("a.so", "a reason")]), []);
        assert_eq!(check(&[], &[("a.so", "a reason")]).len(), 1);
    }
}
