//! The tree that the checks read: the text files that git tracks, and findings in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

/// Folders at the root with generated files, which are skipped if git is not available.
const MADE: [&str; 4] = [".git", ".venv", "results", "target"];

/// A text file of the tree that is checked.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path from the root of the workspace, with `/`.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The extension of the name; empty if it has none.
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |parts| parts.1)
    }
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    /// The line of the violation; zero for the whole file.
    line: usize,
    what: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, what: &str) -> Self {
        Self { path: path.to_owned(), line, what: what.to_owned() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// The root of the workspace in which cargo runs this crate. A binary built in one clone can check another.
pub fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR");
    let here = PathBuf::from(here.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned()));
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// The target folder of cargo.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// The standard output of a cargo command in the root.
pub fn cargo(arguments: &[&str]) -> Result<Vec<u8>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let called = format!("cargo {}", arguments.join(" "));
    let output = Command::new(cargo).args(arguments).current_dir(root()).output();
    let output = output.map_err(|why| format!("{called} could not be started: {why}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{called}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The sorted paths of all tracked files. Without git, the paths of all files that are not generated.
pub fn paths() -> Result<Vec<String>, String> {
    let root = root();
    let mut paths = match tracked(&root) {
        Some(paths) => paths,
        None => walk(&root, "").map_err(|why| format!("{}: {why}", root.display()))?,
    };
    paths.sort();
    Ok(paths)
}

/// The text files of the tree.
pub fn sources() -> Result<Vec<Source>, String> {
    let (root, paths) = (root(), paths()?);
    let read = |path: String| {
        // Binary files are skipped, and tracked files that do not exist are being removed.
        let text = fs::read_to_string(root.join(&path)).ok()?;
        Some(Source { path, text })
    };
    let sources: Vec<_> = paths.into_iter().filter_map(read).collect();
    if sources.iter().any(|source| source.path == "Cargo.toml") {
        return Ok(sources);
    }
    Err(format!("{}: holds no Cargo.toml, so it is not the workspace", root.display()))
}

/// The files that git tracks. Another user may own the clone, as in a container; listing files is safe in any case.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let git = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let names = String::from_utf8(git.stdout).ok()?;
    let paths: Vec<String> = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (!paths.is_empty()).then_some(paths)
}

/// Writes a file, unless it has this text already.
pub fn write(path: &str, text: &str) -> Result<(), String> {
    let file = root().join(path);
    if fs::read_to_string(&file).is_ok_and(|found| found == text) {
        return Ok(());
    }
    fs::write(&file, text).map_err(|why| format!("{path}: {why}"))?;
    crate::gate::say(&format!("wrote {path}"));
    Ok(())
}

fn walk(root: &Path, folder: &str) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_dir() {
            if !MADE.contains(&path.as_str()) {
                paths.extend(walk(root, &path)?);
            }
        } else {
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_without_git_holds_all_that_is_tracked() {
        let root = root();
        let walked = walk(&root, "").unwrap();
        let Some(tracked) = tracked(&root) else { return };
        let missing = |path: &&String| root.join(path).is_file() && !walked.contains(path);
        assert_eq!(tracked.iter().find(missing), None);
        assert!(tracked.contains(&"xtask/src/tree.rs".to_owned()));
    }

    #[test]
    fn a_folder_outside_any_clone_has_nothing_tracked() {
        assert_eq!(tracked(tempfile::tempdir().unwrap().path()), None);
    }
}
