//! `--end-with-stdin`: the command ends when standard input ends, so that no run outlives the program that started it,
//! also when that program is killed.

/// Ends the process when standard input ends. Finished runs are kept, nothing more is written, and the lock on the
/// folder of results is released.
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        // An input that cannot be read has ended.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(130);
    });
}
