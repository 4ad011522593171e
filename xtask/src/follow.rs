//! Follows docs/add-a-controller.md literally: adds its files and lines to a copy of the tree, and runs the checks and
//! tests that the page names there.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::page;
use crate::tree::{root, target};

const PAGE: &str = "docs/add-a-controller.md";

/// The cargo commands that a contributor's change must pass.
const RUNS: [&[&str]; 5] = [
    &["fmt", "--all", "--check"],
    &["clippy", "--locked", "--package=shallop-control", "--all-targets", "--", "-Dwarnings"],
    &["test", "--locked", "--package=shallop-control", "--test=it", "options"],
    &["test", "--locked", "--package=shallop-proto", "--test=it", "--", "tcp_aimd", "tcp_random"],
    &["test", "--locked", "--package=shallop-scenario", "--lib"],
];

pub fn follow() -> Result<(), String> {
    let target = target().join("page");
    let copy = target.join("tree");
    copy_tree(&root(), &copy)?;
    let read = |path: &str| fs::read_to_string(copy.join(path)).ok();
    for block in page::read(&read(PAGE).ok_or_else(|| format!("{PAGE} is gone"))?)? {
        let text = page::apply(&block, read(&block.path).as_deref())?;
        fs::write(copy.join(&block.path), text).map_err(|why| format!("{}: {why}", block.path))?;
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for run in RUNS {
        let mut command = Command::new(&cargo);
        command.args(run).current_dir(&copy).env("CARGO_TARGET_DIR", target.join("target"));
        // The variable would make the copy's tests look at this tree.
        command.env_remove("CARGO_MANIFEST_DIR");
        let status =
            command.status().map_err(|why| format!("cargo could not be started: {why}"))?;
        if !status.success() {
            return Err(format!("{PAGE}, followed literally: cargo {} failed", run.join(" ")));
        }
    }
    Ok(())
}

/// Makes a folder hold the files that git tracks, as they are in the working tree, and no other. Symbolic links stay
/// links, and files keep their times, so that cargo compiles only what the page changes.
fn copy_tree(root: &Path, copy: &Path) -> Result<(), String> {
    let failed = |why: std::io::Error| format!("{}: {why}", copy.display());
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(failed)?;
    }
    fs::create_dir_all(copy).map_err(failed)?;
    let pipe = "git -c safe.directory='*' ls-files -z | tar --null --files-from=- --create | tar --extract -C \"$0\"";
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", pipe]).arg(copy).current_dir(root);
    match shell.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the tree cannot be copied: {status}")),
        Err(why) => Err(format!("bash could not be started: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_tracked_files_with_links_and_nothing_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, copy) = (folder.path().join("tree"), folder.path().join("copy"));
        fs::create_dir_all(tree.join("a")).unwrap();
        fs::create_dir_all(copy.join("stale")).unwrap();
        fs::write(tree.join("a/b.rs"), "text").unwrap();
        fs::write(tree.join("untracked"), "text").unwrap();
        std::os::unix::fs::symlink("a", tree.join("link")).unwrap();
        let git = |arguments: &[&str]| {
            assert!(
                Command::new("git").args(arguments).current_dir(&tree).status().unwrap().success()
            );
        };
        git(&["init", "--quiet"]);
        git(&["add", "a", "link"]);
        copy_tree(&tree, &copy).unwrap();
        let there =
            ["a/b.rs", "link/b.rs", "untracked", "stale"].map(|path| copy.join(path).exists());
        assert_eq!(there, [true, true, false, false]);
    }
}
