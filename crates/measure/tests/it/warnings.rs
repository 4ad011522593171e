//! What a run and its plan warn of: traffic that is left out, thresholds without effect, loads that no link carries,
//! flows that starve others.

use crate::support::{filled, outcome};
use shallop_plan::files::FilesInMemory;
use shallop_plan::{ResolvedRun, Study, warn};
use shallop_scenario::{Options, Problem, read};
use std::sync::Arc;

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

/// The place in the text and the message of the error.
fn refused(text: &str) -> (String, String) {
    let problem = try_study(text).unwrap_err();
    (text[problem.span.clone().unwrap()].to_owned(), problem.message())
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
fn a_trace_that_offers_a_link_more_than_it_carries_is_warned_of() {
    let (before, _) = warnings(&text("", "", "cubic", "trace = \"heavy.csv\""));
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(before[0].contains("2.40 times its 100Mbps"), "{before:?}");
    // Random arrivals beside it are judged by themselves.
    let beside = "trace = \"heavy.csv\"\n[[group]]\nname = \"people\"\nflows = 5\nsize = \"1KB\"\n\
                  arrivals = { per_second = 100 }";
    let (before, _) = warnings(&text("", "", "cubic", beside));
    assert!(before.iter().any(|one| one.contains("2.41 times its 100Mbps")), "{before:?}");
}

#[test]
fn a_trace_whose_rows_are_all_late_is_refused_at_its_first_row() {
    let (place, message) = refused(&text("", "", "cubic", "trace = \"never.csv\""));
    assert_eq!(place, "\"never.csv\"");
    assert!(message.contains("never.csv, line 3, column start"), "{message}");
    assert!(message.contains("starts at 200ms, and the run ends at 200ms"), "{message}");
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

#[test]
fn a_run_that_ends_because_all_counted_flows_are_complete_leaves_nothing_out() {
    let group = "flows = 30\ncool_down = 20\nsize = \"1KB\"\narrivals = { per_second = 400 }";
    let (_, after) = warnings(&text("", "", "cubic", group));
    assert!(after.is_empty(), "{after:?}");
}

#[test]
fn packets_beyond_the_limit_of_a_capture_are_counted() {
    let top = "capture = [\"bottleneck\"]\ncapture_limit = 10";
    let (before, after) = warnings(&text(top, "", "cubic", ""));
    assert!(before.is_empty() && after.len() == 1, "{before:?} {after:?}");
    assert!(after[0].contains("the first 10 packets, until "), "{after:?}");
    assert!(after[0].contains("more were not captured: `capture_limit` is 10"), "{after:?}");
    let (_, enough) = warnings(&text("capture = [\"bottleneck\"]", "", "cubic", ""));
    assert!(enough.is_empty(), "{enough:?}");
}

#[test]
fn a_flow_that_starves_its_equals_is_told() {
    // Perfect time and a tiny buffer lock flows out: all but one of them lose every packet that they send.
    let scenario = |jitter: &str| filled(include_str!("scenarios/lockout.toml"), &[("jitter", jitter)]);
    let (_, locked) = warnings(&scenario("0s"));
    assert_eq!(locked.len(), 1, "{locked:?}");
    assert!(locked[0].starts_with("one flow of group \"all\" has "), "{locked:?}");
    assert!(locked[0].contains("20 flows got in the last second (Jain's index 0.0"), "{locked:?}");
    let (_, fair) = warnings(&scenario("12us"));
    assert!(fair.is_empty(), "{fair:?}");
}

#[test]
fn a_threshold_at_the_buffer_or_above_never_marks() {
    for (above, warned) in [("20KB", true), ("19KB", false), ("30pkt", true)] {
        let switch = format!("buffer = \"20KB\"\nmark.above = \"{above}\"");
        let (before, after) = warnings(&text("", &switch, "dctcp", ""));
        assert_eq!(before, after);
        assert_eq!(after.len(), usize::from(warned), "{above}: {after:?}");
        if warned {
            assert!(after[0].contains("switch \"default\" at 100Mbps never marks"), "{after:?}");
            assert!(after[0].contains("is not below the 20KB that its queue may hold"), "{after:?}");
        }
        let (before, after) = warnings(&text("", &switch, "cubic", ""));
        assert!(before.is_empty() && after.is_empty(), "cubic ignores marks: {after:?}");
    }
}

#[test]
fn rules_of_drops_and_token_buckets_that_never_act_are_named() {
    let with = |rule: &str| text("", &format!("buffer = \"20KB\"\n{rule}"), "cubic", "");
    for (rule, words) in [
        ("drop.above = \"20KB\"", "never drops before it is full: its threshold, 20KB, is not below the 20KB"),
        (
            "policer = { rate = \"100Mbps\", burst = \"9KB\" }",
            "the policer of switch \"default\", 100Mbps, does nothing",
        ),
    ] {
        let said = warning(&with(rule));
        assert!(said.contains(words), "{said}");
    }
    for rule in ["drop.above = \"19KB\"", "shaper = { rate = \"99Mbps\", burst = \"9KB\" }"] {
        let (before, _) = warnings(&with(rule));
        assert!(before.is_empty(), "{before:?}");
    }
}

#[test]
fn who_relies_on_marks_is_warned_of_a_discipline_that_hardly_makes_any() {
    for aqm in ["codel", "fq-codel"] {
        let key = aqm.replace('-', "_");
        let bare = format!("buffer = \"2.5MB\"\naqm = \"{aqm}\"");
        let said = warning(&text("", &bare, "dctcp", ""));
        assert!(said.contains("dctcp needs a mark on every packet above a threshold"), "{said}");
        assert!(said.contains("`ce_threshold`"), "{said}");
        let (_, classic) = warnings(&text("", &bare, "cubic", ""));
        assert!(classic.is_empty(), "{classic:?}");
        let threshold = format!("{bare}\n{key} = {{ ce_threshold = \"1ms\" }}");
        let (_, marked) = warnings(&text("", &threshold, "dctcp", ""));
        assert!(marked.is_empty(), "{marked:?}");
        let off = format!("{bare}\n{key} = {{ ecn = false }}");
        let said = warning(&text("", &off, "dctcp", ""));
        assert!(said.contains("no switch on their way marks any (ECN)"), "{said}");
    }
}

#[test]
fn an_l4s_sender_in_integers_is_warned_of() {
    let switch = "buffer = \"2.5MB\"\naqm = \"dualpi2\"";
    let scheme = |words: &str| text("", switch, "dctcp", "").replace("transport = \"dctcp\"", words);
    let said = warning(&scheme("transport = \"dctcp\"\nl4s = true"));
    assert!(said.contains("`l4s = true`") && said.contains("integers") && said.contains("prague"), "{said}");
    for good in
        ["transport = \"dctcp\"", "transport = \"prague\"", "transport = \"dctcp\"\nl4s = true\narithmetic = \"real\""]
    {
        let (_, said) = warnings(&scheme(good));
        assert!(said.is_empty(), "{good}: {said:?}");
    }
}

#[test]
fn a_switch_on_the_way_that_marks_nothing_is_named() {
    let scenario = include_str!("scenarios/two_switches.toml");
    let said = warning(scenario);
    assert!(said.contains("dctcp relies on marks (ECN), and the switches \"bare\""), "{said}");
    // Gemini goes by delay where there are no marks.
    let (_, gemini) = warnings(&scenario.replace("\"dctcp\"", "\"gemini\""));
    assert!(gemini.is_empty(), "{gemini:?}");
}

fn arrivals(keys: &str) -> String {
    let group = format!("flows = 5\nsize = \"100KB\"\narrivals = {{ {keys} }}");
    text("", "", "cubic", &group)
}

#[test]
fn a_load_above_a_link_is_warned_of_and_twice_that_refused_unless_it_is_forced() {
    let (before, _) = warnings(&arrivals("load = 1.5, of = \"bottleneck\""));
    assert!(before[0].contains("offer the link left>right 1.50 times its 100Mbps"), "{before:?}");
    let (place, message) = refused(&arrivals("load = 50, of = \"bottleneck\""));
    assert_eq!(place, "50");
    assert!(message.contains("the link left>right 50.00 times its rate, 100Mbps"), "{message}");
    let (place, _) = refused(&arrivals("per_second = 500"));
    assert_eq!(place, "500", "500 flows of 100 KB are four times 100 Mb/s");
    let (before, _) = warnings(&arrivals("load = 50, of = \"bottleneck\", force = true"));
    assert!(before[0].contains("left>right 50.00 times"), "{before:?}");
    let (_, fine) = warnings(&arrivals("load = 0.9, of = \"bottleneck\""));
    assert!(fine.is_empty(), "{fine:?}");
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
