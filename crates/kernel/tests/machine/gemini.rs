//! Gemini in C (`modules/gemini.h`, which the kernel's module includes) against the vectors that the controller of the
//! simulator gives (`modules/gemini.txt`, written by the test of vectors in `tests/it`).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use shallop_testing::{Outcome, programs};

const VECTORS: &str = include_str!("../../modules/gemini.txt");

pub fn gemini_in_c_gives_the_same_numbers() -> Outcome {
    programs(&["cc"])?;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("gemini");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program);
    cc.arg("-I").arg(here.join("modules")).arg(here.join("tests/gemini.c"));
    assert!(cc.status()?.success());
    let mut child = Command::new(program);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(VECTORS.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for (number, (wanted, got)) in VECTORS.lines().zip(said.lines()).enumerate() {
        assert_eq!(got, wanted, "line {}", number + 1);
    }
    assert_eq!(VECTORS.lines().count(), said.lines().count());
    Ok(())
}
