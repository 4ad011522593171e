//! Executables of tests as processes: children, exit codes and the environment.

mod dialogue;

use shallop_testing::{Outcome, child};
use std::process::Output;

shallop_testing::tests! {
    tests: [
        a_child_runs_instead_of_tests,
        an_unknown_child_is_an_error,
        an_unknown_cause_is_an_error_before_any_test_runs,
        dialogue::cases_that_fail_are_named_with_their_lines,
    ]
    children: [says_hello, fails]
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn says_hello() {
    println!("hello");
}

fn fails() -> Outcome {
    Err(std::io::Error::other("out of luck"))?
}

fn ends(name: &str) -> Result<Output, std::io::Error> {
    child::command(name).output()
}

fn a_child_runs_instead_of_tests() -> Outcome {
    let output = ends("says_hello")?;
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"hello\n"[..]));
    let output = ends("fails")?;
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(1), &b"out of luck\n"[..]));
    Ok(())
}

fn an_unknown_child_is_an_error() -> Outcome {
    let output = ends("says_goodbye")?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no child \"says_goodbye\""));
    Ok(())
}

fn an_unknown_cause_is_an_error_before_any_test_runs() -> Outcome {
    let mut command = std::process::Command::new(child::program());
    let output = command.env("SHALLOP_REQUIRE", "kernel,luck").output()?;
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"luck\" is no cause"));
    Ok(())
}
