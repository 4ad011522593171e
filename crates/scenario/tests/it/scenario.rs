//! Good scenarios: what is written arrives, what is not has its default, and changes come in their order.

use shallop_control::any::Config as Window;
use shallop_control::{bbr, copa};
use shallop_core::{BufferSize, Bytes, Span};
use shallop_options::HostStack;
use shallop_plan::plan::{Accounting, FlashPassLaw, Plan, Starts, Topology, Transport};
use shallop_plan::transport::{Configured, Protocol};
use shallop_plan::{Study, chips};
use shallop_scenario::experiments;
use shallop_scenario::{Options, read, schema};
use shallop_switch::MarkAt;
use shallop_topology::{AnyFabric, Dumbbell, SenderDelay};

/// As little as a scenario can say.
const SMALL: &str = include_str!("../scenarios/small.toml");

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

const SINK: &str = include_str!("../scenarios/kitchen-sink.toml");

fn study(text: &str, options: &Options) -> Study {
    read(text, options).unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn set(changes: &[(&str, &str)]) -> Options {
    let set = changes.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Options { set, ..Options::default() }
}

fn dumbbell(plan: &Plan) -> &Dumbbell {
    let Topology::Fabric(AnyFabric::Dumbbell(dumbbell)) = &plan.topology else { panic!() };
    dumbbell
}

/// What is left out of the smallest scenario has its default; what the largest one writes arrives.
#[test]
fn the_smallest_and_the_largest_scenario_are_read_as_in_their_snapshots() {
    for (name, text) in [("smallest", SMALL), ("largest", SINK)] {
        let Study { seeds, takes, quick, points, claims, .. } = study(text, &Options::default());
        insta::assert_debug_snapshot!(name, (seeds, takes, quick, &points[..1], claims));
    }
}

/// BBR and Copa without keys have the defaults of Linux and of the paper.
#[test]
fn windows_by_a_model_of_the_path_have_defaults_of_their_own() {
    for (name, default) in
        [("bbr", Window::Bbr(bbr::Config::defaults(HostStack::Linux))), ("copa", Window::Copa(copa::Config::PAPER))]
    {
        let text = SMALL.replacen("cubic", name, 1);
        let plan = &study(&text, &Options::default()).points[0].plan;
        let Transport::Tcp(shallop_plan::plan::Tcp { controller, .. }) = plan.schemes[1].transport else { panic!() };
        assert_eq!(controller, default);
    }
}

#[test]
fn quick_comes_first_then_the_point_then_the_command_line() {
    let senders = |options: &Options| {
        let study = study(SINK, options);
        let flows = study.points.iter().map(|point| point.plan.groups[0].flows);
        (flows.collect::<Vec<_>>(), study.seeds, study.points[0].plan.duration)
    };
    let quick = Options { quick: true, ..Options::default() };
    assert_eq!(senders(&Options::default()), (vec![6, 40], vec![3, 4], Span::from_secs(1)));
    assert_eq!(senders(&quick), (vec![2, 40], vec![3], Span::from_secs(1)));
    let asked = Options { quick: true, seed: Some(9), ..set(&[("group.web.flows", "7")]) };
    assert_eq!(senders(&asked), (vec![7, 7], vec![9], Span::from_secs(1)));
    let study = study(SINK, &asked);
    assert_eq!(study.points[1].set["group.web.flows"], 40, "what was written, not what is run");
    assert_eq!(study.points[0].plan.seed, 9);
}

#[test]
fn a_change_may_be_a_value_or_a_text_and_may_make_a_section() {
    let changes = [
        ("topology.delay", "7ms"),
        ("title", "\"quoted\""),
        ("switch.default.mark.above", "30KB"),
        ("scheme.flashpass-mimd.min_target_loss", "0.02"),
        ("scheme.1.hystart", "off"),
        ("seeds", "[4, 5]"),
        ("group.all.start", "{ every = \"1ms\" }"),
        ("topology.sender_delay", "0ms..3ms"),
    ];
    let study = study(SMALL, &set(&changes));
    let plan = &study.points[0].plan;
    assert_eq!((study.title.as_str(), study.seeds.as_slice()), ("quoted", &[4, 5][..]));
    assert_eq!(plan.switches[0].mark.map(|mark| mark.at), Some(MarkAt::Enqueue));
    assert_eq!(plan.groups[0].start, Starts::Every(Span::ZERO, Span::from_ms(1)));
    let Dumbbell { delay, senders, sender_delay, .. } = dumbbell(plan);
    assert_eq!(*delay, Span::from_ms(7));
    assert_eq!(*senders, 3);
    assert_eq!(*sender_delay, SenderDelay::Drawn(Span::ZERO, Span::from_ms(3)));
}

#[test]
fn a_short_wait_may_be_forced_and_a_chip_may_be_overruled() {
    let short = [("scheme.flashpass.wait", "1ms")];
    assert!(read(SMALL, &set(&short)).is_err());
    study(SMALL, &set(&[short[0], ("scheme.flashpass.force_wait", "true")]));
    let chip = ("switch.default.chip", "tofino");
    let buffer = |options: &Options| study(SMALL, options).points[0].plan.switches[0].buffer;
    let tofino = chips::find("tofino").unwrap().buffer_per_gbps().unwrap();
    assert_eq!(buffer(&set(&[chip])), BufferSize::PerGbps(tofino));
    let by_hand = set(&[chip, ("switch.default.buffer", "1MB")]);
    assert_eq!(buffer(&by_hand), BufferSize::Bytes(Bytes::new(1_000_000)));
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
