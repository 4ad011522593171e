//! Claims about several schemes and points, values by their names, defaults, and schemes that are like another one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use shallop_results::{Claim, Range};
use shallop_scenario::{Options, Problem, read};

const GOOD: &str = r#"
title = "Claims of many"
duration = "1s"
[topology]
kind = "dumbbell"
senders = 2
rate = "1Gbps"
delay = "1ms"
[[scheme]]
name = "cubic"
transport = "cubic"
initial_window = 20
rto_min = "5ms"
set = { "switch.default.buffer" = "1MB" }
[[scheme]]
name = "slow"
like = "cubic"
initial_window = 2
[[scheme]]
name = "slower"
like = "slow"
set = { "switch.default.buffer" = "2MB" }
[[group]]
name = "all"
[[point]]
name = "few"
set = { "topology.senders" = 1 }
[[point]]
name = "many"
set = { "topology.senders" = 4 }
full_only = true
[defaults.claim]
source = "us"
metric = "drops.data"
[[claim]]
what = "packets lost"
schemes = ["cubic", "slow"]
points = ["few", "many"]
paper = { cubic = 3, slow = { many = 7 } }
low = { few = 1 }
high = 9
differs = { why = "traced", high = { cubic = 20, slow = { few = 30 } } }
[[claim]]
what = "throughput"
scheme = "slower"
points = ["few", "many"]
metric = "throughput_bps"
unit = { few = "Mb/s", many = "Gb/s" }
source = "them"
low = 0.5
[claim.differs]
many = { low = 0.1, why = "slow" }
[[claim]]
what = "ratio"
scheme = "slower"
point = "few"
relative_to = ["slow", "cubic"]
high = { slow = 1, cubic = 2 }
"#;

fn good(quick: bool) -> Vec<Claim> {
    read(GOOD, &Options { quick, ..Options::default() }).unwrap().claims
}

#[test]
fn one_entry_is_a_claim_of_every_scheme_at_every_point() {
    let claims = good(false);
    let about: Vec<(&str, &str)> = claims
        .iter()
        .map(|claim| (claim.scheme.as_str(), claim.point.as_deref().unwrap()))
        .collect();
    let expected = [
        ("cubic", "few"),
        ("cubic", "many"),
        ("slow", "few"),
        ("slow", "many"),
        ("slower", "few"),
        ("slower", "many"),
        ("slower", "few"),
        ("slower", "few"),
    ];
    assert_eq!(about, expected);
    assert!(claims[..4].iter().all(|claim| claim.what == "packets lost"));
    let subjects = claims.iter().map(Claim::subject).collect::<Vec<_>>();
    assert_eq!(subjects[3], "slow, many");
    assert_eq!(subjects[6..], ["slower against slow, few", "slower against cubic, few"]);
    assert_eq!(claims[6].expression(), "drops.data / drops.data of slow");
}

#[test]
fn a_value_by_names_is_that_of_its_scheme_or_point() {
    let claims = good(false);
    let papers: Vec<Option<f64>> = claims.iter().map(|claim| claim.paper).collect();
    assert_eq!(papers, [Some(3.0), Some(3.0), None, Some(7.0), None, None, None, None]);
    let range = |low, high| Range { low, high };
    let ranges: Vec<Range> = claims.iter().map(|claim| claim.range).collect();
    let (few, many) = (range(Some(1.0), Some(9.0)), range(None, Some(9.0)));
    let least = range(Some(0.5), None);
    let most = [range(None, Some(1.0)), range(None, Some(2.0))];
    assert_eq!(ranges, [few, many, few, many, least, least, most[0], most[1]]);
    let units: Vec<&str> = claims.iter().map(|claim| claim.unit.as_str()).collect();
    assert_eq!(units, ["", "", "", "", "Mb/s", "Gb/s", "", ""]);
    let bands: Vec<Option<Range>> =
        claims.iter().map(|claim| claim.differs.as_ref().map(|differs| differs.range)).collect();
    let (twenty, thirty) = (range(None, Some(20.0)), range(None, Some(30.0)));
    let least = range(Some(0.1), None);
    let expected = [Some(twenty), Some(twenty), Some(thirty), None, None, Some(least), None, None];
    assert_eq!(bands, expected);
}

#[test]
fn what_a_claim_leaves_out_is_the_default_and_what_its_point_is_left_out_of() {
    let claims = good(true);
    let said = claims.iter().map(|claim| (claim.metric.as_str(), claim.source.as_str()));
    let said: Vec<_> = said.collect();
    assert_eq!((said[0], said[4]), (("drops.data", "us"), ("throughput_bps", "them")));
    let full_only: Vec<bool> = claims.iter().map(|claim| claim.full_only).collect();
    assert_eq!(full_only, [false, true, false, true, false, true, false, false]);
}

