//! Lists of tests, and their run by `libtest-mimic`.

use crate::cause::{Cause, Required};
use crate::child;
use crate::needs::{Outcome, Stop, Why};
use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};
use std::process::ExitCode;
use std::sync::{PoisonError, RwLock};

/// Every test holds this lock: exclusively if it is under `alone`, otherwise shared.
static MACHINE: RwLock<()> = RwLock::new(());

/// A test in a list of [`tests!`](crate::tests).
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The path of the function within the executable.
    pub name: &'static str,
    /// Whether it belongs to the full check.
    pub is_long: bool,
    pub run: fn() -> Outcome,
}

/// What a test function may return.
pub trait Ended {
    /// The return value as an outcome.
    ///
    /// # Errors
    /// A skip or a failure.
    fn outcome(self) -> Outcome;
}

impl Ended for () {
    fn outcome(self) -> Outcome {
        Ok(())
    }
}

impl<E: Into<Stop>> Ended for Result<(), E> {
    fn outcome(self) -> Outcome {
        self.map_err(Into::into)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Lists<'a> {
    /// Tests that run while no other test of the executable runs, since they measure time or count what is on the
    /// machine.
    pub alone: &'a [Test],
    /// Tests that run beside each other.
    pub tests: &'a [Test],
    /// Functions that tests run in processes of their own.
    pub children: &'a [Test],
}

/// Runs the tests that the arguments of this process select, or the child that the environment names.
pub fn main(lists: &Lists<'_>) -> ExitCode {
    if let Some(name) = child::wanted() {
        return child::run(&name, lists.children);
    }
    match Required::from_environment() {
        Ok(required) => run(&Arguments::from_args(), &required, lists).exit_code(),
        Err(why) => {
            child::complain(&why);
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments, required: &Required, lists: &Lists<'_>) -> Conclusion {
    let alone = lists.alone.iter().map(|test| (*test, true));
    let all = alone.chain(lists.tests.iter().map(|test| (*test, false)));
    libtest_mimic::run(arguments, all.map(|test| trial(test, arguments, required)).collect())
}

/// Runs a test, beside others or alone, and returns its outcome.
fn outcome(test: Test, is_alone: bool) -> Outcome {
    // The lock guards no data, so a panic of its holder leaves nothing broken.
    let _alone = is_alone.then(|| MACHINE.write().unwrap_or_else(PoisonError::into_inner));
    let _beside = (!is_alone).then(|| MACHINE.read().unwrap_or_else(PoisonError::into_inner));
    (test.run)()
}

fn trial((test, is_alone): (Test, bool), arguments: &Arguments, required: &Required) -> Trial {
    let required = required.clone();
    // libtest-mimic prints flagged tests as "ignored" without a cause, so a long test has the flag only when
    // `--ignored` or `--include-ignored` selects by it.
    let runs_long = arguments.ignored || arguments.include_ignored || required.contains(Cause::Long);
    if test.is_long && !runs_long {
        let reason = format!("{}: part of the full check, or by --include-ignored", Cause::Long);
        return Trial::ignorable_test(test.name, || Ok(Completion::ignored_with(reason)));
    }
    let trial = Trial::ignorable_test(test.name, move || report(outcome(test, is_alone), &required));
    trial.with_ignored_flag(test.is_long && (arguments.ignored || arguments.include_ignored))
}

fn report(outcome: Outcome, required: &Required) -> Result<Completion, Failed> {
    match outcome {
        Ok(()) => Ok(Completion::Completed),
        Err(Stop(Why::Failed(why))) => Err(why.into()),
        Err(Stop(Why::Skipped(cause, reason))) if required.contains(cause) => {
            Err(format!("{} requires {cause}: {reason}", crate::cause::REQUIRE).into())
        }
        Err(Stop(Why::Skipped(cause, reason))) => Ok(Completion::ignored_with(format!("{cause}: {reason}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{need, skip};
    use std::{sync::atomic::AtomicU32, sync::atomic::Ordering::SeqCst};

    fn passes() {}
    fn panics() {
        assert_eq!(1 + 1, 3, "arithmetic");
    }
    fn errs() -> Result<(), std::num::ParseIntError> {
        "x".parse::<u32>().map(|_| ())
    }
    fn has_no_kernel() -> Outcome {
        let kernel: u32 = need(Cause::Kernel, Err("no kernel is installed"))?;
        panic!("{kernel} was not there");
    }
    fn has_no_root() -> Outcome {
        Err(skip(Cause::Root, "the tests run as user 7"))
    }

    crate::list! {
        const ALL = [passes, panics, errs, has_no_kernel, has_no_root, #[long] takes_hours]
    }
    fn takes_hours() {}

    /// The number of tests of `COUNT` that run now, and the number seen by tests that should run alone.
    static RUNNING: AtomicU32 = AtomicU32::new(0);
    static BESIDE: AtomicU32 = AtomicU32::new(0);

    fn counts() {
        RUNNING.fetch_add(1, SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(1));
        RUNNING.fetch_sub(1, SeqCst);
    }
    fn is_alone() {
        for _ in 0..20 {
            BESIDE.fetch_add(RUNNING.load(SeqCst), SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    crate::list! { const COUNT = [counts, counts, counts, counts, counts, counts, counts, counts] }
    crate::list! { const ALONE = [is_alone, is_alone] }

    /// The numbers of passed, failed and ignored tests, and what was printed.
    fn ran(arguments: &[&str], required: &str) -> ([u64; 3], String) {
        ran_lists(arguments, required, &Lists { tests: ALL, ..Lists::default() })
    }

    fn ran_lists(arguments: &[&str], required: &str, lists: &Lists<'_>) -> ([u64; 3], String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut arguments = Arguments::from_iter(["tests"].iter().chain(arguments));
        arguments.logfile = Some(log.to_str().unwrap().to_owned());
        let conclusion = run(&arguments, &Required::parse(required).unwrap(), lists);
        let counts = [conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored];
        (counts, std::fs::read_to_string(log).unwrap())
    }

    fn line<'a>(text: &'a str, name: &str) -> &'a str {
        let begins = |line: &&str| line.split_whitespace().nth(1) == Some(name);
        text.lines().find(begins).unwrap().split_once(" ... ").unwrap().1
    }

    #[test]
    fn a_skip_is_reported_as_ignored_with_its_cause() {
        let (counts, text) = ran(&[], "");
        assert_eq!(counts, [1, 2, 3], "{text}");
        assert_eq!(line(&text, "passes"), "ok");
        assert_eq!(line(&text, "has_no_kernel"), "ignored (kernel: no kernel is installed)");
        assert_eq!(line(&text, "has_no_root"), "ignored (root: the tests run as user 7)");
        assert!(line(&text, "takes_hours").starts_with("ignored (long: "), "{text}");
    }

    #[test]
    fn panics_and_errors_are_failures_with_their_message() {
        let (_, text) = ran(&[], "");
        assert_eq!((line(&text, "panics"), line(&text, "errs")), ("FAILED", "FAILED"));
        assert!(text.contains("arithmetic") && text.contains("invalid digit"), "{text}");
    }

    #[test]
    fn a_required_cause_turns_its_skips_into_failures_and_no_others() {
        let (counts, text) = ran(&["has_no"], "kernel,bpf");
        assert_eq!(counts, [0, 1, 1], "{text}");
        assert!(text.contains("SHALLOP_REQUIRE requires kernel: no kernel is installed"), "{text}");
        assert_eq!(ran(&["has_no"], "all").0, [0, 2, 0]);
    }

    #[test]
    fn long_tests_run_when_they_are_asked_for() {
        assert_eq!(ran(&["hours"], "").0, [0, 0, 1]);
        for arguments in [&["hours", "--include-ignored"][..], &["--ignored"]] {
            assert_eq!(ran(arguments, "").0, [1, 0, 0], "{arguments:?}");
        }
        assert_eq!(ran(&["hours"], "long").0, [1, 0, 0]);
    }

    #[test]
    fn a_test_that_runs_alone_has_no_other_beside_it() {
        let lists = Lists { alone: ALONE, tests: COUNT, children: &[] };
        assert_eq!(ran_lists(&["--test-threads", "4"], "", &lists).0, [10, 0, 0]);
        assert_eq!(BESIDE.load(SeqCst), 0);
    }

    #[test]
    fn filters_and_lists_are_those_of_libtest() {
        assert_eq!(ran(&["--exact", "passes"], "").0, [1, 0, 0]);
        assert_eq!(ran(&["--skip", "has_no", "--skip", "s"], "").0, [0, 0, 0]);
        let (_, list) = ran(&["--list", "no_"], "all");
        assert_eq!(list, "has_no_kernel: test\nhas_no_root: test\n");
        assert_eq!(ran(&["--list", "--ignored"], "").1, "takes_hours: test\n");
    }
}
