//! Good scenarios: what is written arrives, what is not has its default, and changes come in their order.

use shallop_control::any::Config as Window;
use shallop_control::{bbr, copa, cubic};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_options::HostStack;
use shallop_plan::plan::{
    Accounting, Aeolus, BurstUntil, Ecmp, ExpressPassRule, FlashPassLaw, Plan, QueueMarking, Starts, Topology,
    Transport,
};
use shallop_plan::transport::{Configured, Protocol, UnscheduledAcks};
use shallop_plan::{Study, chips};
use shallop_scenario::experiments;
use shallop_scenario::{Options, read, schema};
use shallop_switch::MarkAt;
use shallop_topology::{AnyFabric, Dumbbell, NicMode, SenderDelay};
use shallop_workload::Sizes;

/// As little as a scenario can say.
const SMALL: &str = r#"
title = "small"
duration = "2500ms"
topology = { kind = "dumbbell", senders = 3, rate = "10Gbps", delay = "5ms" }
scheme = [{ transport = "flashpass" }, { transport = "cubic" }, { transport = "flashpass-mimd" }]
group = [{ name = "all" }]
"#;

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

#[test]
fn what_is_left_out_has_its_default() {
    let study = study(SMALL, &Options::default());
    assert_eq!((study.seeds.as_slice(), study.points.len(), study.quick), (&[1][..], 1, false));
    let plan = &study.points[0].plan;
    assert!(study.points[0].name.is_empty() && study.points[0].set.is_empty());
    assert_eq!((plan.seed, plan.sample, plan.nic), (1, Span::from_ms(10), NicMode::Fair));
    assert!(plan.ecmp == Ecmp::Symmetric);
    let second = |at| (Span::from_secs(at), Span::from_secs(at + 1));
    assert_eq!(plan.windows, [second(0), second(1)]);
    let Dumbbell { rate, access_rate, senders, sender_delay, receivers, largest, .. } = dumbbell(plan);
    assert_eq!([rate, access_rate], [&BitsPerSec::gbps(10); 2]);
    assert_eq!((*senders, *receivers), (3, 1));
    assert_eq!((sender_delay, largest.mtu), (&SenderDelay::One(Span::ZERO), Bytes::new(1500)));
    let switch = &plan.switches[0];
    assert_eq!(switch.buffer, BufferSize::PerGbps(Bytes::new(20_000)));
    assert_eq!((switch.credit_queue, switch.credit_burst), (BufferSize::Packets(8), 2));
    assert_eq!((switch.mark, switch.accounting), (None, None));
    let group = &plan.groups[0];
    assert_eq!((group.flows, &group.sizes, &group.start), (3, &None, &Starts::At(Span::ZERO)));
    assert_eq!((group.from.len(), group.to.len()), (3, 1));
    let Transport::FlashPass(ours) = plan.schemes[0].transport else { panic!() };
    let Transport::FlashPass(paper) = plan.schemes[2].transport else { panic!() };
    assert_eq!((ours.epochs(), paper.epochs()), (4, 1));
    let options = ours.options;
    assert_eq!((options.jitter, options.over_provision), (None, None));
    assert_eq!((options.batch, options.timeout, options.wait), (1, Span::from_ms(200), None));
    assert!(matches!((ours.law, paper.law), (FlashPassLaw::Aimd(_), FlashPassLaw::Mimd(_))));
    assert_eq!(plan.schemes[2].name, "flashpass-mimd");
    let Transport::Tcp(shallop_plan::plan::Tcp { config, controller, .. }) = plan.schemes[1].transport else {
        panic!()
    };
    let linux = shallop_proto::tcp::Stack::LINUX;
    assert_eq!((config, controller), (linux.tcp, Window::Cubic(cubic::Config::defaults(HostStack::Linux))));
}

