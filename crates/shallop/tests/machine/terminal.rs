//! Output of the command on a terminal: tables that fit, and colours.

use crate::support::{Folder, text};
use shallop_testing::{Outcome, programs};
use std::process::{Command, Stdio};

const SCENARIO: &str = include_str!("../it/hostile/scenario.toml");

/// Runs the command on a terminal made by `script`, and returns the output.
fn on_a_terminal(folder: &Folder, variables: &str, arguments: &str) -> String {
    let command = env!("CARGO_BIN_EXE_shallop");
    let typed = format!("stty cols 90 rows 24; env -u COLUMNS {variables} {command} {arguments}");
    let mut script = Command::new("script");
    script.args(["-qec", &typed, "/dev/null"]).current_dir(folder.path(""));
    script.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    text(&script.stdin(Stdio::null()).output().unwrap().stdout)
}

fn table(printed: &str) -> Vec<&str> {
    let lines = printed.lines().map(|line| line.trim_end_matches('\r'));
    let from = lines.skip_while(|line| !line.starts_with("scheme"));
    // The line below the table says where the longest queue was.
    from.take_while(|line| !line.is_empty() && !line.starts_with("Longest queue")).collect()
}

pub fn tables_fit_the_terminal_and_say_what_is_left_out() -> Outcome {
    programs(&["script", "stty"])?;
    let folder = Folder::with(SCENARIO);
    let printed = on_a_terminal(&folder, "", "run scenario.toml");
    let fitted = table(&printed);
    let end = fitted.iter().position(|line| line.starts_with("Left out")).expect(&printed);
    // The note may take two lines.
    let (rows, note) = (&fitted[..end], fitted[end..].join(" "));
    assert!(note.starts_with("Left out, as the output is 90 columns wide: Mhop/s"), "{printed}");
    assert!(note.ends_with("--wide shows all columns."), "{printed}");
    assert!(rows.len() == 3 && rows.iter().all(|row| row.chars().count() <= 90), "{printed}");
    assert!(!rows[0].contains("Mhop/s") && rows[0].contains("Jain"), "{printed}");
    let printed = on_a_terminal(&folder, "COLUMNS=40", "run scenario.toml");
    assert!(table(&printed).join(" ").contains("40 columns wide"), "{printed}");
    assert!(table(&printed)[..3].iter().all(|row| row.chars().count() <= 40), "{printed}");
    for wide in [
        on_a_terminal(&folder, "", "run scenario.toml --wide"),
        on_a_terminal(&folder, "COLUMNS=300", "run scenario.toml"),
        text(&folder.command(&["run", "scenario.toml"]).env("COLUMNS", "40").output().unwrap().stdout),
    ] {
        assert!(table(&wide)[0].ends_with("Mhop/s") && !wide.contains("Left out"), "{wide}");
    }
    Ok(())
}

pub fn colours_are_for_terminals_that_want_them() -> Outcome {
    programs(&["script", "stty"])?;
    let folder = Folder::with(SCENARIO.replace("100Mbps", "fast"));
    let colours = |variables: &str| on_a_terminal(&folder, variables, "check scenario.toml").contains("\u{1b}[3");
    assert!(colours(""));
    assert!(!colours("NO_COLOR=1"));
    Ok(())
}
