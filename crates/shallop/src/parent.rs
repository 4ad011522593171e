//! `--end-with-stdin`: the command ends when standard input does, so that no run outlives the program that started it,
//! however that program ended.

/// Ends the process when standard input ends. Finished runs are kept; nothing more is written, since nobody is left to
/// read it, and the folder of results is free at once.
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        // An input that cannot be read has ended.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(130);
    });
}