#[test]
fn what_is_written_arrives() {
    let study = study(SINK, &Options::default());
    assert_eq!(study.takes, ("2min".to_owned(), "1s".to_owned()));
    assert_eq!(study.seeds, [3, 4]);
    let plan = &study.points[0].plan;
    assert_eq!((plan.nic, plan.nic_buffer), (NicMode::Fifo, BufferSize::Packets(100)));
    assert_eq!(plan.nic_jitter, Some(Span::from_us(1)));
    assert!(plan.ecmp == Ecmp::Asymmetric);
    let Topology::Graph { nodes, links } = &plan.topology else { panic!() };
    assert_eq!((nodes.len(), links.len()), (5, 4));
    assert_eq!(plan.switches[nodes[3].switch].name, "deep");
    assert_eq!((links[1].between, links[1].ways[1].jitter), ((1, 3), Span::from_us(1)));
    assert_eq!(links[1].ways[0].changes.len(), 2);
    assert_eq!(plan.switches[0].mark, Some(QueueMarking::step(BufferSize::Bytes(Bytes::new(65_000)), MarkAt::Dequeue)));
    assert_eq!(plan.switches[1].buffer, BufferSize::PerGbps(Bytes::new(19_660)));
    let Transport::Tcp(shallop_plan::plan::Tcp { config, controller: Window::Cubic(cubic), .. }) =
        plan.schemes[0].transport
    else {
        panic!()
    };
    assert_eq!((config.initial_window, config.acks.ack_every), (3, 4));
    assert!((1.0 - cubic.decrease - 0.8).abs() < 1e-12, "what is given up is not what is kept");
    let Transport::ExpressPass(xpass) = plan.schemes[2].transport else { panic!() };
    assert!(matches!(xpass.rule, ExpressPassRule::Paper(rule) if rule.attribute));
    let Transport::FlashPass(pass) = plan.schemes[3].transport else { panic!() };
    assert!(matches!(pass.law, FlashPassLaw::Mimd(law) if law.max_target_loss > 0.19));
    let starts: Vec<_> = plan.schemes.iter().map(|scheme| scheme.transport.aeolus()).collect();
    let start = |burst, until, us, acks| Some(Aeolus { burst, until, renew_after: Span::from_us(us), acks });
    let (together, each) = (UnscheduledAcks::Together, UnscheduledAcks::Each);
    let (response, data) = (BurstUntil::FirstResponse, BurstUntil::FirstData);
    let expected = [
        None,
        start(Some(Bytes::new(1_000_000)), data, 0, each),
        None,
        start(Some(Bytes::new(100_000)), response, 500, each),
        start(None, response, 0, together),
    ];
    assert_eq!(starts[3..8], expected);
    let Transport::FlashPass(unknown) = plan.schemes[4].transport else { panic!() };
    assert_eq!((unknown.send_buffer, pass.send_buffer), (Some(Bytes::new(2_000_000)), None));
    let thresholds: Vec<_> = plan.switches.iter().map(|switch| switch.unscheduled_above).collect();
    assert!(thresholds.contains(&BufferSize::Bytes(Bytes::new(6_000))), "{thresholds:?}");
    let [one, two, ..] = &plan.groups[..] else { panic!() };
    assert_eq!(one.start, Starts::Every(Span::from_ms(5), Span::from_ms(10)));
    assert_eq!((&one.sizes, &two.sizes), (&Some(Sizes::fixed(1_000_000)), &None));
    assert_eq!(two.start, Starts::Drawn(Span::ZERO, Span::from_ms(200)));
    let claim = &study.claims[0];
    assert_eq!((claim.scale.to_bits(), claim.unit.as_str()), (1e9f64.to_bits(), "Gb/s"));
    assert_eq!((claim.window, claim.range.low), (Some((0.5, 1.0)), Some(0.5)));
    assert_eq!(claim.differs.as_ref().map(|differs| differs.range.high), Some(Some(0.4)));
}

#[test]
fn windows_by_a_model_of_the_path_have_options_of_their_own() {
    let plan = &study(SINK, &Options::default()).points[0].plan;
    let window = |name: &str| {
        let scheme = plan.schemes.iter().find(|scheme| scheme.name == name);
        match scheme.map(|scheme| scheme.transport.clone()) {
            Some(Transport::Tcp(shallop_plan::plan::Tcp { config, controller, .. })) => {
                (config.initial_window, controller)
            }
            other => panic!("{other:?}"),
        }
    };
    let bbr = bbr::Config {
        window_gain: 1.5,
        probe_rtt_every: Span::from_secs(1),
        probe_rtt_for: Span::from_ms(20),
        send_quantum: Bytes::new(64_000),
        policer: false,
    };
    assert_eq!(window("bbr"), (4, Window::Bbr(bbr)));
    let copa = copa::Config { delta: 0.1, mode: copa::Mode::Competitive };
    assert_eq!(window("copa").1, Window::Copa(copa));
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
