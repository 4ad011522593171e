//! `--end-with-stdin`: ends the command when standard input ends. So no run outlives the program that started it, even
//! if that program is killed.

use crate::exit_codes::INTERRUPTED;

/// Starts a thread that ends the process when standard input ends. Finished runs are kept, nothing more is written, and
/// the lock on the results folder is released.
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        // A read error counts as the end of input.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(INTERRUPTED.into());
    });
}
