//! Every command on the pages is run, as a reader would type it: blocks of `sh` by bash, in a folder that holds the
//! files which the page shows. What a comment above a block says of it:
//!
//! | | |
//! |---|---|
//! | `<!-- not run: WHY -->` | `NOT_RUN` counts these blocks |
//! | `<!-- shortened: OPTIONS -->` | `run` and `sweep` get these options besides; `reproduce`, if it is `--quick` |
//! | `<!-- fails: CODE -->` | the last command ends with this exit code, not with 0 |
//! | `<!-- output -->` | a block of `text`: what the block of `sh` above it prints, but for the time it took |
//!
//! A block of `toml` or `csv` that begins with a comment `# NAME` is the file NAME. With `UPDATE_DOCS=1` outputs are
//! written instead of compared; `SHALLOP` names another binary than the one that cargo built.

use crate::pages::{Block, blocks, pages, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::{process::Command, sync::Mutex};
use tempfile::TempDir;

/// The number of blocks that are not run. It may fall, and should not rise without need.
const NOT_RUN: usize = 41;

/// A script in place of `shallop`, which adds the options of a shortened block.
const WRAPPER: &str = r#"#!/bin/sh
case "$1 $SHORTENED" in
    "reproduce --quick") [ $# -gt 1 ] && set -- "$@" --quick ;;
    "run "* | "sweep "*) set -- "$@" $SHORTENED ;;
esac
exec "$SHALLOP" "$@"
"#;

fn binary() -> PathBuf {
    let other = std::env::var_os("SHALLOP").map(PathBuf::from);
    let binary = other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_shallop")));
    fs::canonicalize(&binary).unwrap()
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let wrapper = bin.join("shallop");
    fs::write(&wrapper, WRAPPER).unwrap();
    let done = Command::new("chmod").arg("+x").arg(&wrapper).status().unwrap();
    assert!(done.success());
    let examples = folder.path().join("work/examples");
    fs::create_dir_all(&examples).unwrap();
    for file in fs::read_dir(root().join("examples")).unwrap() {
        let file = file.unwrap();
        if file.path().is_file() {
            fs::copy(file.path(), examples.join(file.file_name())).unwrap();
        }
    }
    folder
}

/// Runs a block in the folder. Returns its output, or what is wrong.
fn run(block: &Block, folder: &Path) -> Result<String, String> {
    let at = block.at();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", &block.text])
        .current_dir(folder.join("work"))
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env("SHALLOP", binary())
        .env("SHORTENED", block.note("shortened").unwrap_or_default());
    let output = command.output().map_err(|why| format!("{at}: bash: {why}"))?;
    let expected = block.note("fails").map_or(Ok(0), str::parse::<i32>);
    if output.status.code() != expected.ok() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{at}: exit code {:?}\n{}\n{said}", output.status.code(), block.text));
    }
    let both = [output.stdout, if block.note("fails").is_some() { output.stderr } else { vec![] }];
    String::from_utf8(both.concat()).map_err(|_| format!("{at}: printed no text"))
}

/// A text without what differs between equal runs: the last two columns of a table of runs, and spaces at line ends.
fn timeless(text: &str) -> Vec<String> {
    let timed = text.contains("Mhop/s");
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &&str| word.parse::<f64>().is_ok();
        let row = timed && words.len() > 8 && words.iter().rev().take(2).all(number);
        if row { words[..words.len() - 2].join(" ") } else { words.join(" ") }
    };
    text.trim_end().lines().map(line).collect()
}

/// A changed output on a page: its first line, its number of lines, and the new text.
type Change = (usize, usize, String);

