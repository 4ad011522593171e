//! Every key there is, with values of every kind: none makes reading panic, and each problem has its place. Keys that
//! were renamed name their new names.

use crate::malformed::{GOOD, check};
use serde_json::Value;
use shallop_scenario::{Options, read, schema};
use std::ops::Range;

/// Values of every kind, some in bounds, most not.
const VALUES: [&str; 12] =
    ["0", "-1", "3", "1e99", "0.5", "true", "\"\"", "\"off\"", "\"10ms\"", "\"20KB/Gbps\"", "[\"1ms\"]", "{ x = 1 }"];

/// Reads a text in which this part was written; a problem must be at a place that is there.
fn try_out(text: &str, part: &Range<usize>) {
    if let Err(problem) = read(text, &Options::default()) {
        let (message, span) = (problem.message(), &problem.span);
        let span = span.clone().unwrap_or_else(|| panic!("no place: {problem:?}"));
        assert!(text.get(span).is_some_and(|found| !found.is_empty()), "{problem:?}");
        assert!(!message.is_empty(), "{} has no message", &text[part.clone()]);
    }
}

/// Writes every key of a section, one at a time, behind what stands in `before`.
fn each_key(section: &Value, (before, after): (&str, &str)) -> usize {
    let mut tried = 0;
    for key in section["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
        for value in VALUES {
            let line = format!("{key} = {value}\n");
            let text = format!("{before}{line}{after}");
            try_out(&text, &(before.len()..before.len() + line.len()));
            tried += 1;
        }
    }
    tried
}

/// The good scenario, cut where a section of this name may stand.
fn around(section: &str) -> (&str, &str) {
    let at = GOOD.find(section).unwrap_or_else(|| panic!("{section} is not there"));
    GOOD.split_at(at + section.len())
}

#[test]
fn no_value_of_any_key_panics_and_problems_have_places() {
    let schema = schema();
    let properties = &schema["properties"];
    let mut tried = each_key(&schema, ("", GOOD));
    for kind in properties["scheme"]["items"]["oneOf"].as_array().into_iter().flatten() {
        let transport = kind["properties"]["transport"]["const"].as_str().unwrap_or_default();
        let before = format!("{GOOD}\n[[scheme]]\nname = \"tried\"\ntransport = \"{transport}\"\n");
        tried += each_key(kind, (&before, ""));
    }
    for kind in properties["topology"]["oneOf"].as_array().into_iter().flatten() {
        let name = kind["properties"]["kind"]["const"].as_str().unwrap_or_default();
        let (before, after) = around("[topology]\n");
        let rest = after.find("\n[").map_or("", |at| &after[at..]);
        let required = kind["required"].as_array().into_iter().flatten();
        let other = |key: &&Value| **key != "kind";
        let some = required.filter(other).map(|key| match key.as_str().unwrap_or_default() {
            key @ "rate" => format!("{key} = \"1Gbps\"\n"),
            key @ "delay" => format!("{key} = \"1ms\"\n"),
            key => format!("{key} = 2\n"),
        });
        let before = format!("{before}kind = \"{name}\"\n{}", some.collect::<String>());
        tried += each_key(kind, (&before, rest));
    }
    let switch = &properties["switch"]["additionalProperties"];
    tried += each_key(switch, around("[switch.default]\n"));
    for inner in ["shared", "mark", "bcc"] {
        let before = format!("{GOOD}\n[switch.tried.{inner}]\n");
        tried += each_key(&switch["properties"][inner], (&before, ""));
    }
    let group = &properties["group"]["items"];
    let before = format!("{GOOD}\n[[group]]\nname = \"tried\"\n");
    tried += each_key(group, (&before, ""));
    let before = format!("{before}flows = 2\nsize = \"1MB\"\n[group.arrivals]\n");
    tried += each_key(&group["properties"]["arrivals"], (&before, ""));
    assert!(tried > 4_000, "{tried} values of keys");
}

#[test]
fn a_key_that_was_renamed_is_told_its_new_name() {
    check(GOOD, "renamed");
}
