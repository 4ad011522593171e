//! Harness of tests that depend on the machine: on a kernel image, root, network namespaces, a program.
//!
//! A test that cannot run on a machine is reported as ignored, with a [`Cause`] and a reason, and never as passed. The
//! environment variable `SHALLOP_REQUIRE` lists causes, with commas between them, or `all`: for these a skip is a
//! failure, and tests with the cause `long` run. An unknown word in it is an error.
//!
//! An executable of such tests has `harness = false` in Cargo.toml and lists its functions:
//!
//! ```text
//! shallop_testing::tests! {
//!     alone: [
//!         rehearse::flows_fill_a_link,
//!         #[long] rehearse::nothing_is_left_after_a_thousand_kills,
//!     ]
//!     tests: [tapes::a_tape_is_played_again]
//!     children: [rehearse::runs_until_killed]
//! }
//! ```
//!
//! Tests under `alone` run while no other test of the executable does. `#[long]` marks a test of the full check, which
//! `--include-ignored` or `SHALLOP_REQUIRE=long` runs. Each of the three lists may be left out. A function in no list
//! is dead code, which lints refuse. A test begins with what it needs:
//!
//! ```text
//! pub fn flows_fill_a_link() -> Outcome {
//!     root()?;
//!     programs(&["curl"])?;
//!     let kernel = need(Cause::Kernel, find_kernel())?;
//!     ...
//! }
//! ```
//!
//! Tests return [`Outcome`], `()` or any other `Result<(), E>` whose error is a [`std::error::Error`]. A panic is a
//! failure. Arguments are as for libtest, with one filter at most; standard output is not captured, so that a test
//! writes what it has to say to standard error. Functions under `children` are no tests: [`child::command`] runs them
//! in a process of their own.
//!
//! # Output
//!
//! One line per test on standard output, with names padded to the longest:
//!
//! ```text
//! test rehearse::flows_fill_a_link  ... ok
//! test rehearse::a_late_run_is_void ... FAILED
//! test rehearse::programs_talk      ... ignored (programs: not installed: curl)
//! ```
//!
//! So a skip is `test NAME ... ignored (CAUSE: REASON)`, CAUSE is a word of [`Cause::word`], and neither CAUSE nor NAME
//! has spaces. Tests of the built-in harness that are `#[ignore = "CAUSE: REASON"]` print
//! `test NAME ... ignored, CAUSE: REASON`. `--quiet` and `--format json` print no causes.

mod cause;
pub mod child;
pub mod dialogue;
mod needs;
pub mod processes;
mod runner;

pub use cause::{Cause, Required};
pub use needs::{Outcome, Stop, need, programs, root, skip};
pub use runner::{Ended, Lists, Test, main};

/// Waits until a condition holds, for twenty seconds at most. Returns whether it does.
pub fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    (0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        is_so()
    })
}

/// The `main` of a test executable: lists of test functions, and of children that tests start.
#[macro_export]
macro_rules! tests {
    ($(alone: [$($alone:tt)*])? $(tests: [$($tests:tt)*])? $(children: [$($children:tt)*])?) => {
        $crate::list! { const ALONE = [$($($alone)*)?] }
        $crate::list! { const TESTS = [$($($tests)*)?] }
        $crate::list! { const CHILDREN = [$($($children)*)?] }

        fn main() -> std::process::ExitCode {
            $crate::main(&$crate::Lists { alone: ALONE, tests: TESTS, children: CHILDREN })
        }
    };
}

/// A constant list of [`Test`]s, each the path of a function; `#[long]` before a path marks a test of the full check.
#[macro_export]
macro_rules! list {
    (const $list:ident = [$($(#[$long:ident])? $test:path),* $(,)?]) => {
        const $list: &[$crate::Test] = &[$($crate::Test {
            name: stringify!($test),
            is_long: $crate::is_long!($($long)?),
            run: || $crate::Ended::outcome($test()),
        }),*];
    };
}

/// Whether a test is marked as long; no other mark exists.
#[doc(hidden)]
#[macro_export]
macro_rules! is_long {
    () => {
        false
    };
    (long) => {
        true
    };
}
