//! The output of test executables: how many tests passed and failed, and which were skipped for what cause.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: Vec<Skip>,
}

/// A test that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub name: String,
    pub cause: String,
    /// Whether Rust's own harness skipped it, which does not know `SHALLOP_REQUIRE`.
    pub is_built_in: bool,
}

/// The cause of ignored functions that other tests start as child processes. They are not tests and are not counted.
const PART: &str = "part";
/// The cause of a skip that names none.
const OTHER: &str = "other";

/// Reads what an executable printed; `None` if it printed no closing line, as when it crashed.
pub fn read(output: &str) -> Option<Counts> {
    let closing = output.lines().rev().find_map(closing)?;
    Some(counts(output, closing))
}

/// The output of several executables, such as those of doc tests.
pub fn read_all(output: &str) -> Option<Counts> {
    let sum = |all: [usize; 3], one: [usize; 3]| [all[0] + one[0], all[1] + one[1], all[2] + one[2]];
    let closing = output.lines().filter_map(closing).reduce(sum)?;
    Some(counts(output, closing))
}

fn counts(output: &str, [passed, failed, ignored]: [usize; 3]) -> Counts {
    let mut skipped: Vec<Skip> = output.lines().filter_map(skip).take(ignored).collect();
    let unnamed = ignored - skipped.len();
    skipped.retain(|skip| skip.cause != PART);
    let other = || Skip { name: String::new(), cause: OTHER.to_owned(), is_built_in: false };
    skipped.extend(std::iter::repeat_with(other).take(unnamed));
    Counts { passed, failed, skipped }
}

/// Passed, failed and ignored of `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn closing(line: &str) -> Option<[usize; 3]> {
    let (_, rest) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut numbers = rest.split("; ").map(|part| part.split(' ').next()?.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// Reads `test NAME ... ignored, CAUSE: REASON` (Rust's harness) or `test NAME ... ignored (CAUSE: REASON)`
/// (`shallop_testing`).
fn skip(line: &str) -> Option<Skip> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    let reason = rest.strip_prefix(", ").or_else(|| rest.strip_prefix(" (")).unwrap_or_default();
    let is_built_in = !rest.starts_with(" (");
    let cause = reason.split_once(':').map(|parts| parts.0).filter(|cause| !cause.contains(' '));
    Some(Skip { name: name.trim_end().to_owned(), cause: cause.unwrap_or(OTHER).to_owned(), is_built_in })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: &str = "
running 5 tests
test a::passes ... ok
test a::waits ... ignored, kernel: none is built
test a::child ... ignored, part: started by another test
test a::plain ... ignored
test a::fails ... FAILED

failures:

---- a::fails stdout ----
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: FAILED. 1 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.02s
";

    fn causes(counts: &Counts) -> Vec<&str> {
        counts.skipped.iter().map(|skip| skip.cause.as_str()).collect()
    }

    #[test]
    fn the_last_closing_line_counts_and_skips_have_their_causes() {
        let found = read(BUILT_IN).unwrap();
        assert_eq!((found.passed, found.failed), (1, 1));
        assert_eq!(causes(&found), ["kernel", "other"]);
        assert!(found.skipped[0].is_built_in && found.skipped[0].name == "a::waits");
    }

    #[test]
    fn skips_of_shallop_testing_have_their_cause_in_brackets() {
        let found = read(
            "test rehearse::programs_talk      ... ignored (programs: not installed: curl)\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1s\n",
        );
        let found = found.unwrap();
        assert_eq!((found.passed, causes(&found)), (2, vec!["programs"]));
        assert_eq!((found.skipped[0].name.as_str(), found.skipped[0].is_built_in), ("rehearse::programs_talk", false));
    }

    #[test]
    fn an_executable_that_crashed_has_no_counts() {
        assert_eq!(read("running 2 tests\ntest a ... ok\n"), None);
    }

    #[test]
    fn a_skip_whose_line_is_missing_is_counted_without_a_cause() {
        let line = "test result: ok. 2 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(causes(&read(line).unwrap()), ["other", "other"]);
    }

    #[test]
    fn several_executables_are_added() {
        let one = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s\n";
        assert_eq!(read_all(&one.repeat(3)).unwrap().passed, 6);
    }
}
