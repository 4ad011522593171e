//! Good scenarios: what is written arrives, what is not has its default.

use shallop_plan::Study;
use shallop_plan::plan::{Accounting, FlashPassLaw, Transport};
use shallop_plan::transport::{Configured, Protocol};
use shallop_scenario::experiments;
use shallop_scenario::{Options, read, schema};

/// As little as a scenario can say.
const SMALL: &str = include_str!("../scenarios/small.toml");

const SINK: &str = include_str!("../scenarios/kitchen-sink.toml");

fn study(text: &str, options: &Options) -> Study {
    read(text, options).unwrap_or_else(|problem| panic!("{problem:?}"))
}

#[test]
fn the_preset_of_the_paper_has_its_defaults_and_each_can_be_written() {
    let text = SMALL.replace("\"flashpass-mimd\"", "\"flashpass-paper\", max_target_loss = 0.2");
    let plan = &study(&text, &Options::default()).points[0].plan;
    let Transport::FlashPass(paper) = plan.schemes[2].transport else { panic!() };
    let all = paper.values().into_iter().map(|(key, value)| format!("{} = {}", key.name, value.unwrap_or_default()));
    let all: Vec<_> = all.collect();
    for value in ["jitter = 0", "over_provision = true", "expected_loss = 0.2", "expect_measured = false"] {
        assert!(all.iter().any(|other| other == value), "{value}: {all:?}");
    }
    for value in ["count_tagged = true", "attribute = false", "epochs = 1", "initial_rate = 1"] {
        assert!(all.iter().any(|other| other == value), "{value}: {all:?}");
    }
    let credits = paper.credits().unwrap();
    assert_eq!((credits.accounting, credits.host_queue), (Accounting::OneWay, None));
    let text = text.replace("max_target_loss = 0.2", "attribute = true, jitter = 0.3");
    let plan = &study(&text, &Options::default()).points[0].plan;
    let Transport::FlashPass(written) = plan.schemes[2].transport else { panic!() };
    assert!(matches!(written.law, FlashPassLaw::Mimd(law) if law.attribute));
    assert_eq!(written.options.jitter, Some(0.3));
}

/// What is left out of the smallest scenario has its default; what the largest one writes arrives.
#[test]
fn the_smallest_and_the_largest_scenario_are_read_as_in_their_snapshots() {
    for (name, text) in [("smallest", SMALL), ("largest", SINK)] {
        let Study { seeds, takes, quick, points, claims, .. } = study(text, &Options::default());
        insta::assert_debug_snapshot!(name, (seeds, takes, quick, &points[..1], claims));
    }
}

/// Whether a value fits a schema, as far as this schema goes: types, keys, alternatives and constants.
fn fits(schema: &serde_json::Value, value: &serde_json::Value) -> bool {
    let any = |name: &str| schema[name].as_array();
    let kind = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    let keys = value.as_object().into_iter().flatten().all(|(key, value)| match schema["properties"].get(key) {
        Some(schema) => fits(schema, value),
        None => match &schema["additionalProperties"] {
            serde_json::Value::Bool(allowed) => *allowed,
            serde_json::Value::Null => true,
            schema => fits(schema, value),
        },
    });
    let needed = any("required").into_iter().flatten();
    let has = |key: &serde_json::Value| key.as_str().is_some_and(|key| value.get(key).is_some());
    kind && keys
        && needed.into_iter().all(has)
        && schema.get("const").is_none_or(|constant| constant == value)
        && any("enum").is_none_or(|words| words.contains(value))
        && any("anyOf").is_none_or(|forms| forms.iter().any(|form| fits(form, value)))
        && any("oneOf").is_none_or(|f| f.iter().filter(|form| fits(form, value)).count() == 1)
        && (schema["items"].is_null()
            || value.as_array().into_iter().flatten().all(|item| fits(&schema["items"], item)))
}

#[test]
fn the_schema_takes_what_is_read_and_refuses_what_is_not() {
    let schema = schema();
    let json = |text: &str| -> serde_json::Value { toml::from_str(text).unwrap() };
    let shipped = experiments::all();
    for text in shipped.iter().map(|shipped| shipped.text).chain([SMALL, SINK]) {
        study(text, &Options::default());
        assert!(fits(&schema, &json(text)), "{text}");
    }
    for (from, to) in [
        ("title", "titel"),
        ("senders = 3", "senders = \"3\""),
        ("senders = 3, ", ""),
        ("dumbbell", "star"),
        ("\"cubic\"", "\"cubic\", wait = \"1s\""),
        ("name = \"all\"", "name = \"all\", start = 3"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert!(read(&text, &Options::default()).is_err(), "{text}");
        assert!(!fits(&schema, &json(&text)), "{text}");
    }
}

fn keys(schema: &serde_json::Value, before: &str, found: &mut Vec<String>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{before}.{name}");
        keys(schema, &path, found);
        found.push(path);
    }
    for part in ["oneOf", "anyOf"] {
        for (kind, schema) in schema[part].as_array().into_iter().flatten().enumerate() {
            keys(schema, &format!("{before}#{kind}"), found);
        }
    }
    for part in ["items", "additionalProperties"].into_iter().filter_map(|part| schema.get(part)) {
        keys(part, before, found);
    }
}

#[test]
fn every_key_is_explained_once() {
    let schema = schema();
    let mut found = Vec::new();
    keys(&schema, "", &mut found);
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all, "a key is there twice in a section");
    assert!(all > 150, "{all} keys");
}
