//! Claims about several schemes and points, values by their names, defaults, and schemes that are like another one.

use crate::malformed::check;
use shallop_scenario::{Options, read};

const GOOD: &str = include_str!("../scenarios/claims.toml");

/// One entry is a claim of every scheme at every point; a value by names is of its scheme or point; what is left out
/// has its default; quick runs judge no claim at a point that they leave out.
#[test]
fn claims_are_read_as_in_their_snapshots() {
    let kinds = [GOOD, include_str!("../scenarios/claims_of_kinds.toml")].concat();
    for (name, text, quick) in [("claims", &*kinds, false), ("claims_quick", GOOD, true)] {
        let claims = read(text, &Options { quick, ..Options::default() }).unwrap().claims;
        let told = claims.iter().map(|claim| (claim.subject(), claim.expression(), claim));
        insta::assert_debug_snapshot!(name, told.collect::<Vec<_>>());
    }
    let both = kinds.replace("relative_rank = 2", "relative_rank = 2\nrelative_to = \"slow\"");
    let refused = read(&both, &Options::default()).unwrap_err();
    assert!(refused.message().contains("there is a `relative_to` as well"), "{refused:?}");
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
