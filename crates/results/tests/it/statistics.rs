//! Statistics of small samples against values by hand, from `invented/statistics.toml`. A case has `pairs` of two
//! schemes over the seeds, `figures` of one, or the times of flows that are `complete` or `open`, and the fields that
//! `is` names. `">9"` is a lower bound, and `[3, 999]` among the times of flows stands for 999 flows of 3 s.

use serde_json::{Value, json, to_value};
use shallop_results::Estimate;
use shallop_results::completion::{Completion, FlowTime};
use shallop_results::contrast::{Contrast, Level};
use shallop_results::{metrics::Figure, paired::PairedDifference};

fn figure(value: &Value) -> Figure {
    let at_least = value.as_str().map(|text| text[1..].parse().unwrap());
    let (value, is_bound) = (at_least.or(value.as_f64()).unwrap(), at_least.is_some());
    Figure { value, at_least: is_bound, few_samples: is_bound }
}

/// The difference of a paired comparison, and what the seeds show, beside other deviations if there are some.
fn paired(case: &Value, pairs: &[Value], possible: (f64, f64)) -> Value {
    let pairs: Vec<(Figure, Figure)> = pairs.iter().map(|pair| (figure(&pair[0]), figure(&pair[1]))).collect();
    let mut found = to_value(PairedDifference::from_pairs(&pairs, possible)).unwrap();
    let relative = PairedDifference::from_pairs(&pairs, possible).and_then(|found| found.relative());
    let others = case.get("beside").map(|all| serde_json::from_value::<Vec<f64>>(all.clone()).unwrap());
    let level = others.map_or(Level::USUAL, |others| Level::beside(others, false));
    let values: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.value, b.value)).collect();
    let contrast = Contrast::from_pairs(&values);
    if !found.is_null() {
        found["relative"] = json!(relative.map(|it| it.0));
        found["relative_low"] = json!(relative.and_then(|it| it.1).map(|it| it.0));
        found["relative_high"] = json!(relative.and_then(|it| it.1).map(|it| it.1));
        found["shown"] = json!(contrast.map(|it| format!("{:?}", it.shown(level)).to_lowercase()));
        found["seeds_needed"] = json!(contrast.and_then(|it| it.seeds_needed(level)));
    }
    found
}

/// Times of flows; `up_to` adds those of 1, 2 ... s.
fn flows(list: Option<&Value>, up_to: u64) -> Vec<FlowTime> {
    let flow = |seconds: f64| FlowTime { seconds, slowdown: seconds as f32, within_rtt: false };
    let written = list.and_then(Value::as_array).into_iter().flatten().flat_map(|time| match time.as_array() {
        Some(many) => vec![many[0].as_f64().unwrap(); many[1].as_u64().unwrap() as usize],
        None => vec![time.as_f64().unwrap()],
    });
    written.chain((1..=up_to).rev().map(|number| number as f64)).map(flow).collect()
}

fn found(case: &Value) -> Value {
    let array = |key: &str| case.get(key).and_then(Value::as_array);
    let end = |at: usize, none: f64| array("possible").map_or(none, |ends| ends[at].as_f64().unwrap());
    let possible = (end(0, f64::NEG_INFINITY), end(1, f64::INFINITY));
    if let Some(pairs) = array("pairs") {
        return paired(case, pairs, possible);
    }
    if let Some(figures) = array("figures") {
        let found = Estimate::from_figures(&figures.iter().map(figure).collect::<Vec<_>>(), possible);
        let mut value = to_value(found).unwrap();
        if let Some(found) = found {
            value["is_equal"] = found.is_equal().into();
        }
        return value;
    }
    let up_to = case.get("up_to").and_then(Value::as_u64).unwrap_or_default();
    let (complete, open) = (flows(case.get("complete"), up_to), flows(case.get("open"), 0));
    to_value(Completion::from_flows(&complete.iter(), &open.iter())).unwrap()
}

#[test]
fn statistics_of_small_samples_are_as_by_hand() {
    let cases: Value = toml::from_str(include_str!("invented/statistics.toml")).unwrap();
    for case in cases["case"].as_array().unwrap() {
        let found = found(case);
        let within = case.get("within").map_or(1e-9, |within| within.as_f64().unwrap());
        for (key, expected) in case["is"].as_object().unwrap() {
            let field = if key == "all" { &found } else { &found[key] };
            let is_right = match (field.as_f64(), expected.as_f64()) {
                (Some(found), Some(expected)) => (found - expected).abs() < within,
                _ if expected == "none" => field.is_null() || *field == json!([]),
                _ => field == expected,
            };
            assert!(is_right, "{}: {key} is {field}, not {expected}: {found:#}", case["name"]);
        }
    }
}
