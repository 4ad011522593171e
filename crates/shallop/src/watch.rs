//! `watch` of controllers and proxies: prints a table again and again.

use crate::exit_codes::INTERRUPTED;
use clap::Args;
use shallop_workbench::diagnostic::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io::IsTerminal, process::ExitCode};

/// The control sequence that clears a terminal.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

#[derive(Debug, Args)]
pub struct WatchOptions {
    /// Print a line of JSON for each row
    #[arg(long)]
    pub json: bool,
    /// Print the table once, without repeating it
    #[arg(long)]
    once: bool,
    /// The time between two updates, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    every: Duration,
}

/// Calls `show` at intervals, with a prefix for the table that clears the terminal, until `stop` is set.
pub fn watch(options: &WatchOptions, stop: &AtomicBool, show: impl Fn(&str) -> Result<()>) -> Result<ExitCode> {
    let clear = if std::io::stdout().is_terminal() && !options.once { CLEAR } else { "" };
    loop {
        show(clear)?;
        if options.once {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::park_timeout(options.every);
        if stop.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
}

/// Parses an interval in seconds.
fn interval(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3_600.0).contains(seconds));
    let seconds = seconds.ok_or("expected seconds from 0.05 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_in_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "-1", "nan", "1e9", "1s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
