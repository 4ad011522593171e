//! The report that pytest writes as XML (`--junit-xml`): counts, and skips by cause.

use super::harness::{Counts, Skip};

/// Reads a report; `None` if it is not one.
pub fn read(report: &str) -> Option<Counts> {
    let suite = &report[report.find("<testsuite ")?..];
    let number = |name: &str| attribute(suite, name)?.parse::<usize>().ok();
    let [tests, failures, errors, skipped] = ["tests", "failures", "errors", "skipped"].map(number);
    let (failed, tests) = (failures? + errors?, tests?);
    let skips = suite.split("<skipped ").skip(1).map(|skip| {
        let reason = attribute(skip, "message").unwrap_or_default();
        let cause = reason.split_once(':').map(|parts| parts.0).filter(|cause| !cause.contains(' '));
        Skip { name: reason.to_owned(), cause: cause.unwrap_or("python").to_owned(), is_built_in: false }
    });
    let mut skips: Vec<Skip> = skips.take(skipped?).collect();
    let other = || Skip { name: String::new(), cause: "python".to_owned(), is_built_in: false };
    let unnamed = skipped? - skips.len();
    skips.extend(std::iter::repeat_with(other).take(unnamed));
    Some(Counts { passed: tests.checked_sub(failed + skipped?)?, failed, skipped: skips })
}

/// The value of an attribute of the first element in a text.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once('>')?.0.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_its_counts_and_the_causes_of_skips() {
        let report = concat!(
            "<?xml version=\"1.0\"?><testsuites name=\"t\">",
            "<testsuite name=\"pytest\" errors=\"1\" failures=\"2\" skipped=\"2\" tests=\"9\" time=\"1.0\">",
            "<testcase><skipped type=\"pytest.skip\" message=\"root: no namespaces\">x</skipped></testcase>",
            "<testcase><skipped type=\"pytest.skip\" message=\"no dask\">y</skipped></testcase>",
            "</testsuite></testsuites>",
        );
        let found = read(report).unwrap();
        assert_eq!((found.passed, found.failed), (4, 3));
        let causes: Vec<_> = found.skipped.iter().map(|skip| skip.cause.as_str()).collect();
        assert_eq!(causes, ["root", "python"]);
    }

    #[test]
    fn other_texts_have_no_counts() {
        assert_eq!(read(""), None);
        assert_eq!(read("<testsuite tests=\"x\">"), None);
    }
}
