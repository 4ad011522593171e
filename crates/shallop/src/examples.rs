//! The examples at the end of each `--help`. A test parses every line that begins with `shallop` as a command.

use clap::Command;

/// Below a line `## COMMAND`, the text of each command.
const ALL: &str = include_str!("examples.txt");

/// The text of a command; empty if there is none.
pub fn of(command: &str) -> &'static str {
    let text = ALL.split("## ").find_map(|part| part.strip_prefix(command)?.strip_prefix('\n'));
    text.map_or("", str::trim_end)
}

/// Adds its text to a command.
pub fn add(command: Command) -> Command {
    let text = of(command.get_name());
    command.after_help(text)
}
