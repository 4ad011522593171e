//! Follows docs/add-a-controller.md literally: on a copy of the tree its files are added and its lines put where it
//! says, and then the copy's gates and the tests that the page names are run.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::page;
use crate::tree::{Source, sources, target};

const PAGE: &str = "docs/add-a-controller.md";

/// What is run on the copy: what a contributor's change must pass.
const RUNS: [&[&str]; 5] = [
    &["fmt", "--all", "--check"],
    &["clippy", "--locked", "--package=shallop-control", "--all-targets", "--", "-Dwarnings"],
    &["test", "--locked", "--package=shallop-control", "--test=it", "options"],
    &["test", "--locked", "--package=shallop-proto", "--test=it", "--", "tcp_aimd", "tcp_random"],
    &["test", "--locked", "--package=shallop-scenario", "--lib"],
];

/// Follows the page.
///
/// # Errors
/// What cannot be done as the page says, or does not pass.
pub fn follow() -> Result<(), String> {
    let mut files = sources()?;
    for block in page::read(text(&files, PAGE).ok_or_else(|| format!("{PAGE} is gone"))?)? {
        let text = page::apply(&block, text(&files, &block.path))?;
        files.retain(|file| file.path != block.path);
        files.push(Source { path: block.path, text });
    }
    let target = target().join("page");
    let copy = target.join("tree");
    write(&files, &copy).map_err(|why| format!("{}: {why}", copy.display()))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for run in RUNS {
        let mut command = Command::new(&cargo);
        command.args(run).current_dir(&copy).env("CARGO_TARGET_DIR", target.join("target"));
        // Those of this crate would have the copy's tests look at the wrong tree.
        command.env_remove("CARGO_MANIFEST_DIR");
        let status =
            command.status().map_err(|why| format!("cargo could not be started: {why}"))?;
        if !status.success() {
            return Err(format!("{PAGE}, followed literally: cargo {} failed", run.join(" ")));
        }
    }
    Ok(())
}

fn text<'a>(files: &'a [Source], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

/// Makes a folder hold these files and no other. A file that is as it should be is left alone, so that nothing is
/// compiled anew for it.
fn write(files: &[Source], folder: &Path) -> std::io::Result<()> {
    for file in files {
        let path = folder.join(&file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, &file.text)?;
    }
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner)? {
            let path = entry?.path();
            let known = |file: &Source| folder.join(&file.path) == path;
            if path.is_dir() {
                folders.push(path);
            } else if !files.iter().any(known) {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_what_it_is_told_and_nothing_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let files = |paths: &[&str]| -> Vec<Source> {
            let file = |path: &&str| Source { path: (*path).to_owned(), text: "text".to_owned() };
            paths.iter().map(file).collect()
        };
        write(&files(&["a/b.rs", "c.rs"]), folder.path()).unwrap();
        write(&files(&["a/d.rs", "c.rs"]), folder.path()).unwrap();
        let there = ["a/b.rs", "a/d.rs", "c.rs"].map(|path| folder.path().join(path).exists());
        assert_eq!(there, [false, true, true]);
    }
}
