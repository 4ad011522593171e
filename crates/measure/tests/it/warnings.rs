//! What a run and its plan warn of: traffic that is left out, thresholds without effect, loads that no link carries,
//! flows that starve others.

use crate::support::{filled, outcome};
use shallop_plan::files::FilesInMemory;
use shallop_plan::plan::{Driver, Plan};
use shallop_plan::{ResolvedRun, Study, warn};
use shallop_scenario::{Options, Problem, read};
use std::sync::Arc;
use toml::Value;

/// A dumbbell with two senders at 100 Mb/s, with these keys, this scheme and this group.
fn text(top: &str, switch: &str, scheme: &str, group: &str) -> String {
    filled(
        include_str!("scenarios/warned.toml"),
        &[("top", top), ("switch", switch), ("scheme", scheme), ("group", group)],
    )
}

fn try_study(text: &str) -> Result<Study, Problem> {
    let late = "start,source,destination,bytes\n0,s0,r0,1460\n0.1,s1,r1,1460\n0.2,s0,r1,1460\n5,s0,r0,1460\n";
    let never = "start,source,destination,bytes\n# a remark\n0.2,s0,r0,1460\n7,s1,r1,1460\n";
    let heavy = "start,source,destination,bytes\n0,s0,r0,6MB\n";
    let files = FilesInMemory::from_texts([("late.csv", late), ("never.csv", never), ("heavy.csv", heavy)]);
    read(text, &Options { files: Arc::new(files), ..Options::default() })
}

/// The warnings of the plan and those of the run.
fn warnings(text: &str) -> (Vec<String>, Vec<String>) {
    let study = try_study(text).unwrap_or_else(|problem| panic!("{problem:?}"));
    let plan = &study.points[0].plan;
    let setup = ResolvedRun::new(plan, 0, 1).unwrap();
    let before = warn::before(&setup);
    (before, outcome(plan, 0, 1).run.warnings)
}

/// The one warning that the plan and the run have in common.
fn warning(text: &str) -> String {
    let (before, after) = warnings(text);
    assert_eq!(before, after);
    assert_eq!(after.len(), 1, "{after:?}");
    after[0].clone()
}

#[test]
fn rows_of_a_trace_that_start_after_the_run_are_counted() {
    let text = text("", "", "cubic", "trace = \"late.csv\"");
    let said = warning(&text);
    assert_eq!(said, "only 2 of the 4 flows of group \"all\" start within the duration, 200ms");
    // The run does not wait for them, and links are offered the others: 2,920 B in 200 ms.
    let study = try_study(&text).unwrap();
    let run = outcome(&study.points[0].plan, 0, 1).run;
    assert!(run.duration_s > 0.1 && run.duration_s < 0.12, "{} s", run.duration_s);
    assert_eq!(run.fct.all.unwrap().unfinished, 0);
    let offered = |place: &str| run.links.iter().find(|link| link.place == place).unwrap().offered;
    let expected = 2_920.0 * 8.0 / 0.2 / 100e6;
    assert!((offered("left>right").unwrap() - expected).abs() < 1e-12, "{:?}", run.links);
    assert!((offered("s1>left").unwrap() - expected / 2.0).abs() < 1e-12, "{:?}", run.links);
}

#[test]
fn flows_that_the_duration_leaves_out_are_counted() {
    let group = "flows = 2000\nsize = \"10KB\"\narrivals = { per_second = 200 }";
    let said = warning(&text("", "", "cubic", group));
    assert!(said.contains("of the 2000 flows of group \"all\" start within"), "{said}");
    let started: u32 = said.split(' ').nth(1).unwrap().parse().unwrap();
    assert!((20..60).contains(&started), "{said}");
    assert!(said.ends_with("; on average the last starts at 10.000 s"), "{said}");
}

/// Whether there are as many warnings as texts, each with the words of its text, between which stands " | ".
fn fit(found: &[String], texts: &Value) -> bool {
    let texts = texts.as_array().unwrap();
    let has = |(one, text): (&String, &Value)| text.as_str().unwrap().split(" | ").all(|words| one.contains(words));
    found.len() == texts.len() && found.iter().zip(texts).all(has)
}

#[test]
fn plans_and_runs_warn_as_the_table_says() {
    let table: toml::Table = include_str!("scenarios/warnings.toml").parse().unwrap();
    for case in table["case"].as_array().unwrap() {
        let word = |key: &str, default| case.get(key).map_or(default, |value| value.as_str().unwrap());
        let text = match word("file", "") {
            "" => text(word("top", ""), word("switch", ""), word("scheme", "cubic"), word("group", "")),
            "lockout" => filled(include_str!("scenarios/lockout.toml"), &[("jitter", word("jitter", ""))]),
            _ => include_str!("scenarios/two_switches.toml").replace("\"dctcp\"", word("scheme", "\"dctcp\"")),
        };
        if let Some(refused) = case.get("refused") {
            let problem = try_study(&text).unwrap_err();
            assert_eq!(&text[problem.span.clone().unwrap()], word("place", ""), "{case}");
            assert!(fit(&[problem.message()], refused), "{case}: {problem:?}");
            continue;
        }
        let (before, after) = warnings(&text);
        let (plan, run) = (case.get("plan").or(case.get("both")), case.get("run").or(case.get("both")));
        assert!(plan.is_some() || run.is_some(), "{case}");
        assert!(plan.is_none_or(|texts| fit(&before, texts)), "{case}: {before:?}");
        assert!(run.is_none_or(|texts| fit(&after, texts)), "{case}: {after:?}");
        assert!(case.get("both").is_none() || before == after, "{case}: {before:?}, {after:?}");
    }
}

#[test]
fn real_hosts_keep_no_connections() {
    let group = "flows = 5\nsize = \"100KB\"\narrivals = { per_second = 100 }\nconnections = \"kept\"";
    let warns = |stack: &str, scheme: &str, driver: Driver| {
        let study = try_study(&text(stack, "", scheme, group)).unwrap();
        let plan = Plan { driver, ..study.points[0].plan.clone() };
        let before = warn::before(&ResolvedRun::new(&plan, 0, 1).unwrap());
        before.iter().any(|said| said.contains("of group \"all\" has no effect: real hosts open one"))
    };
    let rehearsed = || Driver::Rehearsal { tape: None, attached: Vec::new(), stretch: 1 };
    assert!(warns("stack = \"kernel\"", "cubic", Driver::Simulator) && warns("", "flashpass", rehearsed()));
    assert!(!warns("", "cubic", Driver::Simulator) && !warns("", "expresspass", rehearsed()));
}

#[test]
fn load_is_of_the_directions_that_flows_take() {
    // 0.8 of 100 Mb/s is 100 flows of 100 KB in a second, whether the other direction is used or not.
    let rate = |pattern: &str| {
        let group = format!("flows = 5\nsize = \"100KB\"\narrivals = {{ load = 0.8, of = \"bottleneck\" }}\n{pattern}");
        let study = try_study(&text("", "", "cubic", &group)).unwrap();
        let setup = ResolvedRun::new(&study.points[0].plan, 0, 1).unwrap();
        setup.rates[0].unwrap()
    };
    let (one_way, both) = (rate(""), rate("from = \"hosts\"\nto = \"hosts\"\npattern = \"other-site\""));
    assert!((one_way - 100.0).abs() < 1e-9, "{one_way}");
    assert!((both - 200.0).abs() < 1e-9, "{both}");
}
