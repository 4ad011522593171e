//! Scenarios that are wrong: each is refused before anything runs, at the line that is wrong, with what is allowed.

use proptest::prelude::*;
use shallop_scenario::{Options, Problem, read};

/// A good scenario. Tests change one place of it.
pub const GOOD: &str = include_str!("../scenarios/good.toml");

/// A network drawn by hand.
const GRAPH: &str = include_str!("../scenarios/graph.toml");

fn problem(text: &str) -> Problem {
    match read(text, &Options::default()) {
        Ok(study) => panic!("this was read:\n{text}\n{study:?}"),
        Err(problem) => problem,
    }
}

const CASES: &str = include_str!("../scenarios/malformed.tsv");

fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Each case of a test replaces `from` by `to` in `good`, or appends `to` if `from` is empty; the problem must be at
/// the line where `at` then stands, with `^` before it at `at` itself, and must say each of the words.
pub fn check(good: &str, test: &str) {
    let rows = CASES.lines().filter(|line| line.split('\t').next() == Some(test));
    assert!(rows.clone().count() > 3, "{test} has few cases");
    for row in rows {
        let columns: Vec<String> = row.split('\t').map(|cell| cell.replace("\\n", "\n")).collect();
        let [_, from, to, at, words] = &columns[..] else { panic!("five columns: {row}") };
        assert!(from.is_empty() || good.matches(from.as_str()).count() == 1, "{from} must stand at one place");
        let changed = if from.is_empty() { format!("{good}{to}") } else { good.replacen(from, to, 1) };
        let problem = problem(&changed);
        let span = problem.span.clone().unwrap_or_else(|| panic!("{to}: no place: {problem:?}"));
        if let Some(at) = at.strip_prefix('^') {
            assert!(changed[span.start..].starts_with(at), "{to}: {problem:?}");
        } else {
            let expected = line(&changed, changed.find(at.as_str()).unwrap_or_else(|| panic!("{at} is not there")));
            assert_eq!(line(&changed, span.start), expected, "{to}: {problem:?}");
        }
        // What is missing at the top has no place of its own.
        let is_empty = span.is_empty() && test != "missing";
        assert!(span.end <= changed.len() && !is_empty, "{to}: {problem:?}");
        let said = format!("{} {}", problem.message(), problem.help);
        for word in words.split(" | ") {
            assert!(said.contains(word), "{to}: \"{word}\" is not said in: {said}");
        }
        assert!(said.len() < 1_200, "{to}: too long: {said}");
    }
}

#[test]
fn the_scenarios_that_are_changed_are_good() {
    for text in [GOOD, GRAPH] {
        read(text, &Options::default()).unwrap_or_else(|problem| panic!("{problem:?}"));
    }
}

#[test]
fn keys_that_do_not_belong_are_pointed_at_and_the_nearest_is_named() {
    check(GOOD, "keys");
}

#[test]
fn values_of_the_wrong_kind_or_unit_are_told_what_would_do() {
    check(GOOD, "kinds");
}

#[test]
fn numbers_out_of_bounds_are_told_the_bounds() {
    check(GOOD, "bounds");
}

#[test]
fn parts_that_do_not_fit_together_are_told_why() {
    check(GOOD, "parts");
}

#[test]
fn claims_are_held_against_what_there_is() {
    check(GOOD, "claims");
}

#[test]
fn arrivals_and_traces_that_contradict_other_keys_are_refused() {
    check(GOOD, "traffic");
}

#[test]
fn limits_that_nothing_keeps_are_refused_where_they_are_written() {
    check(include_str!("../scenarios/limited.toml"), "limits");
}

#[test]
fn what_is_wrong_with_a_proxy_is_said_at_its_place() {
    check(include_str!("../../../measure/tests/it/claims/a_proxy_of_clean_spares_packets_and_time.toml"), "proxies");
}

#[test]
fn what_a_scheme_cannot_set_is_refused() {
    check(include_str!("../../../measure/tests/it/scenarios/scheme_settings.toml"), "scheme settings");
}

#[test]
fn what_is_wrong_with_a_mix_is_said() {
    check(include_str!("../../../measure/tests/it/scenarios/mixed.toml"), "mixes");
}

#[test]
fn networks_that_cannot_carry_the_traffic_are_refused() {
    check(GRAPH, "networks");
}

#[test]
fn what_is_missing_as_a_whole_is_named() {
    check(GRAPH, "missing");
    for empty in ["", "\n\n", "# nothing\n"] {
        let problem = problem(empty);
        assert!(problem.message().contains("empty") && problem.span.is_none(), "{problem:?}");
    }
}

/// Whether a text is a scenario, or has a problem with a reason whose place lies in the text.
fn is_read_or_refused_at_a_place(text: &str) -> bool {
    match read(text, &Options::default()) {
        Ok(_) => true,
        Err(Problem { span: Some(span), .. }) if text.get(span.clone()).is_none() => false,
        Err(problem) => !problem.reason.is_empty(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn an_edited_scenario_is_read_or_refused_at_a_place_of_the_text(
        graph in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize, "[ -~\n]{0,3}"), 1..4),
    ) {
        let mut text = (if graph { GRAPH } else { GOOD }).to_owned();
        for (at, length, with) in edits {
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &with);
        }
        prop_assert!(is_read_or_refused_at_a_place(&text));
    }

    #[test]
    fn lines_in_any_order_are_read_or_refused_at_a_place_of_the_text(
        lines in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        let good: Vec<&str> = GOOD.lines().chain(GRAPH.lines()).collect();
        let text: Vec<&str> = lines.iter().map(|line| good[line.index(good.len())]).collect();
        prop_assert!(is_read_or_refused_at_a_place(&text.join("\n")));
    }
}

#[test]
fn questions_that_make_no_sense() {
    check(GOOD, "advise");
}
