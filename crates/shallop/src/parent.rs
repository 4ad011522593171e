//! `--end-with-stdin`: ends the command when standard input ends. So no run outlives the program that started it, even
//! if that program is killed.

use crate::exit_codes::INTERRUPTED;
use shallop_workbench::diagnostic::{Report, Result, plain};
use std::io;

/// Starts a thread that ends the process when standard input ends. Finished runs are kept, nothing more is written, and
/// the lock on the results folder is released.
///
/// # Errors
/// The system has no thread left.
pub fn end_with_stdin() -> Result<()> {
    let end = || {
        // A read error counts as the end of input.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(INTERRUPTED.into());
    };
    std::thread::Builder::new().spawn(end).map(drop).map_err(|why| no_thread(&why))
}

/// The error of a command for which the system has no thread left.
pub fn no_thread(why: &io::Error) -> Report {
    plain(&format!("the system has no thread left for this command: {why}"))
}
