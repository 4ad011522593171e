//! What a scheme sets of switches: it holds under that scheme alone, and is checked like the rest.

use crate::support::outcome;
use shallop_core::BufferSize;
use shallop_plan::study::Study;
use shallop_scenario::{Options, read};

const TEXT: &str = include_str!("scenarios/scheme_settings.toml");

fn study(set: &str, options: &Options) -> Study {
    read(&TEXT.replace("SET", set), options).unwrap_or_else(|why| panic!("{why:?}"))
}

#[test]
fn what_a_scheme_sets_holds_under_it_alone() {
    let set = r#""switch.default.mark.above" = "10pkt""#;
    let study = study(set, &Options::default());
    let plan = &study.points[0].plan;
    let marks = [0, 1].map(|scheme| plan.switches(scheme)[0].mark.map(|mark| mark.max));
    assert_eq!(marks, [None, Some(BufferSize::Packets(10))]);
    assert_eq!(plan.switches(1)[1], plan.switches(0)[1], "the other is as it was");
    let marked = [0, 1].map(|scheme| outcome(plan, scheme, 1).run.marks);
    assert!(marked[0] == 0 && marked[1] > 0, "{marked:?}");
}

#[test]
fn who_sets_marks_of_its_own_is_not_warned_that_there_are_none() {
    let study = study(r#""switch.default.mark.above" = "10pkt""#, &Options::default());
    let plan = &study.points[0].plan;
    assert!(plan.switches.iter().all(|switch| switch.mark.is_none()), "the scenario has none");
    let [bare, marked] = [0, 1].map(|scheme| outcome(plan, scheme, 1).run.warnings);
    assert_eq!(bare.len(), 1, "{bare:?}");
    assert!(bare[0].contains("newreno") && bare[0].contains("no switch on their way marks any"), "{bare:?}");
    assert!(marked.is_empty(), "{marked:?}");
}

#[test]
fn a_point_sets_first_and_the_scheme_on_top() {
    let set = r#""switch.default.mark.above" = "10pkt""#;
    let change = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let set_on = vec![change("switch.default.mark.above", "20pkt")];
    let study = study(set, &Options { set: set_on, ..Options::default() });
    let plan = &study.points[0].plan;
    let marks = [0, 1].map(|scheme| plan.switches(scheme)[0].mark.map(|mark| mark.max));
    assert_eq!(marks, [20, 10].map(|packets| Some(BufferSize::Packets(packets))));
}