/// Runs the blocks of a page in order. Returns errors, the number of commands, and changed outputs.
fn run_page(page: &str, text: &str) -> (Vec<String>, usize, Vec<Change>) {
    let folder = folder();
    let (mut wrong, mut commands, mut changes) = (Vec::new(), 0, Vec::new());
    let mut printed: Option<String> = None;
    for block in blocks(page, text) {
        match block.kind.as_str() {
            "toml" | "csv" => {
                if let Some(name) = block.file() {
                    fs::write(folder.path().join("work").join(name), &block.text).unwrap();
                }
                if block.kind == "toml"
                    && let Err(why) = block.text.parse::<toml::Table>()
                {
                    wrong.push(format!("{}: no TOML: {why}", block.at()));
                }
            }
            "sh" if block.note("not run").is_some() => {}
            "sh" => {
                commands += block.text.lines().filter(|line| line.starts_with("shallop ")).count();
                match run(&block, folder.path()) {
                    Ok(text) => printed = Some(text).filter(|_| block.note("shortened").is_none()),
                    Err(why) => wrong.push(why),
                }
            }
            "text" => match printed.take().filter(|_| block.note("output").is_some()) {
                None => wrong.push(format!("{}: not the output of a block that was run in full", block.at())),
                Some(printed) if timeless(&printed) != timeless(&block.text) => {
                    changes.push((block.line, block.text.lines().count(), printed));
                }
                Some(_) => {}
            },
            _ => {}
        }
    }
    (wrong, commands, changes)
}

fn rewrite(page: &str, text: &str, changes: &[Change]) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, count, printed) in changes.iter().rev() {
        let printed = printed.trim_end().lines().map(|line| line.trim_end().to_owned());
        lines.splice(*line..line + count, printed);
    }
    fs::write(root().join(page), lines.join("\n") + "\n").unwrap();
}

#[test]
#[ignore = "long: runs every command on the pages"]
fn every_command_on_the_pages_works() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let todo = Mutex::new(pages());
    let found = Mutex::new((Vec::new(), 0));
    let work = || {
        loop {
            let Some((page, text)) = todo.lock().unwrap().pop() else { break };
            let (mut wrong, commands, changes) = run_page(&page, &text);
            if update && !changes.is_empty() {
                rewrite(&page, &text, &changes);
            } else {
                wrong.extend(changes.iter().map(|(line, _, printed)| {
                    format!("{page}:{line}: the output is\n{printed}\nUPDATE_DOCS=1 writes it")
                }));
            }
            let mut found = found.lock().unwrap();
            found.0.extend(wrong);
            found.1 += commands;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (wrong, commands) = found.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(commands >= 20, "only {commands} commands were found");
}

#[test]
fn blocks_that_are_not_run_have_a_reason() {
    let mut not_run = 0;
    let all = pages().into_iter().flat_map(|(page, text)| blocks(&page, &text));
    for block in all {
        if let Some(reason) = block.note("not run") {
            assert!(reason.len() > 10, "{}: no reason", block.at());
            not_run += 1;
        }
        let known = ["not run", "shortened", "fails", "output", "file", "lines"];
        for (note, _) in &block.notes {
            assert!(known.contains(&note.as_str()), "{}: unknown comment {note}", block.at());
        }
        // Commands in other blocks would not be run.
        let is_command =
            |line: &str| ["shallop ", "make ", "cargo "].iter().any(|name| line.trim_start().starts_with(name));
        let may_hold_commands = ["sh", "text"].contains(&block.kind.as_str());
        let is_hidden = !may_hold_commands && block.text.lines().any(is_command);
        assert!(!is_hidden, "{}: a command in a block of \"{}\"", block.at(), block.kind);
    }
    assert_eq!(not_run, NOT_RUN, "blocks that are not run");
}

#[test]
fn only_computing_times_may_differ_in_outputs() {
    let table = |goodput: &str, wall: &str| {
        let header = "scheme Mb/s goodput loss queue KB RTT p99 Jain resent wall s Mhop/s";
        let row = format!("cubic 302.6 {goodput} 2.3 13.0 20.0 15.65 28.79 0.7 1187 {wall} 0.8");
        format!("{header}\n-----\n{row}\n")
    };
    assert_eq!(timeless(&table("294.5", "0.2")), timeless(&table("294.5", "3.1")));
    assert_ne!(timeless(&table("294.5", "0.2")), timeless(&table("294.6", "0.2")));
}