#[test]
fn a_scheme_has_the_keys_of_the_one_it_is_like_and_its_own() {
    let study = read(GOOD, &Options::default()).unwrap();
    let schemes = &study.points[0].plan.schemes;
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    assert_eq!(names, ["cubic", "slow", "slower"]);
    let written = GOOD
        .replace(
            "like = \"cubic\"",
            "transport = \"cubic\"\nrto_min = \"5ms\"\nset = { \"switch.default.buffer\" = \"1MB\" }",
        )
        .replace("like = \"slow\"", "transport = \"cubic\"\nrto_min = \"5ms\"\ninitial_window = 2");
    let written = read(&written, &Options::default()).unwrap();
    let said = |study: &shallop_plan::Study| format!("{:?}", study.points[0].plan.schemes);
    assert_eq!(said(&study), said(&written));
    // A change of the one is none of the other.
    let set = vec![("scheme.cubic.rto_min".to_owned(), "7ms".to_owned())];
    let changed = read(GOOD, &Options { set, ..Options::default() }).unwrap();
    let plan = |study: &shallop_plan::Study, scheme: usize| {
        format!("{:?}", study.points[0].plan.schemes[scheme])
    };
    assert_ne!(plan(&changed, 0), plan(&study, 0));
    assert_eq!(plan(&changed, 1), plan(&study, 1));
}

/// Replaces `from` by `to`: the problem is at the line where `at` then stands, and says each of the words.
fn check(from: &str, to: &str, at: &str, words: &[&str]) {
    assert_eq!(GOOD.matches(from).count(), 1, "{from} must stand at one place");
    let text = GOOD.replacen(from, to, 1);
    let problem: Problem = read(&text, &Options::default()).unwrap_err();
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let span = problem.span.clone().unwrap_or_else(|| panic!("{to}: no place: {problem:?}"));
    assert_eq!(line(span.start), line(text.find(at).unwrap()), "{to}: {problem:?}");
    let said = format!("{} {}", problem.message(), problem.help);
    for word in words {
        assert!(said.contains(word), "{to}: \"{word}\" is not said in: {said}");
    }
}

/// What replaces what, where the problem is, what it says.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const NAMES: &[Case] = &[
    ("[\"cubic\", \"slow\"]", "[\"cubic\", \"slwo\"]", "schemes", &["did you mean \"slow"]),
    ("{ cubic = 3,", "{ cubik = 3,", "paper", &["cubik", "no scheme or point", "\"cubic\""]),
    ("{ cubic = 3,", "{ slower = 3,", "paper", &["no scheme or point", "cubic, slow, few, many"]),
    ("{ cubic = 3,", "{ few = 3,", "paper", &["schemes and of points in one table"]),
    ("low = { few = 1 }", "low = {}", "low = {}", &["empty"]),
    ("low = { few = 1 }", "low = { few = \"1\" }", "low = { few", &["a number", "found \"1\""]),
    (
        "scheme = \"slower\"\npoints",
        "scheme = \"slower\"\nschemes = [\"slow\"]\npoints",
        "schemes = [\"slow\"]",
        &["as well", "one of the two"],
    ),
    ("[\"cubic\", \"slow\"]", "[\"cubic\", \"cubic\"]", "schemes", &["twice"]),
    ("[\"cubic\", \"slow\"]", "[]", "schemes", &["a list of names"]),
    ("[\"cubic\", \"slow\"]", "\"cubic\"", "schemes", &["a list of names"]),
    ("[\"cubic\", \"slow\"]", "[3]", "schemes", &["found 3"]),
    (
        "scheme = \"slower\"\npoints",
        "points",
        "[[claim]]\nwhat = \"throughput",
        &["lacks the key `scheme`"],
    ),
    ("source = \"us\"", "", "[[claim]]\nwhat = \"packets", &["lacks the key `source`"]),
    ("source = \"us\"", "what = \"us\"", "what = \"us\"", &["unknown key `what`"]),
    ("[defaults.claim]", "[defaults.clam]", "clam", &["unknown key", "\"claim\""]),
    ("high = 9", "", "differs", &["no `low` and no `high`"]),
    ("low = 0.5", "", "low = 0.1", &["takes every figure"]),
    ("[\"slow\", \"cubic\"]", "[\"slow\", \"cubik\"]", "cubik", &["no relative_to", "\"cubic\""]),
    ("[\"slow\", \"cubic\"]", "[\"slow\", \"slower\"]", "{ slow = 1, cubic", &["is no scheme"]),
    ("{ slow = 1, cubic = 2 }", "{ slow = 1, few = 2 }", "{ slow = 1, few", &["in one table"]),
    ("many = { low = 0.1, why", "many = { why", "many = { why", &["takes every figure"]),
];

#[test]
fn names_that_are_none_are_pointed_at_and_the_nearest_is_named() {
    for (from, to, at, words) in NAMES {
        check(from, to, at, words);
    }
}

const LIKE: &[Case] = &[
    (
        "like = \"cubic\"",
        "like = \"cubik\"",
        "cubik",
        &["there is no scheme", "did you mean \"cubic\""],
    ),
    ("like = \"cubic\"", "like = \"slower\"", "slower", &["there is no scheme"]),
    ("like = \"cubic\"", "like = 3", "like = 3", &["there is no scheme", "3"]),
    (
        "like = \"cubic\"",
        "like = \"cubic\"\ntransport = \"bbr\"\nhystart = \"off\"",
        "hystart",
        &["unknown key"],
    ),
];

#[test]
fn a_scheme_can_only_be_like_one_above_it() {
    for (from, to, at, words) in LIKE {
        check(from, to, at, words);
    }
}
