//! What errors advise and what explanations say, in words that need no knowledge of the code.

use crate::malformed::check;
use shallop_core::Span;
use shallop_scenario::{Options, Problem, explain, read};

const SMALL: &str = include_str!("../scenarios/two_leaves.toml");

fn problem(text: &str, options: &Options) -> Problem {
    read(text, options).expect_err("it is wrong")
}

#[test]
fn groups_are_told_the_sets_of_hosts_and_the_distributions_of_sizes() {
    check(&format!("{SMALL}GROUP"), "advice");
}

#[test]
fn the_end_of_arrivals_and_the_largest_load_are_explained_where_there_are_some() {
    let lines = |group: &str| {
        let group = format!("name = \"web\", from = \"hosts\", to = \"hosts\", pattern = \"uniform\", {group}");
        let study = read(&format!("{SMALL}group = [{{ {group} }}]"), &Options::default());
        let sections = explain::explain(&study.expect("a good scenario")).expect("it can run");
        let lines = sections.into_iter().flat_map(|section| section.lines);
        lines.map(|line| (line.what.clone(), line)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let random = lines("size = \"1KB\", flows = 50, arrivals = { per_second = 400 }");
    let end = &random["last start of \"web\""];
    assert_eq!(end.value, "0.125 s", "50 flows / 400 a second");
    assert_eq!(end.how, "on average: 50 flows at this rate");
    assert!(random.contains_key("largest load of a link"));
    let at_once = lines("size = \"1KB\"");
    assert!(!at_once.contains_key("largest load of a link"), "nothing starts at random");
    assert!(!at_once.contains_key("last start of \"web\""));
}

#[test]
fn parameters_are_explained_in_full() {
    let text =
        format!("{SMALL}group = [{{ name = \"all\", from = \"hosts\", to = \"hosts\", pattern = \"uniform\" }}]");
    let study = read(&text, &Options::default()).expect("a good scenario");
    let sections = explain::explain(&study).expect("it can run");
    let lines: Vec<_> = sections.iter().flat_map(|section| &section.lines).collect();
    assert!(lines.iter().any(|line| line.how.contains(". ")), "no text has a second sentence");
    let starting = lines.iter().find(|line| line.what == "flows that start").expect("a line");
    assert_eq!((starting.value.as_str(), starting.how.as_str()), ("4", "before the end, at 1s, with seed 1"));
}

#[test]
fn flows_are_recorded_at_the_written_interval_and_wrong_ones_are_named() {
    let text = |record: &str| {
        let group = "group = [{ name = \"all\", from = \"hosts\", to = \"hosts\", pattern = \"uniform\" }]";
        format!("{SMALL}{group}\n{record}")
    };
    let recorded = |record: &str| {
        let study = read(&text(record), &Options::default()).expect("a good scenario");
        study.points[0].plan.record
    };
    assert_eq!(recorded(""), None);
    assert_eq!(recorded("[record]\nflows = \"250us\""), Some(Span::from_us(250)));
    let study = read(&text("[record]\nflows = \"250us\""), &Options::default());
    let sections = explain::explain(&study.expect("a good scenario")).expect("it can be made");
    let told = sections[0].lines.iter().find(|line| line.what == "traces of flows");
    assert_eq!(told.map(|line| line.value.as_str()), Some("every 250us"));
    check(&text("RECORD"), "records");
    let set = [("duration", "100s"), ("record.flows", "1us")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let many = problem(&text(""), &Options { set, ..Options::default() });
    assert!(many.message().contains("1us is too short for 100s"), "{many:?}");
    assert!(many.help.contains("at most 10000000 rows"), "{many:?}");
}
