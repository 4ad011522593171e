//! Experiments in their quick form: six in the gate, all in the full check.

use super::build::{self, Artifact, Selection};
use super::{child, machine::Machine, say};
use crate::tree::{root, target};
use crate::{records::State, runs};
use std::{path::PathBuf, process::Command};

/// The first experiment: the headline figure of `FlashPass`, with seven transports.
pub const FIRST: &str = "fp-fig10a";
/// One experiment of each other publication (Gemini, BCC on shared memory, Aeolus with `ExpressPass`, CLEAN), and one
/// of queue disciplines.
pub const REST: [&str; 5] = ["gm-fig3.9", "bc-fig4", "ae-fig2", "cl-fig5", "x-aqm"];

/// Runs every experiment in its quick form, with the command that was compiled for tests, and the quick forms of the
/// example scenarios. Fails if a record is missing or of other results. With `chosen`, runs those experiments alone.
pub fn all(chosen: &[&str]) -> Result<bool, String> {
    let out = target().join("gate/quick");
    let command = std::env::var_os("SHALLOP").map_or_else(command, |built| Ok(built.into()))?;
    let mut shallop = Command::new(&command);
    shallop.arg("reproduce").args(if chosen.is_empty() { &["all"] } else { chosen });
    shallop.args(["--quick", "--out"]).arg(&out).current_dir(root());
    let status = child::without_cargos_variables(&mut shallop).status();
    let done = status.map_err(|why| format!("shallop could not be started: {why}"))?.success();
    let mut stale = crate::records::stale(&out)?;
    stale.retain(|(id, _)| chosen.is_empty() || chosen.contains(&id.as_str()));
    for (id, state) in &stale {
        say(&format!("{id}: {}", state.words()));
    }
    let pages = runs::stale(&command, &target().join("gate/pages"))?;
    for stale in &pages {
        say(&format!("{stale}: pages show figures of a record with other results (make records)"));
    }
    Ok(done && pages.is_empty() && stale.iter().all(|(_, state)| *state == State::Unknown))
}

/// The command that tests call.
fn command() -> Result<PathBuf, String> {
    let mut found = None;
    build::stream(Selection::Command, &Machine::look(), &mut |artifact| {
        if let Artifact::Command(path) = artifact {
            found = Some(path);
        }
    })?;
    found.ok_or_else(|| "cargo built no command".to_owned())
}
