//! Claims about several schemes and points, values by their names, defaults, and schemes that are like another one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::malformed::check;
use shallop_results::{Claim, Kind, Range};
use shallop_scenario::{Options, read};

const GOOD: &str = include_str!("../scenarios/claims.toml");

fn good(quick: bool) -> Vec<Claim> {
    read(GOOD, &Options { quick, ..Options::default() }).unwrap().claims
}

#[test]
fn one_entry_is_a_claim_of_every_scheme_at_every_point() {
    let claims = good(false);
    let about: Vec<(&str, &str)> =
        claims.iter().map(|claim| (claim.scheme.as_str(), claim.point.as_deref().unwrap())).collect();
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
fn a_claim_says_its_kind_a_range_of_the_paper_and_a_rank() {
    let text = [GOOD, include_str!("../scenarios/claims_of_kinds.toml")].concat();
    let [.., paper, range, rank] = &read(&text, &Options::default()).unwrap().claims[..] else { panic!() };
    assert_eq!([paper.kind, range.kind, rank.kind], [Kind::Paper, Kind::Order, Kind::Own]);
    assert_eq!((range.paper, range.paper_to), (Some(2.0), Some(3.0)));
    assert_eq!(range.range, Range { low: Some(2.0), high: Some(3.0) });
    assert_eq!(rank.expression(), "drops.data / drops.data, number 2 of all");
    assert_eq!(paper.differs.as_ref().unwrap().run.as_deref(), Some("lx-one"));
    let both = text.replace("relative_rank = 2", "relative_rank = 2\nrelative_to = \"slow\"");
    let refused = read(&both, &Options::default()).unwrap_err();
    assert!(refused.message().contains("there is a `relative_to` as well"), "{refused:?}");
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
    let plan = |study: &shallop_plan::Study, scheme: usize| format!("{:?}", study.points[0].plan.schemes[scheme]);
    assert_ne!(plan(&changed, 0), plan(&study, 0));
    assert_eq!(plan(&changed, 1), plan(&study, 1));
}

#[test]
fn names_that_are_none_are_pointed_at_and_the_nearest_is_named() {
    check(GOOD, "claims by names");
}

#[test]
fn a_scheme_can_only_be_like_one_above_it() {
    check(GOOD, "like");
}
