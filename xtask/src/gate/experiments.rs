//! Experiments in their quick form: six in the gate, all in the full check.

use std::path::PathBuf;
use std::process::Command;

use super::build::{self, Artifact, Selection};
use super::child;
use super::machine::Machine;
use super::say;
use crate::figures::runs;
use crate::records::State;
use crate::tree::{root, target};

/// The first experiment: the headline figure of `FlashPass`, with seven transports.
pub const FIRST: &str = "fp-fig10a";
/// One experiment of each other publication (Gemini, BCC on shared memory, Aeolus with `ExpressPass`, CLEAN), and one
/// of queue disciplines.
pub const REST: [&str; 5] = ["gm-fig3.9", "bc-fig4", "ae-fig2", "cl-fig5", "x-aqm"];

/// Runs every experiment in its quick form, with the command that was compiled for tests, and the quick forms of the
/// example scenarios. Fails if a record is missing or of other results.
pub fn all() -> Result<bool, String> {
    let out = target().join("gate/quick");
    let command = command()?;
    let mut shallop = Command::new(&command);
    shallop.args(["reproduce", "all", "--quick", "--out"]).arg(&out).current_dir(root());
    let status = child::without_cargos_variables(&mut shallop).status();
    let done = status.map_err(|why| format!("shallop could not be started: {why}"))?.success();
    let stale = crate::records::stale(&out)?;
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
